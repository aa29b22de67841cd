import { execFile, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'

const VERSION_MS = 10_000

declare const __EITRI_VERSION__: string | undefined

/** This program as others run it; inside the app's Electron it is told to be Node. */
export function selfCommand(): string[] {
  const isBuilt = typeof __EITRI_VERSION__ !== 'undefined'
  const program = [process.execPath, join(import.meta.dirname, isBuilt ? 'cli.mjs' : 'index.ts')]
  return process.versions['electron'] === undefined ? program : ['/usr/bin/env', 'ELECTRON_RUN_AS_NODE=1', ...program]
}

/** ssh of the person's PATH, on this process's own terminal. */
export async function runSsh(args: readonly string[], signal: AbortSignal): Promise<number> {
  const child = spawn('ssh', args, { stdio: 'inherit' })
  const stop = () => child.kill('SIGTERM')
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, by) => resolve(code ?? 128 + (by ? constants.signals[by] : 0)))
    })
  } catch (error) {
    throw new Fault('app/part-missing', 'permanent', { part: 'ssh (the OpenSSH client)' }, { cause: error })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

export const sshVersion = (): Promise<string> =>
  new Promise((resolve) => {
    execFile('ssh', ['-V'], { timeout: VERSION_MS }, (_, stdout, stderr) => resolve(`${stderr}${stdout}`))
  })

import { spawn } from 'node:child_process'
import { access } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../../../../ipc/faults.ts'
import { KiB } from '../../../../ipc/units.ts'
import {
  type ConfigContext,
  type ConfiguredHost,
  SAYS_NOTHING,
  targetFromConfig,
  targetWithoutConfig,
} from './config.ts'
import type { Destination } from './destination.ts'

export interface Output {
  code: number
  stdout: string
  stderr: string
}

/** Runs a local program; `undefined` = there is no such program. Injected, so that a test needs none. */
export type RunLocal = (command: string, args: string[], signal: AbortSignal) => Promise<Output | undefined>

/** `ssh -G` may run what `Match exec` says, so it gets time, but not for ever. */
const CONFIG_TIMEOUT_MS = 15_000
const OUTPUT_BYTES = 256 * KiB

/**
 * Resolves a host with the system's own `ssh -G`, which runs the configuration's `Match exec`: call it once, for a host
 * the person picked, or one on the way to it. Raises ssh/config-invalid.
 */
export async function readTarget(
  destination: Destination,
  { sshDir, env }: { sshDir: string; env: ConfigContext['env'] },
  signal: AbortSignal,
  run: RunLocal = runLocal,
): Promise<ConfiguredHost> {
  const home = userInfo().homedir || homedir()
  const context = { home, sshDir, env }
  const args = [
    '-G',
    ...(await configFile(home, sshDir)),
    ...(destination.port === undefined ? [] : ['-p', String(destination.port)]),
    ...(destination.user === undefined ? [] : ['-l', destination.user]),
    '--',
    destination.host,
  ]
  const output = await run('ssh', args, signal)
  if (!output) return { target: targetWithoutConfig(destination, userInfo().username, context), says: SAYS_NOTHING }
  if (output.code !== 0) {
    const detail =
      output.stderr.trim().split('\n').slice(0, 2).join('; ').slice(0, 300) || `ssh ended with ${output.code}`
    throw new Fault('ssh/config-invalid', 'permanent', { host: destination.host, detail })
  }
  return targetFromConfig(output.stdout, destination, context)
}

/** ssh finds its file by the account's home, not by $HOME: a folder elsewhere is named. */
async function configFile(home: string, sshDir: string): Promise<string[]> {
  if (sshDir === join(home, '.ssh')) return []
  const file = join(sshDir, 'config')
  return access(file).then(
    () => ['-F', file],
    () => ['-F', 'none'],
  )
}

/** Runs a program of this computer, without input, for at most 15 s. Rejects with the signal’s reason. */
export function runLocal(command: string, args: string[], signal: AbortSignal): Promise<Output | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: AbortSignal.any([signal, AbortSignal.timeout(CONFIG_TIMEOUT_MS)]),
    })
    const out = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        out[name] = (out[name] + text).slice(0, OUTPUT_BYTES)
      })
    child.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? resolve(undefined) : reject(error)))
    child.on('close', (code) => resolve({ code: code ?? 1, ...out }))
  })
}

import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { detectInit, findProgram, type Init } from '../facts/system.ts'
import { type Run, run } from '../os/exec.ts'
import type { TwoStepPoint } from '../os/failpoints.ts'
import { currentLogin, type Login } from './places.ts'

/** The machine as install and uninstall change it; a test gives another one. */
export interface HostAccess {
  login: Login
  init: Init
  run: Run
  find(program: string): Promise<string | undefined>
  /** /etc and /run lie below it; '' = the real ones. */
  prefix: string
  /** A cron daemon runs now. */
  cronRuns(): Promise<boolean>
}

export const thisHost = (): HostAccess => ({
  login: currentLogin(),
  init: detectInit(),
  run,
  find: (program) => findProgram(program),
  prefix: '',
  cronRuns,
})

const CRON_DAEMONS = new Set(['cron', 'crond', 'fcron', 'dcron', 'busybox-crond'])

async function cronRuns(proc = '/proc'): Promise<boolean> {
  if (!existsSync(proc)) return false
  for (const entry of await readdir(proc)) {
    if (!/^\d+$/.test(entry)) continue
    const name = await readFile(`${proc}/${entry}/comm`, 'utf8').catch(() => '')
    if (CRON_DAEMONS.has(name.trim())) return true
  }
  return false
}

const COMMAND_DEADLINE_MS = 60_000

/** Runs a program that must succeed; its last words are the error. */
export async function mustRun(
  point: TwoStepPoint,
  host: HostAccess,
  program: string,
  args: readonly string[],
): Promise<string> {
  const { code, stdout, stderr, timedOut } = await host.run(point, program, args, { timeoutMs: COMMAND_DEADLINE_MS })
  if (code === 0) return stdout
  const why = timedOut ? `no end within ${COMMAND_DEADLINE_MS / 1000} s` : stderr.trim().split('\n').at(-1)
  throw new Error(`${program} ${args.join(' ')}: ${why || `exit code ${code}`}`)
}

/** The text of a file in /etc; '' when it cannot be read. */
export const readEtc = (host: HostAccess, name: string): Promise<string> =>
  readFile(join(host.prefix, '/etc', name), 'utf8').catch(() => '')

export const succeeds = (
  point: TwoStepPoint,
  host: HostAccess,
  program: string,
  args: readonly string[],
): Promise<boolean> =>
  mustRun(point, host, program, args).then(
    () => true,
    () => false,
  )

/** The first of the host's own tools that does it: shadow's, else busybox's. */
export async function anySucceeds(
  point: TwoStepPoint,
  host: HostAccess,
  ...commands: [string, ...string[]][]
): Promise<boolean> {
  for (const [program, ...args] of commands) if (await succeeds(point, host, program, args)) return true
  return false
}

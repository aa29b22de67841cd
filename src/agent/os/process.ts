import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { type Failpoint, hit } from './failpoints.ts'
import { isAbsent } from './files.ts'

/** A process that cannot be mistaken for another one with the same pid, in this boot or the next. */
export interface ProcessIdentity {
  pid: number
  /** When it started, as this platform tells it: clock ticks since boot on Linux, seconds since the epoch on macOS. */
  startTime: string
  bootId: string
}

/** What the agent may know of and do to processes and the boot of this host. */
export interface Processes {
  /** Of the running kernel; another value means the host rebooted. */
  bootId(): string
  /** Since boot, suspend included; the wall clock cannot move it. */
  uptimeMs(): number
  /** Undefined when no such process runs; a zombie does not run. */
  identify(pid: number): ProcessIdentity | undefined
  /** How long it has run, ms; as exact as its start time. */
  ageMs(identity: ProcessIdentity): number
  /** True only while exactly this process runs. */
  alive(identity: ProcessIdentity): boolean
  /** Sends a signal if exactly this process still runs; false when it is gone. Throws EPERM. */
  signal(point: Failpoint, identity: ProcessIdentity, signal: NodeJS.Signals): boolean
  /** Working directory; undefined when it cannot be read. */
  cwd(pid: number): string | undefined
  /** Whether it was given exactly this argument; undefined when that cannot be read. */
  hasArgument(pid: number, argument: string): boolean | undefined
  /**
   * Pids of what runs in this working directory and was given this argument. Looks at every process, or trusts a look
   * not older than `validMs`, 0 when absent. Absent = cannot.
   */
  pidsIn?(dir: string, argument: string, validMs?: number): number[]
}

/** Ticks per second in /proc; fixed by the kernel's interface. */
const CLOCK_TICKS = 100

export type Kill = (pid: number, signal: NodeJS.Signals | 0) => unknown

/** Reads /proc; its place and kill(2) are parameters so that a test can make them lie. */
export function linuxProcesses(proc = '/proc', kill: Kill = process.kill): Processes {
  let boot = ''
  const bootId = () => {
    boot ||= readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8').trim()
    return boot
  }
  const identify = (pid: number): ProcessIdentity | undefined => {
    if (!Number.isSafeInteger(pid) || pid <= 1) return undefined
    const stat = readProc(`${proc}/${pid}/stat`)
    // The command name may hold spaces and parentheses: fields count from behind its last parenthesis.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields?.[0]
    const startTime = fields?.[19]
    if (startTime === undefined || state === 'Z' || state === 'X') return undefined
    return { pid, startTime, bootId: bootId() }
  }
  const alive = (identity: ProcessIdentity): boolean =>
    identity.bootId === bootId() && identify(identity.pid)?.startTime === identity.startTime
  const cwd = (pid: number) => {
    try {
      return readlinkSync(`${proc}/${pid}/cwd`)
    } catch {
      return undefined
    }
  }
  const uptimeMs = () => Math.round(Number.parseFloat(readFileSync(`${proc}/uptime`, 'utf8')) * 1000)
  const hasArgument = (pid: number, argument: string) => {
    const text = readProc(`${proc}/${pid}/cmdline`)
    return text ? text.split('\0').includes(argument) : undefined
  }
  let seen = { at: Number.NEGATIVE_INFINITY, byDir: new Map<string, number[]>() }
  const pidsByDir = (validMs: number) => {
    const at = performance.now()
    if (at - seen.at >= validMs) {
      const pids = readdirSync(proc).map(Number).filter(Number.isInteger)
      seen = { at, byDir: Map.groupBy(pids, (pid) => cwd(pid) ?? '') }
    }
    return seen.byDir
  }
  return {
    bootId,
    uptimeMs,
    identify,
    ageMs: ({ startTime }) => uptimeMs() - (Number(startTime) * 1000) / CLOCK_TICKS,
    alive,
    signal: (point, identity, signal) => alive(identity) && sendSignal(point, identity.pid, signal, kill),
    cwd,
    hasArgument,
    pidsIn: (dir, argument, validMs = 0) =>
      (pidsByDir(validMs).get(dir) ?? []).filter(
        (pid) => identify(pid) && cwd(pid) === dir && hasArgument(pid, argument) === true,
      ),
  }
}

/** False when there is no such process; throws EPERM. Whether it is the right one is the caller's to know. */
export function sendSignal(point: Failpoint, pid: number, signal: NodeJS.Signals, kill: Kill = process.kill): boolean {
  hit(point, 'before')
  try {
    kill(pid, signal)
    hit(point, 'after')
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** Whether some process has this pid, a zombie too. */
export function hasPid(pid: number, kill: Kill = process.kill): boolean {
  try {
    kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Dies at once, with nothing flushed: what a failpoint does. */
export function endSelf(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('SIGKILL had no effect')
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isAbsent(error) || (error as NodeJS.ErrnoException).code === 'ESRCH') return undefined
    throw error
  }
}

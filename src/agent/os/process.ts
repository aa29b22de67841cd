import { readFileSync, readlinkSync } from 'node:fs'
import { type Failpoint, hit } from './failpoints.ts'
import { isAbsent } from './files.ts'

/** A process that cannot be mistaken for another one with the same pid, in this boot or the next. */
export interface ProcessIdentity {
  pid: number
  /** Start time in clock ticks since boot, as the kernel prints it. */
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
  /** True only while exactly this process runs. */
  alive(identity: ProcessIdentity): boolean
  /** Sends a signal if exactly this process still runs; false when it is gone. Throws EPERM. */
  signal(point: Failpoint, identity: ProcessIdentity, signal: NodeJS.Signals): boolean
  /** Working directory; undefined when it cannot be read. */
  cwd(pid: number): string | undefined
}

/** Reads /proc; its place and kill(2) are parameters so that a test can make them lie. */
export function linuxProcesses(proc = '/proc', kill = process.kill): Processes {
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
  return {
    bootId,
    uptimeMs: () => Math.round(Number.parseFloat(readFileSync(`${proc}/uptime`, 'utf8')) * 1000),
    identify,
    alive,
    signal(point, identity, signal) {
      if (!alive(identity)) return false
      hit(point, 'before')
      try {
        kill(identity.pid, signal)
        hit(point, 'after')
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
        throw error
      }
    },
    cwd(pid) {
      try {
        return readlinkSync(`${proc}/${pid}/cwd`)
      } catch {
        return undefined
      }
    },
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

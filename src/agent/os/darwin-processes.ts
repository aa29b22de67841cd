import { uptime } from 'node:os'
import { type Look, look as lookNow } from './exec.ts'
import { hasPid, type Kill, type Processes, type ProcessIdentity, sendSignal } from './process.ts'

/** How long one look stands for the next: far shorter than it takes macOS to hand out a pid again. */
const LOOK_VALID_MS = 10_000

export interface DarwinSources {
  look?: Look
  kill?: Kill
  monotonic?: () => number
  now?: () => number
}

/**
 * Asks ps, sysctl and lsof, because macOS has no /proc. A look that fails throws: it says nothing of the process. The
 * boot is its session UUID, since kern.boottime moves whenever somebody sets the clock.
 */
export function darwinProcesses(sources: DarwinSources = {}): Processes {
  const { look = lookNow, kill = process.kill, monotonic = () => performance.now(), now = Date.now } = sources
  /** What a process was started with and where stays true of it, and is looked up once. */
  const seen = new Map<number, { startTime: string; at: number; args?: string; cwd?: string | undefined }>()
  let all = { at: Number.NEGATIVE_INFINITY, text: '' }
  let boot = ''
  const bootId = () => {
    boot ||= look('sysctl', ['-n', 'kern.bootsessionuuid']).stdout.trim()
    if (boot === '') throw new Error('sysctl does not say kern.bootsessionuuid')
    return boot
  }
  const identify = (pid: number): ProcessIdentity | undefined => {
    if (!Number.isSafeInteger(pid) || pid <= 1) return undefined
    const startTime = hasPid(pid, kill) ? startOf(look('ps', ['-o', 'stat=,lstart=', '-p', String(pid)])) : undefined
    if (startTime === undefined) {
      seen.delete(pid)
      return undefined
    }
    const before = seen.get(pid)
    seen.set(pid, { ...(before?.startTime === startTime ? before : {}), startTime, at: monotonic() })
    return { pid, startTime, bootId: bootId() }
  }
  const startTimeOf = (pid: number): string | undefined => {
    const last = seen.get(pid)
    const isFresh = last !== undefined && monotonic() - last.at < LOOK_VALID_MS && hasPid(pid, kill)
    return isFresh ? last.startTime : identify(pid)?.startTime
  }
  const alive = ({ pid, startTime, bootId: of }: ProcessIdentity): boolean =>
    of === bootId() && startTimeOf(pid) === startTime
  const cwdNow = (pid: number) => cwdOf(look('lsof', ['-a', '-p', String(pid), '-d', 'cwd', '-Fn']).stdout)
  const keep = <K extends 'args' | 'cwd'>(pid: number, key: K, value: () => string | undefined): string | undefined => {
    const known = seen.get(pid)
    const found = known?.[key] ?? value()
    if (known && found !== undefined) known[key] = found
    return found
  }
  return {
    bootId,
    uptimeMs: () => Math.round(uptime() * 1000),
    identify,
    ageMs: ({ startTime }) => now() - Number(startTime) * 1000,
    alive,
    signal(point, identity, signal) {
      seen.delete(identity.pid)
      return alive(identity) && sendSignal(point, identity.pid, signal, kill)
    },
    hasArgument(pid, argument) {
      const ask = () => look('ps', ['-ww', '-o', 'pid=,args=', '-p', String(pid)]).stdout.trim() || undefined
      const text = keep(pid, 'args', ask)
      return text === undefined ? undefined : pidsWith(text, argument).includes(pid)
    },
    pidsIn(dir, argument, validMs = 0) {
      const at = monotonic()
      if (at - all.at >= validMs) all = { at, text: look('ps', ['-axww', '-o', 'pid=,args=']).stdout }
      return pidsWith(all.text, argument).filter((pid) => cwdNow(pid) === dir)
    },
    cwd: (pid) => keep(pid, 'cwd', () => cwdNow(pid)),
  }
}

/**
 * Seconds since the epoch from `ps -o stat=,lstart=` in UTC; undefined when there is no such process, or only its
 * zombie. Throws for an answer that says neither.
 */
export function startOf({ code, stdout }: ReturnType<Look>): string | undefined {
  if (code !== 0 && stdout.trim() === '') return undefined
  const [, stat = '', lstart] = /^\s*(\S+)\s+(\S.*\S)\s*$/.exec(stdout) ?? []
  const ms = Date.parse(`${lstart} UTC`)
  if (Number.isNaN(ms)) throw new Error(`ps says ${JSON.stringify(stdout.slice(0, 100))}`)
  return stat.startsWith('Z') ? undefined : String(ms / 1000)
}

/** The directory in the output of `lsof -Fn`; undefined when there is none. */
export function cwdOf(output: string): string | undefined {
  return /^n(\/.*)$/m.exec(output)?.[1]
}

/** Pids in the output of `ps -o pid=,args=` whose command line holds the argument, whole. */
export function pidsWith(output: string, argument: string): number[] {
  return output.split('\n').flatMap((line) => {
    const [, pid, args = ''] = /^\s*(\d+)\s(.*)$/.exec(line) ?? []
    return pid !== undefined && ` ${args} `.includes(` ${argument} `) ? [Number(pid)] : []
  })
}

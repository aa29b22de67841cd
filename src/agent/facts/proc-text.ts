/** CPU times in /proc count in hundredths of a second, whatever the kernel's own timer does. */
const MS_PER_TICK = 10n
const KIB = 1024n

/** First eight counters of a `cpu` line: user, nice, system, idle, iowait, irq, softirq, steal. Guest time is in user. */
export type CpuCounters = readonly bigint[]

const IDLE = 3
const IOWAIT = 4
const COUNTERS = 8

/** Of all CPUs together, from /proc/stat; undefined when it does not say. */
export function cpuCounters(stat: string): CpuCounters | undefined {
  const numbers = /^cpu +([\d ]+)$/m.exec(stat)?.[1]?.trim().split(' ').slice(0, COUNTERS)
  return numbers === undefined || numbers.length <= IDLE ? undefined : numbers.map(BigInt)
}

/** CPUs online, from /proc/stat; undefined when it names none. */
export function cpusOnline(stat: string): number | undefined {
  return stat.match(/^cpu\d+ /gm)?.length
}

/** Thousandths at work between two looks; undefined when no time went by. A counter that went back counts as still. */
export function busyPermille(before: CpuCounters, after: CpuCounters): number | undefined {
  const spent = after.map((value, i) => value - (before[i] ?? 0n)).map((delta) => (delta > 0n ? delta : 0n))
  const total = spent.reduce((sum, delta) => sum + delta, 0n)
  if (total === 0n) return undefined
  const idle = (spent[IDLE] ?? 0n) + (spent[IOWAIT] ?? 0n)
  return Number(((total - idle) * 1000n + total / 2n) / total)
}

/** Bytes of a `Name:  n kB` line of meminfo, status or smaps_rollup; undefined when there is no such line. */
export function bytesOf(text: string, name: string): bigint | undefined {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
  return kib === undefined ? undefined : BigInt(kib) * KIB
}

export interface ProcessTimes {
  /** As in ProcessIdentity. */
  startTime: string
  /** User and system, ms; children not counted. */
  cpuMs: bigint
}

/** Of /proc/PID/stat; undefined for a zombie and for text that is not whole. */
export function processTimes(stat: string): ProcessTimes | undefined {
  // The command name may hold spaces and parentheses: fields count from behind its last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, user, system, startTime] = [fields[0], fields[11], fields[12], fields[19]]
  if (state === 'Z' || state === 'X') return undefined
  if (![user, system, startTime].every((field) => /^\d+$/.test(field ?? ''))) return undefined
  return { startTime: startTime!, cpuMs: (BigInt(user!) + BigInt(system!)) * MS_PER_TICK }
}

/** Networks of /proc/net/route that are not the default, as `a.b.c.d/n` with their interface. */
export function routedNetworks(route: string): { cidr: string; device: string }[] {
  return route
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [device, destination, , , , , , mask] = line.trim().split(/\s+/)
      if (!device || !isHex(destination) || !isHex(mask) || mask === '00000000') return []
      const prefix = [...Number.parseInt(mask, 16).toString(2)].filter((bit) => bit === '1').length
      return [{ device, cidr: `${dotted(destination)}/${prefix}` }]
    })
}

const isHex = (text: string | undefined): text is string => /^[\dA-F]{8}$/.test(text ?? '')

/** The kernel prints addresses as this machine's number: least significant byte first on all that run agents. */
const dotted = (hex: string): string => [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join('.')

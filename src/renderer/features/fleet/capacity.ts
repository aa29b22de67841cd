import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatGib, formatMemory, formatPermille } from '../../lib/format.ts'
import { hostUse, isCurrent } from '../hosts/view-model.ts'

/** One resource of all hosts together, in the unit it is promised in. */
export interface Pool {
  what: 'vCPU' | 'Memory' | 'Disk'
  total: number
  /** To VMs that are not deleted. */
  promised: number
  /** Measured now on hosts that answer; undefined = none measured it. */
  used: number | undefined
  /** What those hosts have, so that what is used is compared with its own. */
  usedOf: number
}

export interface Capacity {
  pools: Pool[]
  /** Hosts that never told what they have. */
  untold: number
  /** Hosts that do not answer now: what they use is unknown, which is not nothing. */
  silent: number
}

const MIB = 1024 ** 2
const GIB = 1024 ** 3

type Field = 'vcpus' | 'memMb' | 'diskGb'

/** Used, promised and free of everything; what a host never told is counted nowhere, and said. */
export function capacityOf(hosts: readonly Host[]): Capacity {
  const told = hosts.filter(({ capacity }) => capacity !== undefined)
  return {
    pools: [
      pool('vCPU', told, 'vcpus', (host) => {
        const { cpuBusyPermille } = host.metrics ?? {}
        return cpuBusyPermille === undefined ? undefined : (cpuBusyPermille / 1000) * (host.capacity?.vcpus ?? 0)
      }),
      pool('Memory', told, 'memMb', (host) => inUnits(hostUse(host).memory?.used, MIB)),
      pool('Disk', told, 'diskGb', (host) => inUnits(hostUse(host).disk?.used, GIB)),
    ],
    untold: hosts.length - told.length,
    silent: told.filter((host) => !isCurrent(host)).length,
  }
}

const inUnits = (bytes: number | undefined, unit: number) => (bytes === undefined ? undefined : bytes / unit)

function pool(
  what: Pool['what'],
  hosts: readonly Host[],
  field: Field,
  usedBy: (host: Host) => number | undefined,
): Pool {
  const sum = (of: (host: Host) => number) => hosts.reduce((all, host) => all + of(host), 0)
  const measured = hosts.flatMap((host) => {
    const used = isCurrent(host) ? usedBy(host) : undefined
    return used === undefined ? [] : [{ used, total: Number(host.capacity?.[field] ?? 0) }]
  })
  return {
    what,
    total: sum(({ capacity }) => Number(capacity?.[field] ?? 0)),
    promised: sum(({ allocated }) => Number(allocated?.[field] ?? 0)),
    used: measured.length === 0 ? undefined : measured.reduce((all, { used }) => all + used, 0),
    usedOf: measured.reduce((all, { total }) => all + total, 0),
  }
}

const SAY: Record<Pool['what'], (n: number) => string> = {
  vCPU: (n) => String(Math.round(n)),
  Memory: (mib) => formatMemory(rounded(mib, 1024)),
  Disk: (gib) => formatGib(rounded(gib, 1)),
}

/** Whole units once there are ten of them. */
const rounded = (n: number, unit: number) => (n >= 10 * unit ? Math.round(n / unit) * unit : Math.round(n))

export interface PoolWords {
  promised: string
  used: string
  free: string
  over: boolean
}

/** `412 of 640 promised`, `74 in use`, `228 not promised`. */
export function poolWords(pool: Pool): PoolWords {
  const say = SAY[pool.what]
  const left = pool.total - pool.promised
  return {
    promised: `${say(pool.promised)} of ${say(pool.total)} promised`,
    used:
      pool.used === undefined
        ? 'use not reported'
        : `${say(pool.used)} in use (${formatPermille(pool.usedOf > 0 ? (pool.used / pool.usedOf) * 1000 : 0)})`,
    free: left >= 0 ? `${say(left)} not promised` : `${say(-left)} more promised than there is`,
    over: left < 0,
  }
}

import { readdir, readFile, statfs } from 'node:fs/promises'
import os from 'node:os'
import { create } from '@bufbuild/protobuf'
import { type HostMetrics, HostMetricsSchema } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import { Hardware } from './hardware.ts'
import { diskFlows, type Flow, nicFlows, sumOf } from './io-text.ts'
import { busyPermille, bytesOf, type CpuCounters, cpuCounters, cpusOnline } from './proc-text.ts'

export interface HostMeterOptions {
  stateDir: string
  /** Since boot, ms. Raises where it cannot be told. */
  uptimeMs(): number
  /** For tests. */
  proc?: string
  sys?: string
}

/** Measures this host. Keeps the CPU counters of the last look, so one meter serves one reader. */
export class HostMeter {
  readonly #options: HostMeterOptions
  readonly #proc: string
  readonly #disks: Hardware
  readonly #nics: Hardware
  #counters: CpuCounters | undefined

  constructor(options: HostMeterOptions) {
    const { proc = '/proc', sys = '/sys' } = options
    this.#options = options
    this.#proc = proc
    this.#disks = new Hardware(`${sys}/block`)
    this.#nics = new Hardware(`${sys}/class/net`)
  }

  /** Never raises: what cannot be read is absent. */
  async measure(): Promise<HostMetrics> {
    const { stateDir, uptimeMs } = this.#options
    const [stat, meminfo, rollup, fds, disk, disks, nics] = await Promise.all([
      this.#read('stat'),
      this.#read('meminfo'),
      this.#read('self/smaps_rollup'),
      known(async () => (await readdir(`${this.#proc}/self/fd`)).length),
      known(() => statfs(stateDir, { bigint: true })),
      flowOf(this.#disks, diskFlows(await this.#read('diskstats'))),
      flowOf(this.#nics, nicFlows(await this.#read('net/dev'))),
    ])
    const [load1, load5, load15] = os.loadavg()
    return create(HostMetricsSchema, {
      ...present({ load1, load5, load15, agentFds: fds, cpus: cpusOnline(stat) }),
      ...present({
        cpuBusyPermille: this.#busy(cpuCounters(stat)),
        memTotalBytes: bytesOf(meminfo, 'MemTotal') ?? BigInt(os.totalmem()),
        memAvailableBytes: bytesOf(meminfo, 'MemAvailable'),
        swapTotalBytes: bytesOf(meminfo, 'SwapTotal'),
        swapFreeBytes: bytesOf(meminfo, 'SwapFree'),
        diskTotalBytes: disk && disk.blocks * disk.bsize,
        diskFreeBytes: disk && disk.bavail * disk.bsize,
        uptimeS: await known(async () => BigInt(Math.floor(uptimeMs() / 1000))),
        agentRssBytes: BigInt(process.memoryUsage.rss()),
        agentPssBytes: bytesOf(rollup, 'Pss'),
        diskReadBytes: disks?.inBytes,
        diskWrittenBytes: disks?.outBytes,
        netRxBytes: nics?.inBytes,
        netTxBytes: nics?.outBytes,
      }),
    })
  }

  #busy(counters: CpuCounters | undefined): number | undefined {
    const before = this.#counters
    this.#counters = counters
    return before && counters && busyPermille(before, counters)
  }

  async #read(name: string): Promise<string> {
    return (await known(() => readFile(`${this.#proc}/${name}`, 'utf8'))) ?? ''
  }
}

/** Through hardware alone: a partition, a bridge or a bond would count the same bytes again. */
async function flowOf(hardware: Hardware, flows: ReadonlyMap<string, Flow>): Promise<Flow | undefined> {
  return sumOf((await hardware.among([...flows.keys()])).map((name) => flows.get(name)!))
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the undefined ones, which a message would not take for absent. */
export const present = <T extends object>(values: T): Present<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>

async function known<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch {
    return undefined
  }
}

import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import type { HostMetrics } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { VmMetrics } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { TIMES } from '../../ipc/units.ts'
import { HostMeter } from './host-meter.ts'
import { uplinkAddress } from './uplink.ts'
import { type MeteredVm, VmMeter, type VmMeterOptions } from './vm-meter.ts'

/** Numbers older than this are not told: whatever they were, they are not what is. */
export const FRESH_MS = 3 * TIMES.reportMs
/** Shares of CPU time exist from the second look on. */
export const SECOND_LOOK_MS = 1_000

export interface MetricsDeps {
  host: Pick<HostMeter, 'measure'>
  vms: Pick<VmMeter, 'measure' | 'of'>
  /** Every VM with a record. */
  listVms(): MeteredVm[]
  uplink(): Promise<string>
  /** Called after each look with who was looked at. Never raises. */
  onMeasured?(vms: readonly MeteredVm[]): void
  clock: Clock
  log: Log
}

/** What is measured on a tick of its own, so that a report is built from memory. */
export class Metrics {
  readonly #deps: MetricsDeps
  readonly #stopping = new AbortController()
  #measuredAt = Number.NEGATIVE_INFINITY
  #host: HostMetrics | undefined
  #uplink = ''

  constructor(deps: MetricsDeps) {
    this.#deps = deps
  }

  /** Looks at once, soon again for what needs two looks, then once a report period until stopped. */
  start(): void {
    void this.#run()
  }

  /** Does not wait for a look under way. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Absent when nothing was measured lately. */
  host(): HostMetrics | undefined {
    return this.#isFresh() ? this.#host : undefined
  }

  vm(vmId: string): VmMetrics | undefined {
    return this.#isFresh() ? this.#deps.vms.of(vmId) : undefined
  }

  /** Of the last look; empty = no answer. */
  uplink(): string {
    return this.#uplink
  }

  /** One look at everything. Never raises. */
  async measure(): Promise<void> {
    const { host, vms, listVms, uplink, onMeasured, clock, log } = this.#deps
    try {
      const listed = listVms()
      const [measured, address] = await Promise.all([host.measure(), uplink(), vms.measure(listed)])
      this.#host = measured
      this.#uplink = address
      this.#measuredAt = clock.monotonic()
      onMeasured?.(listed)
    } catch (error) {
      log.warn('metrics.failed', { error: asFault(error).message })
    }
  }

  #isFresh(): boolean {
    return this.#deps.clock.monotonic() - this.#measuredAt <= FRESH_MS
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    for (let gap = SECOND_LOOK_MS; !signal.aborted; gap = TIMES.reportMs) {
      await this.measure()
      await this.#deps.clock.sleep(gap, signal).catch(() => {})
    }
  }
}

/** Metrics of this machine. */
export function measuring(
  options: Pick<MetricsDeps, 'listVms' | 'onMeasured' | 'clock' | 'log'> &
    Pick<VmMeterOptions, 'tapsOf'> &
    ConstructorParameters<typeof HostMeter>[0],
): Metrics {
  const { listVms, onMeasured = () => {}, tapsOf = () => [], clock, log, ...host } = options
  const vms = new VmMeter({ monotonic: clock.monotonic, tapsOf })
  const looks = { host: new HostMeter(host), vms, uplink: () => uplinkAddress() }
  return new Metrics({ ...looks, listVms, onMeasured, clock, log })
}

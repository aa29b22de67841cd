import { readFileSync } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { create } from '@bufbuild/protobuf'
import { type VmMetrics, VmMetricsSchema } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { ProcessIdentity } from '../os/process.ts'
import { present } from './host-meter.ts'
import { type Flow, nicFlows, processFlow, sumOf } from './io-text.ts'
import { bytesOf, processTimes } from './proc-text.ts'

/** One VM to be measured. */
export interface MeteredVm {
  id: string
  dir: string
  /** Of the hypervisor; undefined = it does not run, or its backend does not say. */
  process: ProcessIdentity | undefined
}

export interface VmMeterOptions {
  monotonic(): number
  /** Names the host's ends of a VM's network cards would have; absent = nobody gives VMs any. */
  tapsOf?(vmId: string): string[]
  /** For tests. */
  proc?: string
}

/** VMs whose directory is looked through at one tick. */
export const DISKS_PER_TICK = 50
/** VMs whose shared pages are counted at one tick, and the time that may take: the kernel walks all their memory. */
export const PSS_PER_TICK = 10
const PSS_BUDGET_MS = 100
/** Processes read before other work gets its turn. */
const BATCH = 50
/** Entries of a VM's directory that are counted; a directory with more is not the agent's. */
const MAX_FILES = 256

interface Reading {
  process: ProcessIdentity | undefined
  taps: readonly string[]
  cpuMs: bigint | undefined
  /** Of cpuMs, monotonic ms. */
  at: number
  busyPermille: number | undefined
  rssBytes: bigint | undefined
  pssBytes: bigint | undefined
  diskBytes: bigint | undefined
  io: Flow | undefined
  net: Flow | undefined
  /** Tick of the last look, for turns; 0 = never. */
  pssTick: number
  diskTick: number
  metrics: VmMetrics | undefined
}

/** Measures VMs from /proc and their directories. What is costly goes round: at most so many VMs a tick. */
export class VmMeter {
  readonly #monotonic: () => number
  readonly #tapsOf: (vmId: string) => string[]
  readonly #proc: string
  readonly #readings = new Map<string, Reading>()
  #tick = 0

  constructor(options: VmMeterOptions) {
    this.#monotonic = options.monotonic
    this.#tapsOf = options.tapsOf ?? (() => [])
    this.#proc = options.proc ?? '/proc'
  }

  /** As last measured; undefined = nothing is known. */
  of(vmId: string): VmMetrics | undefined {
    return this.#readings.get(vmId)?.metrics
  }

  /** One tick. Forgets VMs that are not named any more. */
  async measure(vms: readonly MeteredVm[]): Promise<void> {
    this.#tick++
    const named = new Set(vms.map(({ id }) => id))
    for (const id of this.#readings.keys()) if (!named.has(id)) this.#readings.delete(id)
    const all = vms.map((vm) => ({ vm, reading: this.#reading(vm) }))
    for (const [i, { vm, reading }] of all.entries()) {
      this.#readProcess(vm, reading)
      if (i % BATCH === BATCH - 1) await setImmediate()
    }
    this.#readTaps(all)
    await this.#readDisks(all)
    await this.#readShares(all)
    for (const { reading } of all) reading.metrics = metricsOf(reading)
  }

  #reading(vm: MeteredVm): Reading {
    const known = this.#readings.get(vm.id)
    const same = known?.process?.pid === vm.process?.pid && known?.process?.startTime === vm.process?.startTime
    if (known && same) return known
    const fresh: Reading = {
      process: vm.process,
      taps: known?.taps ?? this.#tapsOf(vm.id),
      cpuMs: undefined,
      at: 0,
      busyPermille: undefined,
      rssBytes: undefined,
      pssBytes: undefined,
      diskBytes: known?.diskBytes,
      io: undefined,
      net: undefined,
      pssTick: 0,
      diskTick: known?.diskTick ?? 0,
      metrics: undefined,
    }
    this.#readings.set(vm.id, fresh)
    return fresh
  }

  /** Synchronous: these files are made from memory, and a read costs less than a turn of the event loop. */
  #readProcess({ process }: MeteredVm, reading: Reading): void {
    const { cpuMs: before, at: then } = reading
    const times = process && processTimes(readNow(`${this.#proc}/${process.pid}/stat`))
    if (!times || times.startTime !== process.startTime) {
      Object.assign(reading, { cpuMs: undefined, busyPermille: undefined, rssBytes: undefined, pssBytes: undefined })
      reading.io = undefined
      return
    }
    reading.at = this.#monotonic()
    reading.cpuMs = times.cpuMs
    reading.busyPermille = before === undefined ? undefined : shareOf(times.cpuMs - before, reading.at - then)
    reading.rssBytes = bytesOf(readNow(`${this.#proc}/${process.pid}/status`), 'VmRSS')
    reading.io = processFlow(readNow(`${this.#proc}/${process.pid}/io`))
  }

  /** One file tells of every interface of the host, however many there are. */
  #readTaps(all: readonly { reading: Reading }[]): void {
    const running = all.filter(({ reading }) => reading.cpuMs !== undefined)
    const flows = running.length === 0 ? undefined : nicFlows(readNow(`${this.#proc}/net/dev`))
    for (const { reading } of all)
      reading.net =
        reading.cpuMs === undefined ? undefined : sumOf(reading.taps.flatMap((tap) => flows?.get(tap) ?? []))
  }

  async #readDisks(all: readonly { vm: MeteredVm; reading: Reading }[]): Promise<void> {
    const due = all.toSorted((a, b) => a.reading.diskTick - b.reading.diskTick).slice(0, DISKS_PER_TICK)
    for (const { vm, reading } of due) {
      reading.diskTick = this.#tick
      reading.diskBytes = await allocatedBytes(vm.dir).catch(() => undefined)
    }
  }

  async #readShares(all: readonly { vm: MeteredVm; reading: Reading }[]): Promise<void> {
    const due = all
      .filter(({ reading }) => reading.cpuMs !== undefined)
      .toSorted((a, b) => a.reading.pssTick - b.reading.pssTick)
      .slice(0, PSS_PER_TICK)
    const until = this.#monotonic() + PSS_BUDGET_MS
    for (const { vm, reading } of due) {
      if (this.#monotonic() > until) return
      reading.pssTick = this.#tick
      const rollup = await readFile(`${this.#proc}/${vm.process!.pid}/smaps_rollup`, 'utf8').catch(() => '')
      reading.pssBytes = bytesOf(rollup, 'Pss')
    }
  }
}

/** Thousandths of one CPU; undefined when no time went by or the counter went back. */
function shareOf(spentMs: bigint, elapsedMs: number): number | undefined {
  return elapsedMs <= 0 || spentMs < 0n ? undefined : Math.round((Number(spentMs) * 1000) / elapsedMs)
}

function metricsOf(reading: Reading): VmMetrics | undefined {
  const { cpuMs: cpuTimeMs, busyPermille: cpuBusyPermille, rssBytes, pssBytes, diskBytes: diskUsedBytes } = reading
  const { io, net } = reading
  const values = present({
    ...{ cpuTimeMs, cpuBusyPermille, rssBytes, pssBytes, diskUsedBytes },
    ...{ diskReadBytes: io?.inBytes, diskWrittenBytes: io?.outBytes },
    // What the host's end takes in is what the guest sent.
    ...{ netRxBytes: net?.outBytes, netTxBytes: net?.inBytes },
  })
  return Object.keys(values).length === 0 ? undefined : create(VmMetricsSchema, values)
}

function readNow(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Blocks really taken by the files of one directory, holes not counted; folders in it are not looked into. */
async function allocatedBytes(dir: string): Promise<bigint> {
  let blocks = 0n
  for (const name of (await readdir(dir)).slice(0, MAX_FILES))
    blocks += (await lstat(`${dir}/${name}`, { bigint: true }).catch(() => undefined))?.blocks ?? 0n
  return blocks * 512n
}

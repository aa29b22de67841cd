import { isDeepStrictEqual } from 'node:util'
import { create } from '@bufbuild/protobuf'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { type Exposure, type ExposureStatus, ExposureStatusSchema } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { TIMES } from '../../ipc/units.ts'
import { differs, type PortPlan, type Protocol, planPorts, type WantedPort } from './exposure-plan.ts'
import type { Counters, Places, PortLimits } from './limits.ts'
import { openPort, whyNotOpen } from './open-port.ts'
import type { Reach } from './reach.ts'
import type { PortListener } from './tcp-proxy.ts'

/** Who has a port that is taken is looked up again after this, ms. */
const HOLDER_MS = 60_000

export interface ExposuresParts {
  /** What the accepted state publishes. */
  wanted(): readonly Exposure[]
  /** In the accepted state, and not deleted. */
  isWanted(vmId: string): boolean
  reach: Pick<Reach, 'seen' | 'target'>
  /** '' = nobody here may know. Never rejects. */
  holder(protocol: Protocol, port: number): Promise<string>
  places: Places
  limits: PortLimits
  clock: Clock
  log: Log
}

type Shown = { state: 'listening' | 'failed' | 'waiting'; reason: string }

interface Open {
  port: WantedPort
  run: string
  listener: PortListener
}

interface Entry {
  plan: PortPlan
  counters: Counters
  shown: Shown
  open?: Open
  /** Of a port that is taken. */
  holder?: { name: string; at: number }
}

/** The published ports of this host: what is open follows what should be, whatever happened before. */
export class Exposures {
  readonly #parts: ExposuresParts
  readonly #listeners = new Set<() => void>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #entries = new Map<string, Entry>()
  #opening: Promise<void> | undefined
  #again = false

  constructor(parts: ExposuresParts) {
    this.#parts = parts
  }

  /** Looks now, and again each report period. */
  start(): void {
    this.look()
    void this.#tick()
  }

  /** Ends every listener; guests run on. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort()
    for (const entry of this.#entries.values()) this.#shut(entry)
    await this.#opening
    await Promise.all(this.#closing)
  }

  /** To be called when anything it reads may have changed. What must not be open is closed before it returns. */
  look(): void {
    if (this.#stop.signal.aborted) return
    const { wanted, isWanted, reach } = this.#parts
    const plans = planPorts(wanted(), isWanted, (vmId) => reach.seen(vmId))
    const before = this.#entries
    this.#entries = new Map(plans.map((plan) => [plan.id, this.#entryOf(plan, before.get(plan.id))]))
    for (const [id, entry] of before) if (this.#entries.get(id) !== entry) this.#shut(entry)
    let changed = before.size !== this.#entries.size
    for (const entry of this.#entries.values()) changed = this.#settle(entry) || changed
    if (changed) this.#changed()
    this.#again = true
    this.#opening ??= this.#openAll()
  }

  /** One of each port that should be, in the order of the accepted state. */
  statuses(): ExposureStatus[] {
    return [...this.#entries].map(([id, { shown, counters }]) =>
      create(ExposureStatusSchema, {
        id,
        ...shown,
        sessions: {
          active: BigInt(counters.active),
          refused: BigInt(counters.refused),
          dropped: BigInt(counters.dropped),
        },
      }),
    )
  }

  /** Calls `fn` after each change of a state or reason; returns its stop function. */
  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  #entryOf(plan: PortPlan, known: Entry | undefined): Entry {
    const open = known?.open
    const other = plan.kind === 'listen' && open && differs(plan.port, open.port)
    if (!known || other) return fresh(plan)
    known.plan = plan
    return known
  }

  /** Closes what the plan does not name any more; true when what is shown changed. */
  #settle(entry: Entry): boolean {
    const { plan } = entry
    if (plan.kind === 'listen') {
      if (entry.open && entry.open.run !== plan.run) this.#shut(entry)
      return false
    }
    this.#shut(entry)
    return show(entry, plan.kind === 'wait' ? 'waiting' : 'failed', plan.reason)
  }

  #shut(entry: Entry): void {
    const { open } = entry
    if (!open) return
    delete entry.open
    const closing = open.listener.close()
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
    this.#parts.log.info('exposure.closed', { id: open.port.id, port: open.port.hostPort })
  }

  async #openAll(): Promise<void> {
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false
      await Promise.all(this.#closing)
      for (const entry of [...this.#entries.values()]) await this.#open(entry)
    }
    this.#opening = undefined
  }

  async #open(entry: Entry): Promise<void> {
    const { plan } = entry
    if (plan.kind !== 'listen' || entry.open || this.#entries.get(plan.id) !== entry) return
    const { port, run } = plan
    const { reach, places, limits, clock, log } = this.#parts
    const target = () => reach.target(port.vmId, port.protocol, port.guestPort)
    const parts = { target, counters: entry.counters, places, limits, monotonic: () => clock.monotonic() }
    let changed = false
    try {
      entry.open = { port, run, listener: await openPort(port, parts) }
      delete entry.holder
      changed = show(entry, 'listening', '')
      log.info('exposure.listening', { id: port.id, port: port.hostPort })
    } catch (error) {
      changed = show(entry, 'failed', whyNotOpen(error, port, entry.holder?.name ?? ''))
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') void this.#nameHolder(entry, port, error)
    }
    // Not wanted any more meanwhile.
    if (this.#stop.signal.aborted || this.#entries.get(plan.id) !== entry || !isDeepStrictEqual(entry.plan, plan)) {
      this.#shut(entry)
      this.#again = true
    }
    if (changed) this.#changed()
  }

  async #nameHolder(entry: Entry, port: WantedPort, error: unknown): Promise<void> {
    const { clock, holder } = this.#parts
    if (entry.holder && clock.monotonic() - entry.holder.at < HOLDER_MS) return
    entry.holder = { name: entry.holder?.name ?? '', at: clock.monotonic() }
    entry.holder.name = await holder(port.protocol, port.hostPort)
    if (entry.open || entry.shown.state !== 'failed' || entry.holder.name === '') return
    if (show(entry, 'failed', whyNotOpen(error, port, entry.holder.name))) this.#changed()
  }

  #changed(): void {
    for (const fn of this.#listeners) fn()
  }

  async #tick(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#parts.clock.sleep(TIMES.reportMs, signal).catch(() => {})
      this.look()
    }
  }
}

const fresh = (plan: PortPlan): Entry => ({
  plan,
  counters: { active: 0, refused: 0, dropped: 0 },
  shown: { state: 'waiting', reason: '' },
})

function show(entry: Entry, state: Shown['state'], reason: string): boolean {
  if (entry.shown.state === state && entry.shown.reason === reason) return false
  entry.shown = { state, reason }
  return true
}

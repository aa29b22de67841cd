import type { Duplex } from 'node:stream'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import type { ClockPolicy } from '../../ipc/clock-policy.ts'
import type { ClockCause } from '../clock/clock-plan.ts'
import type { HostPulse } from '../clock/host-pulse.ts'
import type { VmLayout } from '../records/layout.ts'
import { GuestAgent, GuestAgentError } from './guest-agent.ts'

const BEAT_MS = 1_000
/** Guests asked at one time. One that is silent costs nothing but its deadline. */
const AT_ONCE = 8
const ANSWERING_MS = 30_000
/** A guest that answers none: at first, and at most; doubled each time. */
const SILENT_MS = 10_000
const SILENT_MOST_MS = 300_000
/** A guest that may still be booting is asked as often as at first. */
const BOOTING_MS = 300_000
/** While something waits for the guest to answer. */
const DUE_MS = 2_000
/** One visit may take this long, ms: a burst of chrony and every program asked after it. */
const VISIT_MS = 120_000

/** A VM that runs. */
export interface RunningGuest {
  id: string
  vm: VmLayout
  policy: ClockPolicy
  /** Another one = another start of the VM. */
  startedAt: number
}

/** Who asks something of guests. Calls for one VM never overlap. */
export interface Visitor {
  /** Raises GuestAgentError when the guest does not answer; the visitors after it are not called then. */
  visit(guest: RunningGuest, agent: GuestAgent, signal: AbortSignal): Promise<void>
  silent(guest: RunningGuest): void
  forget(vmId: string): void
  /** Has something for a guest that need not wait for its round. */
  hasNews?(guest: RunningGuest): boolean
  /** ms until it wants to ask again; absent = as the rounds go. */
  wantsIn?(vmId: string): number | undefined
}

export interface GuestRoundsDeps {
  list(): RunningGuest[]
  channel(vm: VmLayout): Promise<Duplex>
  /** In the order they are called. */
  visitors: readonly Visitor[]
  pulse: Pick<HostPulse, 'beat'>
  /** The host slept, or stood still: the clock of every guest may be off. */
  onHost(cause: Extract<ClockCause, 'host_wake' | 'stall'>, vmId: string): void
  isDue(vmId: string): boolean
  clock: Clock
  log: Log
}

interface Entry {
  guest: RunningGuest
  agent: GuestAgent
  /** Monotonic ms. */
  dueAt: number
  since: number
  silent: number
  busy: boolean
  /** Asked for while it was busy. */
  again: boolean
}

/** Visits every running guest in turn, a bounded number at once. No report and no pass ever waits for it. */
export class GuestRounds {
  readonly #deps: GuestRoundsDeps
  readonly #entries = new Map<string, Entry>()
  readonly #stopping = new AbortController()
  #atOnce = 0

  constructor(deps: GuestRoundsDeps) {
    this.#deps = deps
  }

  start(): void {
    void this.#run()
  }

  /** Does not wait for visits under way; they are cut short. */
  stop(): void {
    this.#stopping.abort()
    for (const { agent } of this.#entries.values()) agent.close()
    this.#entries.clear()
  }

  /** Whether the VM runs. */
  has(vmId: string): boolean {
    this.#look()
    return this.#entries.has(vmId)
  }

  /** The VM is visited as soon as there is room. */
  nudge(vmId: string): void {
    const entry = this.#entries.get(vmId)
    if (!entry) return
    entry.dueAt = this.#deps.clock.monotonic()
    entry.again = entry.busy
    this.#begin()
  }

  /** One look at what happened to the host and at who is due. */
  beat(): void {
    const event = this.#deps.pulse.beat(BEAT_MS)
    this.#look()
    if (event) this.#hostEvent(event)
    this.#news()
    this.#begin()
  }

  /** A guest that answers none is not asked more often for it. */
  #news(): void {
    for (const entry of this.#entries.values())
      if (entry.silent === 0 && this.#deps.visitors.some((visitor) => visitor.hasNews?.(entry.guest)))
        entry.dueAt = Math.min(entry.dueAt, this.#deps.clock.monotonic())
  }

  #hostEvent(event: NonNullable<ReturnType<HostPulse['beat']>>): void {
    const now = this.#deps.clock.monotonic()
    for (const entry of this.#entries.values()) {
      if (event !== 'step') this.#deps.onHost(event, entry.guest.id)
      entry.dueAt = now
      entry.again = entry.busy
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      this.beat()
      await this.#deps.clock.sleep(BEAT_MS, signal).catch(() => {})
    }
  }

  /** Takes up guests that started and lets go of those that ended. */
  #look(): void {
    const { list, channel, visitors, clock } = this.#deps
    const running = new Map(list().map((guest) => [guest.id, guest]))
    for (const [id, { agent, guest }] of this.#entries) {
      if (running.get(id)?.startedAt === guest.startedAt) continue
      agent.close()
      this.#entries.delete(id)
      for (const visitor of visitors) visitor.forget(id)
    }
    const now = clock.monotonic()
    for (const [id, guest] of running) {
      const known = this.#entries.get(id)
      if (known) known.guest = guest
      else {
        const agent = new GuestAgent({ connect: () => channel(guest.vm), clock })
        this.#entries.set(id, { guest, agent, dueAt: now, since: now, silent: 0, busy: false, again: false })
      }
    }
  }

  /** The longest overdue first. */
  #begin(): void {
    const now = this.#deps.clock.monotonic()
    const due = [...this.#entries.values()].filter(({ dueAt, busy }) => !busy && dueAt <= now)
    for (const entry of due.sort((a, b) => a.dueAt - b.dueAt)) {
      if (this.#atOnce >= AT_ONCE || this.#stopping.signal.aborted) return
      this.#atOnce++
      entry.busy = true
      void this.#visit(entry).finally(() => {
        this.#atOnce--
        entry.busy = false
        this.#begin()
      })
    }
  }

  async #visit(entry: Entry): Promise<void> {
    const { visitors } = this.#deps
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('the visit took too long')), VISIT_MS)
    const signal = AbortSignal.any([late.signal, this.#stopping.signal])
    try {
      // What one of them is refused says nothing of what the next one asks.
      for (const visitor of visitors) await visitor.visit(entry.guest, entry.agent, signal).catch(unlessRefused)
      entry.silent = 0
    } catch (error) {
      if (!(error instanceof GuestAgentError)) {
        const fields = { vm: entry.guest.id, error: String(error).slice(0, 300) }
        if (!this.#stopping.signal.aborted) this.#deps.log.warn('guest.visit-failed', fields)
        return
      }
      entry.silent++
      if (this.#entries.get(entry.guest.id) === entry) for (const visitor of visitors) visitor.silent(entry.guest)
    } finally {
      clearTimeout(timer)
      entry.dueAt = this.#deps.clock.monotonic() + (entry.again ? 0 : this.#pauseMs(entry))
      entry.again = false
    }
  }

  #pauseMs({ guest, silent, since }: Entry): number {
    const { visitors, isDue, clock } = this.#deps
    if (isDue(guest.id)) return DUE_MS
    const wanted = visitors.flatMap((visitor) => visitor.wantsIn?.(guest.id) ?? [])
    if (silent === 0) return Math.min(ANSWERING_MS, ...wanted)
    if (clock.monotonic() - since < BOOTING_MS) return SILENT_MS
    return Math.min(SILENT_MOST_MS, SILENT_MS * 2 ** Math.min(silent - 1, 8))
  }
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof GuestAgentError && error.trouble === 'refused')) throw error
}

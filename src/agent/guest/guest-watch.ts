import { create } from '@bufbuild/protobuf'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { Fault } from '../../ipc/faults.ts'
import { type GuestClock, GuestClockSchema, type HostClock } from '../../ipc/gen/eitri/agent/v1/clock_pb.js'
import type { GuestState } from '../../ipc/gen/eitri/agent/v1/guest_pb.js'
import { type GuestTrust, GuestTrustSchema } from '../../ipc/gen/eitri/agent/v1/trust_pb.js'
import type { Backend } from '../backends/backend.ts'
import { GuestClocks } from '../clock/guest-clocks.ts'
import { HostClockLook } from '../clock/host-clock.ts'
import { HostPulse } from '../clock/host-pulse.ts'
import type { Run } from '../os/exec.ts'
import type { GuestTrustFiles } from '../seed/ssh-trust.ts'
import { GuestRounds, type RunningGuest } from './guest-rounds.ts'
import { GuestStates } from './guest-states.ts'
import { GuestTrusts } from './guest-trusts.ts'

/** A person waits this long for a clock to be set, ms: within the control plane's own deadline. */
const ASKED_MS = 23_000

const NO_WAY_IN = 'The hypervisor of this VM has no channel to a guest agent; what its seed said stays.'
const NO_CHANNEL = create(GuestClockSchema, { detail: 'The hypervisor of this VM has no channel to a guest agent.' })

const SEEDED: Readonly<Record<string, boolean>> = { applied: true, not_applied: false }

export interface GuestWatchDeps {
  backend: Pick<Backend, 'guestChannel' | 'onResume'>
  guests(): RunningGuest[]
  /** What a running guest is to hold of the fleet's SSH trust; undefined = nothing. */
  trustOf(vmId: string): GuestTrustFiles | undefined
  /** Since boot, sleep included. Raises where it cannot be told. */
  uptimeMs(): number
  run: Run
  clock: Clock
  log: Log
}

/** All that is asked of guests from inside, and the clock of this host that theirs are held against. */
export class GuestWatch {
  readonly #rounds: GuestRounds | undefined
  readonly #clocks: GuestClocks
  readonly #states: GuestStates
  readonly #trusts: GuestTrusts
  readonly #trustOf: GuestWatchDeps['trustOf']
  readonly #host: HostClockLook
  readonly #undo: (() => void)[] = []
  readonly #listeners = new Set<() => void>()

  constructor(deps: GuestWatchDeps) {
    const { backend, guests, uptimeMs, clock, log } = deps
    this.#host = new HostClockLook({ run: deps.run, clock, onChange: () => this.#changed() })
    this.#clocks = new GuestClocks({
      clock,
      log,
      host: () => this.#host.latest()?.state ?? '',
      onAct: () => this.#changed(),
    })
    this.#states = new GuestStates({ clock, log, onChange: () => this.#changed() })
    this.#trustOf = deps.trustOf
    this.#trusts = new GuestTrusts({
      clock,
      wanted: deps.trustOf,
      seeded: (vmId) => SEEDED[this.#states.of(vmId)?.fleetPayload ?? ''],
      onChange: () => this.#changed(),
    })
    const channel = backend.guestChannel?.bind(backend)
    if (!channel) return
    this.#rounds = new GuestRounds({
      list: guests,
      channel,
      visitors: [this.#clocks, this.#states, this.#trusts],
      pulse: new HostPulse(clock, uptimeMs),
      onHost: (cause, vmId) => this.#clocks.note(vmId, cause),
      isDue: (vmId) => this.#clocks.isDue(vmId),
      clock,
      log,
    })
    const stop = backend.onResume?.((vmId) => {
      this.#clocks.note(vmId, 'resume')
      this.#rounds?.nudge(vmId)
    })
    if (stop) this.#undo.push(stop)
  }

  start(): void {
    this.#host.start()
    this.#rounds?.start()
  }

  /** Does not wait for what is under way in guests. */
  stop(): void {
    for (const step of this.#undo) step()
    this.#rounds?.stop()
    this.#host.stop()
  }

  /** Calls `fn` when a guest says something new, or something was done about its clock; returns its stop function. */
  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** Absent = not looked up yet. */
  hostClock(): HostClock | undefined {
    return this.#host.latest()
  }

  /** Absent = not asked yet. */
  clock(vmId: string): GuestClock | undefined {
    return this.#rounds ? this.#clocks.of(vmId) : NO_CHANNEL
  }

  /** Absent = not asked yet, or nothing here can ask. */
  state(vmId: string): GuestState | undefined {
    return this.#states.of(vmId)
  }

  /** Absent = the fleet has nothing for this guest, or it was not asked yet. */
  trust(vmId: string): GuestTrust | undefined {
    if (this.#rounds) return this.#trusts.of(vmId)
    return this.#trustOf(vmId) && create(GuestTrustSchema, { revocations: 'unreachable', detail: NO_WAY_IN })
  }

  /** Sets a guest's clock now as far as its policy goes; resolves with what came of it. Raises `clock/not-running` (permanent), `clock/not-set`. */
  async setClock(vmId: string, signal: AbortSignal): Promise<GuestClock | undefined> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(ASKED_MS)])
    if (!this.#rounds?.has(vmId)) throw new Fault('clock/not-running', 'permanent', { vm: vmId })
    const acted = this.#clocks.acted(vmId, late)
    this.#clocks.note(vmId, 'asked')
    this.#rounds.nudge(vmId)
    // What was done before is no answer.
    if (!(await acted))
      throw new Fault('clock/not-set', 'transient', {
        vm: vmId,
        detail: `nothing came of it within ${ASKED_MS / 1000} s`,
      })
    return this.#clocks.of(vmId)
  }

  #changed(): void {
    for (const fn of this.#listeners) fn()
  }
}

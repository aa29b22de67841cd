import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { type ClockActSchema, type GuestClock, GuestClockSchema } from '../../ipc/gen/eitri/agent/v1/clock_pb.js'
import { GuestAgentError } from '../guest/guest-agent.ts'
import type { RunningGuest } from '../guest/guest-rounds.ts'
import { around } from '../os/failpoints.ts'
import { trackingOf } from './chrony-text.ts'
import {
  type ClockCause,
  type ClockPlan,
  isSet,
  NOBODY_ANSWERS,
  OFF_US,
  planClock,
  TRY_WINDOW_MS,
} from './clock-plan.ts'
import { type Measurement, measureGuest, type TimedAgent } from './guest-time.ts'

/** A guest that has cause to be set and does not answer is given up after this. */
const GIVE_UP_MS = 60_000
/** chrony needs four samples after a burst: 6 s when its sources answer, the double when some are lost. */
const BURST_MS = 18_000
const LOOK_AGAIN_MS = 1_000
/** Two samples are too few for chrony to choose a source by. */
const CHRONY = ['reset sources', 'burst 4/8']

interface Act {
  cause: ClockCause
  means: ClockPlan['act']
  result: '' | 'done' | 'failed'
  before: number | undefined
  after: number | undefined
  /** Wall clock, ms. */
  at: number
  detail: string
}

interface Entry {
  measured: Measurement | undefined
  /** Why nothing is measured; '' = it is. */
  detail: string
  /** It was measured since the VM runs, or since this agent does. */
  seen: boolean
  /** What has to be done once the guest answers. */
  pending: { cause: ClockCause; since: number } | undefined
  act: Act | undefined
  /** When something was done because it was found off, monotonic ms; at most as many as count. */
  tries: number[]
  /** Those who wait for an act they asked for. */
  waiting: Set<() => void>
}

interface Attempt {
  entry: Entry
  act: Act
  agent: TimedAgent
  signal: AbortSignal
}

export interface GuestClocksDeps {
  clock: Clock
  log: Log
  /** State of the host's own clock; '' = nobody tells. */
  host(): string
  /** Something was done about a clock, or begun. */
  onAct(): void
}

/** Each guest's clock against the host's, and what was done about it. Driven by the rounds, one visit of a VM at a time. */
export class GuestClocks {
  readonly #deps: GuestClocksDeps
  readonly #entries = new Map<string, Entry>()

  constructor(deps: GuestClocksDeps) {
    this.#deps = deps
  }

  /** The next visit acts; a person's wish and the earliest cause are kept. */
  note(vmId: string, cause: ClockCause): void {
    const entry = this.#entry(vmId)
    if (entry.pending && cause !== 'asked') return
    entry.pending = { cause, since: this.#deps.clock.monotonic() }
  }

  /** Whether a VM's clock waits for its guest to answer. */
  isDue(vmId: string): boolean {
    return this.#entries.get(vmId)?.pending !== undefined
  }

  /** Measures, and acts when there is cause. Raises GuestAgentError when the guest does not answer. */
  async visit(guest: RunningGuest, agent: TimedAgent, signal: AbortSignal): Promise<void> {
    const entry = this.#entry(guest.id)
    try {
      entry.measured = await measureGuest(agent, this.#deps.clock, signal)
      entry.detail = ''
    } catch (error) {
      if (!isRefused(error)) throw error
      entry.measured = undefined
      entry.detail = `Its guest agent does not tell the time (${why(error)}).`
      this.#giveUp(guest, entry, entry.detail)
      return
    }
    if (entry.act && entry.act.result !== 'done') entry.act.after ??= entry.measured.offsetUs
    const found = Math.abs(entry.measured.offsetUs) >= OFF_US ? 'offset' : entry.seen ? undefined : 'start'
    const cause = entry.pending?.cause ?? found
    entry.pending = undefined
    entry.seen = true
    if (cause) await this.#act(guest, entry, cause, agent, signal)
  }

  /** The guest did not answer a visit. */
  silent(guest: RunningGuest): void {
    const entry = this.#entry(guest.id)
    entry.measured = undefined
    entry.detail = NOBODY_ANSWERS
    const { pending } = entry
    if (pending?.cause !== 'asked' && this.#deps.clock.monotonic() - (pending?.since ?? 0) < GIVE_UP_MS) return
    this.#giveUp(guest, entry, NOBODY_ANSWERS)
  }

  /** The VM does not run, or runs anew. */
  forget(vmId: string): void {
    for (const wake of this.#entries.get(vmId)?.waiting ?? []) wake()
    this.#entries.delete(vmId)
  }

  /** Whether the act that is noted now came about before the signal aborts. */
  async acted(vmId: string, signal: AbortSignal): Promise<boolean> {
    const { waiting } = this.#entry(vmId)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const wake = () => resolve(true)
    waiting.add(wake)
    signal.addEventListener('abort', () => resolve(false), { once: true })
    if (signal.aborted) resolve(false)
    return await promise.finally(() => waiting.delete(wake))
  }

  /** Absent = not asked yet. */
  of(vmId: string): GuestClock | undefined {
    const entry = this.#entries.get(vmId)
    if (!entry || (!entry.measured && entry.detail === '')) return undefined
    const { measured, detail, act } = entry
    return create(GuestClockSchema, {
      source: measured ? 'guest_agent' : '',
      detail,
      ...(measured
        ? {
            offsetUs: BigInt(measured.offsetUs),
            uncertaintyUs: BigInt(measured.uncertaintyUs),
            measuredAt: timestampFromMs(measured.at),
          }
        : {}),
      ...(act ? { lastAct: wireAct(act) } : {}),
    })
  }

  #situation({ policy }: RunningGuest, entry: Entry, cause: ClockCause) {
    const since = this.#deps.clock.monotonic() - TRY_WINDOW_MS
    entry.tries = entry.tries.filter((at) => at > since)
    const { offsetUs, uncertaintyUs = 0 } = entry.measured ?? {}
    return { cause, policy, offsetUs, uncertaintyUs, host: this.#deps.host(), triedLately: entry.tries.length }
  }

  /** What had to be done cannot be, for nothing can be measured. */
  #giveUp(guest: RunningGuest, entry: Entry, detail: string): void {
    const cause = entry.pending?.cause
    entry.pending = undefined
    if (!cause) return
    const plan = planClock(this.#situation(guest, entry, cause))
    if (plan?.act === 'none')
      this.#record(guest, entry, {
        ...this.#actOf(cause, entry, plan),
        ...(plan.result === 'failed' ? { detail } : {}),
      })
  }

  async #act(
    guest: RunningGuest,
    entry: Entry,
    cause: ClockCause,
    agent: TimedAgent,
    signal: AbortSignal,
  ): Promise<void> {
    const plan = planClock(this.#situation(guest, entry, cause))
    if (!plan) return
    const act = this.#actOf(cause, entry, plan)
    if (plan.act === 'none') return this.#record(guest, entry, act)
    entry.act = act
    this.#deps.onAct()
    if (cause === 'offset') entry.tries.push(this.#deps.clock.monotonic())
    try {
      await this.#do(plan, { entry, act, agent, signal })
    } catch (error) {
      fail(act, why(error))
      throw error
    } finally {
      act.at = this.#deps.clock.now()
      this.#record(guest, entry, act)
    }
  }

  /** Each means in turn until one brings it right. */
  async #do(plan: Exclude<ClockPlan, { act: 'none' }>, attempt: Attempt): Promise<void> {
    const problems: string[] = []
    for (const means of [plan.act, plan.orElse]) {
      if (means === 'none') continue
      attempt.act.means = means
      const problem = await (means === 'set_time' ? this.#set(attempt) : this.#burst(attempt)).catch(refusal)
      if (problem === '') {
        attempt.act.result = 'done'
        const did = means === 'set_time' ? 'Set by the guest agent' : 'chrony in the guest asked its sources anew'
        attempt.act.detail = problems.length === 0 ? `${did}.` : `${did}; before that: ${problems.join('; ')}.`
        return
      }
      problems.push(problem)
    }
    fail(attempt.act, problems.join('; '))
  }

  /** '' = done. Raises GuestAgentError when the guest does not answer. */
  async #set({ entry, act, agent, signal }: Attempt): Promise<string> {
    const { clock } = this.#deps
    const ahead = (entry.measured?.uncertaintyUs ?? 0) / 1000
    const refused = await around('guest.set-time', () =>
      agent.execute('guest-set-time', { time: Math.round((clock.now() + ahead) * 1e6) }, signal),
    ).then(() => '', refusal)
    // A guest agent that set the time and could not write the hardware clock answers with an error: the clock decides.
    const { offsetUs } = await this.#look(entry, act, agent, signal)
    return isSet(offsetUs) ? '' : refused || 'the guest agent set the time, which did not stay'
  }

  /** '' = done: in step with the host, or with sources of its own that answer. */
  async #burst({ entry, act, agent, signal }: Attempt): Promise<string> {
    const { clock } = this.#deps
    const chrony = (...arg: string[]) => around('guest.chrony', () => agent.exec('chronyc', arg, signal))
    for (const command of CHRONY) {
      const { code, stdout, stderr } = await chrony(command)
      if (code !== 0) return `chrony in the guest: ${(stdout || stderr).trim().slice(0, 160) || 'no answer'}`
    }
    for (const deadline = clock.monotonic() + BURST_MS; clock.monotonic() < deadline; ) {
      if (isSet((await this.#look(entry, act, agent, signal)).offsetUs)) return ''
      const follows = trackingOf((await chrony('-c', 'tracking')).stdout)
      if (follows?.state === 'synchronised') {
        if (isSet(follows.offsetUs ?? 0)) return ''
        // A chrony that only steps at its start would slew for hours what it knows by now.
        await chrony('makestep')
      }
      await clock.sleep(LOOK_AGAIN_MS, signal)
    }
    return `chrony in the guest has no source that answers within ${BURST_MS / 1000} s`
  }

  async #look(entry: Entry, act: Act, agent: TimedAgent, signal: AbortSignal): Promise<Measurement> {
    const measured = await measureGuest(agent, this.#deps.clock, signal)
    entry.measured = measured
    act.after = measured.offsetUs
    return measured
  }

  #actOf(cause: ClockCause, { measured }: Entry, plan: ClockPlan): Act {
    return {
      cause,
      means: plan.act,
      result: plan.act === 'none' ? plan.result : '',
      before: measured?.offsetUs,
      after: undefined,
      at: this.#deps.clock.now(),
      detail: plan.act === 'none' ? plan.detail : '',
    }
  }

  /** What is said again at each look is recorded the first time only. */
  #record({ id }: RunningGuest, entry: Entry, act: Act): void {
    const { cause, means, result, before, after, detail } = act
    const isRepeated = cause === 'offset' && means === 'none' && entry.act?.detail === detail
    if (!isRepeated) {
      entry.act = act
      const fields = { vm: id, cause, means, result, before_us: before, after_us: after, detail }
      this.#deps.log[result === 'failed' ? 'warn' : 'info']('clock.acted', fields)
      this.#deps.onAct()
    }
    for (const wake of entry.waiting) wake()
  }

  #entry(vmId: string): Entry {
    const known = this.#entries.get(vmId)
    if (known) return known
    const fresh: Entry = {
      measured: undefined,
      seen: false,
      detail: '',
      pending: undefined,
      act: undefined,
      tries: [],
      waiting: new Set(),
    }
    this.#entries.set(vmId, fresh)
    return fresh
  }
}

function fail(act: Act, problem: string): void {
  act.result = 'failed'
  act.detail = `It could not be set right: ${problem.replace(/\.$/, '')}.`
}

const isRefused = (error: unknown): boolean => error instanceof GuestAgentError && error.trouble === 'refused'

/** What a guest agent that answered would not do; whatever else went wrong is thrown on. */
function refusal(error: unknown): string {
  if (isRefused(error)) return why(error)
  throw error
}

const why = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 200)

function wireAct({ cause, means, result, before, after, at, detail }: Act): MessageInitShape<typeof ClockActSchema> {
  return {
    cause,
    means,
    result,
    at: timestampFromMs(at),
    detail,
    ...(before === undefined ? {} : { offsetBeforeUs: BigInt(before) }),
    ...(after === undefined ? {} : { offsetAfterUs: BigInt(after) }),
  }
}

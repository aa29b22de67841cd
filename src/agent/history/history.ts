import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import { isAbsent } from '../os/files.ts'
import { type Batch, MAX_BATCH_MINUTES, type Moment, plainBootId } from './batches.ts'
import { FLUSH_MINUTES, HistoryFile } from './history-file.ts'
import { type Counters, ratesOf } from './rates.ts'
import { RAW_MS, RAW_SLOTS, RawRing } from './raw-ring.ts'
import { merge, putSlot, type Sample, SLOT_WORDS } from './slot.ts'
import { inSteps, MINUTE_MS, placedMinutes, placedRaw, SLOTS_A_MINUTE, type Steps } from './timeline.ts'

/** The host itself among subjects; all others are VM ids. */
export const HOST = ''
/** Subjects written at one tick. */
export const FLUSH_PER_TICK = 50
/** Minutes that wait in memory where the disk takes none; older ones are given up, which leaves a gap. */
export const PENDING_MINUTES = 120
/** The last write before an agent ends takes no longer than this, ms. */
const STOP_MS = 5_000

/** What was just measured of one subject. */
export interface Look {
  subject: string
  levels: Sample
  counters: Omit<Counters, 'atMs'>
}

export interface HistoryDeps {
  /** File of a subject. */
  pathOf(subject: string): string
  bootId(): string
  uptimeMs(): number
  now(): number
  log: Log
}

interface Subject {
  ring: RawRing
  file: HistoryFile
  counters: Counters | undefined
  /** First minute since boot that is not among `pending` yet. */
  nextMinute: number
  pending: { minute: number; sample: Sample }[]
}

/** What this host and its VMs took: the last hour in memory, a day of minutes on disk. */
export class History {
  readonly #deps: HistoryDeps
  readonly #subjects = new Map<string, Subject>()
  #busy: Promise<unknown> = Promise.resolve()
  #flushing = false
  #told = false

  constructor(deps: HistoryDeps) {
    this.#deps = deps
  }

  /** One tick. Forgets subjects that are not among `known`; those that are and were not looked at get a gap. */
  record(looks: readonly Look[], known: ReadonlySet<string>): void {
    const atMs = this.#deps.uptimeMs()
    for (const id of this.#subjects.keys()) if (!known.has(id)) this.#subjects.delete(id)
    for (const { subject, levels, counters } of looks) {
      const one = this.#subject(subject)
      const now = { ...counters, atMs }
      one.ring.put(atMs, { ...levels, ...ratesOf(one.counters, now) })
      one.counters = now
    }
    const minute = Math.floor(atMs / MINUTE_MS)
    for (const one of this.#subjects.values()) completeMinutes(one, minute)
    void this.#flushDue()
  }

  /** Writes what waits, the minute under way too. Never raises. */
  async stop(): Promise<void> {
    const until = performance.now() + STOP_MS
    for (const one of this.#subjects.values()) completeMinutes(one, Math.floor(this.#deps.uptimeMs() / MINUTE_MS) + 1)
    await this.idle()
    await this.#write([...this.#subjects.values()], () => performance.now() < until)
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    await this.#busy
  }

  /** At most `samples` steps over the last `spanMs`, by the wall clock as it is now. */
  async ask(subject: string, spanMs: number, samples: number): Promise<Steps> {
    const now = this.#moment()
    const { stepMs, steps } = await this.#steps(subject, spanMs, samples, now)
    const shift = now.wallMs - now.uptimeMs
    return { stepMs, steps: steps.map(({ atMs, sample }) => ({ atMs: atMs + shift, sample })) }
  }

  async #steps(subject: string, spanMs: number, samples: number, now: Moment): Promise<Steps> {
    const one = this.#subjects.get(subject)
    const from = Math.floor((now.uptimeMs - spanMs) / RAW_MS)
    if (one && spanMs <= RAW_SLOTS * RAW_MS && one.ring.oldest <= from + 1)
      return inSteps(placedRaw(one.ring, from), now.uptimeMs, { spanMs, samples, baseMs: RAW_MS })
    await this.#busy
    const written = await (one?.file ?? new HistoryFile(this.#deps.pathOf(subject))).read()
    const minutes = placedMinutes([...written, ...(one ? batchesOf(one.pending, now) : [])], now)
    const isOlder = minutes.some(
      ({ atMs }) => atMs < (one?.ring.oldest ?? 0) * RAW_MS - MINUTE_MS && atMs >= from * RAW_MS,
    )
    if (one && spanMs <= RAW_SLOTS * RAW_MS && !isOlder)
      return inSteps(placedRaw(one.ring, from), now.uptimeMs, { spanMs, samples, baseMs: RAW_MS })
    const current = one ? placedRaw(one.ring, one.nextMinute * SLOTS_A_MINUTE) : []
    return inSteps([...minutes, ...underway(current)], now.uptimeMs, { spanMs, samples, baseMs: MINUTE_MS })
  }

  #subject(id: string): Subject {
    const known = this.#subjects.get(id)
    if (known) return known
    const file = new HistoryFile(this.#deps.pathOf(id))
    const nextMinute = Math.floor(this.#deps.uptimeMs() / MINUTE_MS)
    const fresh: Subject = { ring: new RawRing(), file, counters: undefined, nextMinute, pending: [] }
    this.#subjects.set(id, fresh)
    return fresh
  }

  #moment(): Moment {
    const { bootId, uptimeMs, now } = this.#deps
    return { bootId: plainBootId(bootId()), uptimeMs: uptimeMs(), wallMs: now() }
  }

  async #flushDue(): Promise<void> {
    if (this.#flushing) return
    const due = [...this.#subjects.values()]
      .filter(({ pending, nextMinute }) => pending.length > 0 && nextMinute - pending[0]!.minute >= FLUSH_MINUTES)
      .toSorted((a, b) => a.pending[0]!.minute - b.pending[0]!.minute)
      .slice(0, FLUSH_PER_TICK)
    if (due.length === 0) return
    this.#flushing = true
    this.#busy = this.#write(due).finally(() => {
      this.#flushing = false
    })
    await this.#busy
  }

  async #write(subjects: readonly Subject[], goOn = () => true): Promise<void> {
    for (const one of subjects) {
      if (one.pending.length === 0 || !goOn()) continue
      const written = one.pending.length
      try {
        const now = this.#moment()
        await one.file.add(batchesOf(one.pending, now), now)
        one.pending.splice(0, written)
        this.#told = false
      } catch (error) {
        if (isAbsent(error)) {
          // Its directory went with it: there is nobody to keep anything of.
          one.pending.length = 0
          continue
        }
        if (!this.#told) this.#deps.log.warn('history.not-written', { error: asFault(error).message })
        this.#told = true
        one.pending.splice(0, one.pending.length - PENDING_MINUTES)
      }
    }
  }
}

/** Takes each minute that is over, and had something, from the ring. */
function completeMinutes(one: Subject, minute: number): void {
  const oldest = Math.floor(one.ring.oldest / SLOTS_A_MINUTE)
  for (let at = Math.max(one.nextMinute, oldest); at < minute; at++) {
    const slots = Array.from({ length: SLOTS_A_MINUTE }, (_, i) => one.ring.at(at * SLOTS_A_MINUTE + i))
    const sample = merge(slots)
    if (sample) one.pending.push({ minute: at, sample })
  }
  one.nextMinute = Math.max(one.nextMinute, minute)
}

/** Minutes in a row as one batch each. */
function batchesOf(pending: Subject['pending'], now: Moment): Batch[] {
  const runs: Subject['pending'][] = []
  for (const one of pending) {
    const run = runs.at(-1)
    if (run && run.at(-1)!.minute + 1 === one.minute && run.length < MAX_BATCH_MINUTES) run.push(one)
    else runs.push([one])
  }
  return runs.map((run) => {
    const words = new Uint16Array(run.length * SLOT_WORDS)
    for (const [i, { sample }] of run.entries()) putSlot(words, i, sample)
    const uptimeMs = (run.at(-1)!.minute + 1) * MINUTE_MS
    return { bootId: now.bootId, uptimeMs, wallMs: now.wallMs - (now.uptimeMs - uptimeMs), words }
  })
}

/** The minutes not over yet, one sample each. */
function underway(raw: ReturnType<typeof placedRaw>): ReturnType<typeof placedRaw> {
  const minutes = Map.groupBy(raw, ({ atMs }) => Math.floor(atMs / MINUTE_MS))
  return [...minutes].map(([minute, members]) => ({
    atMs: minute * MINUTE_MS,
    sample: merge(members.map(({ sample }) => sample)) ?? {},
  }))
}

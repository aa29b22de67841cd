import { actWords, type ClockWord, guestClockState, offsetWords } from '../../../ipc/clock-words.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { ClockAct } from '../../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import { formatDuration } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { Tone } from '../../ui/state-word.tsx'
import { gapsOf, type History } from '../metrics/series.ts'

/** One thing that happened to a clock. */
export interface ClockEvent {
  atMs: number
  tone: Tone
  text: string
}

/** Told at most; older ones are on the chart. */
export const MAX_EVENTS = 30

/** What happened when, newest first: turns of the offset, times nobody measured, what was done, and since when it runs. */
export function clockStory(of: {
  history: History | undefined
  act: ClockAct | undefined
  asked: readonly AuditEntry[]
  startedAtMs: number | undefined
}): ClockEvent[] {
  const { history, act, asked, startedAtMs } = of
  const events = [
    ...(history ? turns(history) : []),
    ...(history ? silences(history) : []),
    ...asked.flatMap(askedEvent),
  ]
  const actAt = msOf(act?.at)
  if (act && actAt !== undefined)
    events.push({ atMs: actAt, tone: act.result === 'failed' ? 'bad' : 'good', text: capital(actWords(act)) })
  if (startedAtMs !== undefined) events.push({ atMs: startedAtMs, tone: 'quiet', text: 'Started.' })
  return events.toSorted((a, b) => b.atMs - a.atMs).slice(0, MAX_EVENTS)
}

/** The moments at which the word for the offset became another one. */
function turns({ samples }: History): ClockEvent[] {
  const events: ClockEvent[] = []
  let word: ClockWord | undefined
  let leftAt = 0
  for (const { atMs, clockOffsetUs: us } of samples) {
    if (us === undefined) continue
    const next = wordOf(us)
    if (word !== undefined && next !== word) {
      if (word === 'In step') leftAt = atMs
      const after = leftAt > 0 ? ` after ${formatDuration(atMs - leftAt)}` : ''
      events.push(
        next === 'In step'
          ? { atMs, tone: 'good', text: `In step again${after}.` }
          : {
              atMs,
              tone: next === 'Jumped' ? 'bad' : 'warn',
              text: `${next}: ${offsetWords(BigInt(Math.round(us)))}.`,
            },
      )
    }
    word = next
  }
  return events
}

const wordOf = (us: number): ClockWord => guestClockState({ source: 'history', offsetUs: BigInt(Math.round(us)) }).word

function silences(history: History): ClockEvent[] {
  const measured = history.samples.filter(({ clockOffsetUs }) => clockOffsetUs !== undefined)
  const [first, last] = [measured[0], measured.at(-1)]
  if (!first || !last) return []
  return gapsOf({ ...history, samples: measured }, first.atMs, last.atMs).map(({ fromMs, toMs }) => ({
    atMs: fromMs,
    tone: 'unknown',
    text: `Not measured for ${formatDuration(toMs - fromMs)}.`,
  }))
}

/** A person's own re-sync, with what came of it. */
function askedEvent({ action, at, detail, user }: AuditEntry): ClockEvent[] {
  const atMs = msOf(at)
  if (action !== 'vm.set_clock' || atMs === undefined) return []
  const failed = detail['result'] === 'failed'
  const who = user || 'Somebody'
  return [{ atMs, tone: failed ? 'bad' : 'busy', text: `${who} asked for a re-sync${failed ? ', which failed' : ''}.` }]
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, '.')

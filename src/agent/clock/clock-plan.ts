import type { ClockPolicy } from '../../ipc/clock-policy.ts'
import { IN_STEP_MS, JUMPED_MS } from '../../ipc/clock-words.ts'

/** From here on a clock found off is set; less is what a guest's own NTP slews without a step. */
export const OFF_US = JUMPED_MS * 1_000
/** A clock found off again after so many attempts within an hour has a second master: nobody wins by going on. */
export const TRY_LIMIT = 3
export const TRY_WINDOW_MS = 3_600_000

/** Why a guest's clock is looked after now, as on the wire. */
export type ClockCause = 'start' | 'resume' | 'restore' | 'stall' | 'host_wake' | 'offset' | 'asked'

export interface ClockSituation {
  cause: ClockCause
  policy: ClockPolicy
  /** Guest minus host; undefined = nothing in the guest answers. */
  offsetUs: number | undefined
  uncertaintyUs: number
  /** Of the host's own clock; '' = nobody tells. */
  host: string
  /** Attempts within the last hour because it was found off. */
  triedLately: number
}

/** What is done about it; `orElse` where that does not bring it right. */
export type ClockPlan =
  | { act: 'set_time'; orElse: 'chrony_burst' | 'none' }
  | { act: 'chrony_burst'; orElse: 'set_time' | 'none' }
  | { act: 'none'; result: 'done' | 'failed'; detail: string }

export const NOBODY_ANSWERS = 'Nothing in the guest answers: no guest agent is installed there, or it does not run.'

const LEFT: Partial<Record<ClockPolicy, string>> = {
  none: 'Its clock policy is "none": it is only measured.',
  'windows-domain': 'Its domain keeps this clock, so the host does not set it.',
}

/** One authority per guest. Total; undefined = nothing is to be done, nor worth a word. */
export function planClock(at: ClockSituation): ClockPlan | undefined {
  const { cause, policy, offsetUs, uncertaintyUs } = at
  const none = (result: 'done' | 'failed', detail: string): ClockPlan => ({ act: 'none', result, detail })
  const leftTo = LEFT[policy]
  if (leftTo !== undefined)
    return cause === 'offset' || cause === 'start' ? undefined : none(cause === 'asked' ? 'failed' : 'done', leftTo)
  if (offsetUs === undefined) return none('failed', NOBODY_ANSWERS)
  const least = Math.abs(offsetUs) - uncertaintyUs
  if (cause === 'offset') return planFoundOff(at, least)
  if (cause === 'start') return planStarted(at, least)
  if (cause !== 'asked' && least < IN_STEP_MS * 1_000) return none('done', 'It was in step; nothing was set.')
  return means(policy)
}

/** A hardware clock tells whole seconds: a guest begins with the host's time less what was left of one. */
function planStarted({ policy }: ClockSituation, least: number): ClockPlan | undefined {
  return least < IN_STEP_MS * 1_000 || policy === 'network' ? undefined : { act: 'set_time', orElse: 'none' }
}

/** Found off by a look: whether the host or the guest is wrong is not known, so the host has to be worth following. */
function planFoundOff({ policy, host, triedLately }: ClockSituation, least: number): ClockPlan | undefined {
  if (least < OFF_US) return undefined
  if (triedLately >= TRY_LIMIT)
    return {
      act: 'none',
      result: 'failed',
      detail: `It was found off ${triedLately} times within an hour, whatever was done: something else sets this clock too, or keeps it wrong.`,
    }
  if (policy === 'auto' && host === 'not_synchronised') return { act: 'chrony_burst', orElse: 'set_time' }
  return means(policy)
}

function means(policy: ClockPolicy): ClockPlan {
  if (policy === 'network') return { act: 'chrony_burst', orElse: 'none' }
  return { act: 'set_time', orElse: policy === 'windows-standalone' ? 'none' : 'chrony_burst' }
}

/** Whether an attempt brought the guest to its host's time. */
export const isSet = (offsetUs: number): boolean => Math.abs(offsetUs) < OFF_US

import { formatDuration } from '../../lib/format.ts'

const HOUR_S = 3600
const DAY_S = 24 * HOUR_S

/** What a tenant without a grace of its own has. */
export const DEFAULT_GRACE_S = 7 * DAY_S

const GRACES = [HOUR_S, DAY_S, 2 * DAY_S, DEFAULT_GRACE_S, 14 * DAY_S, 30 * DAY_S, 90 * DAY_S]
const DAYS = [30, 90, 365, 3 * 365]

export const graceWords = (s: number): string => (s === 0 ? 'no quarantine' : formatDuration(s * 1000))

/** What a VM deleted from now on has, and what stays. */
export function graceEffect(s: number): string {
  const now =
    s === 0
      ? 'A VM deleted from now on is destroyed at once, and nothing brings it back.'
      : `A VM deleted from now on can be brought back for ${graceWords(s)}.`
  return `${now} Those in quarantine keep the time they have.`
}

/** Seconds to choose from, one that is set by other means among them. */
export const graceChoices = (current: number): number[] =>
  [...new Set([...GRACES, 0, current])].sort((a, b) => (a === 0 ? 1 : b === 0 ? -1 : a - b))

export const retentionWords = (days: number): string => {
  if (days === 0) return 'for ever'
  return days % 365 === 0 && days > 365 ? `${days / 365} years` : days === 365 ? '1 year' : `${days} days`
}

/** Days to choose from, with the one that is set. */
export const retentionChoices = (current: number): number[] =>
  [...new Set([...DAYS, 0, current])].sort((a, b) => (a === 0 ? 1 : b === 0 ? -1 : a - b))

/** Whether entries go that would have stayed: those cannot come back. */
export const isShorter = (next: number, current: number): boolean => next !== 0 && (current === 0 || next < current)

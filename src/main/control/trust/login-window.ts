/** How long a person's certificate is good. */
export const LOGIN_MS = 30 * 60_000
/** It begins this long ago: clocks differ, and so do their roundings. */
export const BACKDATED_MS = 60_000
/** A guest that is behind is met by this much. Good in the past costs nothing. */
const MOST_BEHIND_MS = 24 * 3600_000
/** A guest that is ahead is met by this much: so much longer the certificate is good everywhere else. */
const MOST_AHEAD_MS = 3600_000

export interface LoginWindow {
  validAfter: Date
  validBefore: Date
  /** The guest's clock is further off than certificates are made for: it refuses this one. */
  beyond: boolean
}

/**
 * When a certificate is good, by this computer's clock: half an hour from now, and half an hour by the clock of the guest
 * it is for as far as that is known. `offsetMs` = guest minus this computer.
 */
export function loginWindow(now: number, offsetMs = 0): LoginWindow {
  const behind = Math.max(-MOST_BEHIND_MS, Math.min(0, offsetMs))
  const ahead = Math.min(MOST_AHEAD_MS, Math.max(0, offsetMs))
  const after = wholeSeconds(now + behind - BACKDATED_MS)
  const before = wholeSeconds(now + ahead + LOGIN_MS)
  const there = now + offsetMs
  return { validAfter: new Date(after), validBefore: new Date(before), beyond: there < after || there >= before }
}

/** What a certificate can say. */
const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000

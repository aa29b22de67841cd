import type { Clock } from '../../ipc/base/clock.ts'
import type { GuestAgent } from '../guest/guest-agent.ts'

/** The host's wall clock moved this much in mid-measurement: the measurement says nothing. */
const STEP_MS = 50
/** Good enough to stop measuring. */
const GOOD_US = 20_000
const TRIES = 3
/** The wall clock is read in whole milliseconds. */
const RESOLUTION_US = 1_000

/** A guest's clock against its host's: guest minus host, known within `uncertaintyUs`. */
export interface Measurement {
  offsetUs: number
  uncertaintyUs: number
  /** Wall clock of the host, ms. */
  at: number
}

/** What is asked of a guest agent here. */
export type TimedAgent = Pick<GuestAgent, 'execute' | 'time' | 'exec'>

/** The best of up to three looks. Raises GuestAgentError when the guest does not answer. */
export async function measureGuest(agent: TimedAgent, clock: Clock, signal?: AbortSignal): Promise<Measurement> {
  // Opens the connection, which is no part of the round trip.
  await agent.execute('guest-ping', undefined, signal)
  let best: Measurement | undefined
  for (let tries = 0; tries < TRIES; tries++) {
    const wall = clock.now()
    const began = clock.monotonic()
    const ns = await agent.time(signal)
    const tripMs = clock.monotonic() - began
    if (Math.abs(clock.now() - wall - tripMs) > STEP_MS) continue
    const uncertaintyUs = Math.round(tripMs * 500) + RESOLUTION_US
    if (best === undefined || uncertaintyUs < best.uncertaintyUs)
      best = { offsetUs: Math.round(ns / 1000 - (wall + tripMs / 2) * 1000), uncertaintyUs, at: wall }
    if (best.uncertaintyUs <= GOOD_US) break
  }
  if (best === undefined) throw new Error("this host's own clock was set while the guest's was measured")
  return best
}

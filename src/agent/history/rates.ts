/** Counters that only grow, and when they were read; undefined = not measured. */
export interface Counters {
  diskRead?: bigint | undefined
  diskWritten?: bigint | undefined
  netRx?: bigint | undefined
  netTx?: bigint | undefined
  atMs: number
}

/** Two looks further apart than this have something between them nobody saw: a sleep, an agent that did not run. */
export const WIDEST_MS = 35_000

/** Bytes a second between two looks. What went back was begun anew: nothing is known of that time, which is not zero. */
export function ratesOf(before: Counters | undefined, now: Counters) {
  const elapsedMs = before ? now.atMs - before.atMs : 0
  if (!before || elapsedMs <= 0 || elapsedMs > WIDEST_MS) return {}
  const rate = (then: bigint | undefined, value: bigint | undefined): number | undefined =>
    then === undefined || value === undefined || value < then ? undefined : (Number(value - then) * 1000) / elapsedMs
  return {
    diskReadBps: rate(before.diskRead, now.diskRead),
    diskWriteBps: rate(before.diskWritten, now.diskWritten),
    netRxBps: rate(before.netRx, now.netRx),
    netTxBps: rate(before.netTx, now.netTx),
  }
}

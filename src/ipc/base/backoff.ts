/** Full jitter: a delay between the floor and an exponentially rising ceiling, ms. `attempt` counts failures from 0. */
export function fullJitterMs(
  attempt: number,
  {
    floorMs = 500,
    capMs = 30_000,
    random = Math.random,
  }: { floorMs?: number; capMs?: number; random?: () => number } = {},
): number {
  const ceiling = Math.min(capMs, floorMs * 2 ** Math.min(attempt + 1, 20))
  return Math.round(floorMs + random() * (ceiling - floorMs))
}

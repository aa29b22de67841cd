import { useSyncExternalStore } from 'react'

/** One moment pointed at in all charts of a group, which goes on being that moment while newer samples come; undefined = none. */
export interface Crosshair {
  at: () => number | undefined
  move: (atMs: number | undefined) => void
  subscribe: (listener: () => void) => () => void
}

export function createCrosshair(): Crosshair {
  let current: number | undefined
  const listeners = new Set<() => void>()
  return {
    at: () => current,
    move(atMs) {
      if (atMs === current) return
      current = atMs
      for (const tell of listeners) tell()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export const useCrosshair = (crosshair: Crosshair): number | undefined =>
  useSyncExternalStore(crosshair.subscribe, crosshair.at)

/** The sample nearest to a moment; -1 = there is none. Samples are in order. */
export function nearest(samples: readonly { atMs: number }[], atMs: number): number {
  let [low, high] = [0, samples.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (samples[middle]!.atMs <= atMs) low = middle
    else high = middle
  }
  const [before, after] = [samples[low], samples[high]]
  if (!before || !after) return -1
  return Math.abs(after.atMs - atMs) < Math.abs(atMs - before.atMs) ? high : low
}

import { useSyncExternalStore } from 'react'

/** One moment pointed at in all charts of a group at the same time; undefined = none. */
export interface Crosshair {
  index: () => number | undefined
  move: (index: number | undefined) => void
  subscribe: (listener: () => void) => () => void
}

export function createCrosshair(): Crosshair {
  let current: number | undefined
  const listeners = new Set<() => void>()
  return {
    index: () => current,
    move(index) {
      if (index === current) return
      current = index
      for (const tell of listeners) tell()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export const useCrosshair = (crosshair: Crosshair): number | undefined =>
  useSyncExternalStore(crosshair.subscribe, crosshair.index)

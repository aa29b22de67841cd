import { useSyncExternalStore } from 'react'

let current = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) current = Date.now()
  timer ??= setInterval(() => {
    if (document.hidden) return
    current = Date.now()
    for (const tell of listeners) tell()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || timer === undefined) return
    clearInterval(timer)
    timer = undefined
  }
}

/** What is made of the time; renders again only when that changed, not with every second. */
export const useNowAs = <T extends string | number | undefined>(made: (nowMs: number) => T): T =>
  useSyncExternalStore(subscribe, () => made(current))

const MINUTE_MS = 60_000

/** The time in whole minutes. */
export const useMinute = (): number => useNowAs((now) => Math.floor(now / MINUTE_MS) * MINUTE_MS)

/** The time, moving once a second, from one timer for the whole window; it rests while nothing shows an age. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => current)
}

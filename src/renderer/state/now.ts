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

/** The time, moving once a second, from one timer for the whole window; it rests while nothing shows an age. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => current)
}

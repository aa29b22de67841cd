import { useState } from 'react'

/** One act at a time: whether it runs, and what starts it. */
export function useRunning(act: () => Promise<void>): [running: boolean, run: () => void] {
  const [running, setRunning] = useState(false)
  const run = () => {
    if (running) return
    setRunning(true)
    void act().finally(() => setRunning(false))
  }
  return [running, run]
}

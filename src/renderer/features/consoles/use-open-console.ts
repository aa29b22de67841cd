import { useEffect, useState, useSyncExternalStore } from 'react'
import type { ConsoleState, SessionTarget } from './console-session.ts'
import { consoleOf, type OpenConsole, unseen, type ViewNotes } from './open-consoles.ts'

/** The console of a pane, made after its first paint. */
export function useOpenConsole(key: string, target: SessionTarget): OpenConsole | undefined {
  const [console, setConsole] = useState<OpenConsole>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says which target
  useEffect(() => {
    setConsole(consoleOf(key, target))
    return () => unseen(key)
  }, [key])
  return console?.key === key ? console : undefined
}

const nothing = () => () => undefined

export const useConsoleState = (console: OpenConsole | undefined): ConsoleState | undefined =>
  useSyncExternalStore(
    (tell) => console?.session.subscribe(tell) ?? nothing(),
    () => console?.session.state,
  )

export const useConsoleNotes = (console: OpenConsole | undefined): ViewNotes | undefined =>
  useSyncExternalStore(
    (tell) => console?.subscribeNotes(tell) ?? nothing(),
    () => console?.notes,
  )

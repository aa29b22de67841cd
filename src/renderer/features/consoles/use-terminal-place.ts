import { type RefObject, useEffect, useRef } from 'react'
import { usePreferences } from '../../state/preferences.ts'
import { useReadsAloud } from '../../state/screen-reader.ts'
import { type ConsoleKeys, handleConsoleKey } from './console-keys.ts'
import type { OpenConsole } from './open-consoles.ts'

interface Place {
  /** Read at each key, so that it is what is true by then. */
  keys: () => ConsoleKeys
  /** Of a text a person wants to paste. */
  onPaste: (text: string) => void
  /** Something can be typed. */
  cursor: boolean
  /** Takes the keyboard as soon as it is there. */
  autoFocus: boolean
  /** Read by screen readers as the console gets the focus. */
  describedBy: string
}

/** Puts a console into its place for as long as that is shown: its size, its looks, its keys. */
export function useTerminalPlace(console: OpenConsole | undefined, given: Place): RefObject<HTMLDivElement | null> {
  const place = useRef<HTMLDivElement>(null)
  const latest = useRef(given)
  useEffect(() => {
    latest.current = given
  })
  useEffect(() => {
    const home = place.current
    if (!console || !home) return
    home.append(console.host)
    console.fit()
    const { terminal } = console
    const resized = new ResizeObserver(() => console.fit())
    resized.observe(home)
    terminal.attachCustomKeyEventHandler((event) => handleConsoleKey(event, latest.current.keys()))
    const onPaste = (event: ClipboardEvent) => {
      event.preventDefault()
      event.stopPropagation()
      latest.current.onPaste(event.clipboardData?.getData('text/plain') ?? '')
    }
    home.addEventListener('paste', onPaste, true)
    terminal.textarea?.setAttribute('aria-describedby', latest.current.describedBy)
    if (latest.current.autoFocus) terminal.focus()
    return () => {
      resized.disconnect()
      home.removeEventListener('paste', onPaste, true)
      console.host.remove()
    }
  }, [console])
  const looks = usePreferences((p) => p.terminal)
  const screenReader = useReadsAloud()
  const theme = usePreferences((p) => p.theme)
  const { cursor } = given
  // biome-ignore lint/correctness/useExhaustiveDependencies: preferences are read by `dress` itself
  useEffect(() => console?.dress({ cursor }), [console, cursor, looks, screenReader, theme])
  return place
}

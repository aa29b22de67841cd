import { useEffect, useRef } from 'react'
import { usePreferences } from '../state/preferences.ts'

export type KeyMap = Record<string, () => void>

const SEQUENCE_MS = 1200
let pending: { key: string; at: number } | undefined

const TYPING = 'input, textarea, select, [contenteditable=true], .xterm, [role=menu], [role=listbox]'

/** Whether a plain letter belongs to what has the focus, or to a dialog on top, and not to the window. */
function isTaken(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : null
  return target?.closest(TYPING) != null || document.querySelector('[role=dialog], [role=alertdialog]') !== null
}

/** A terminal has its own keys and hands the rest to the guest. */
const isInTerminal = (event: KeyboardEvent) =>
  event.target instanceof Element && event.target.closest('.xterm') !== null

/** `mod+k` for Ctrl or ⌘, the bare key otherwise. */
function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey
  const shift = event.shiftKey && event.key.length > 1
  return `${mod ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${shift ? 'shift+' : ''}${event.key.toLowerCase()}`
}

/** Keys of the window while mounted: `j`, `g h` (one after the other), `mod+k`. Single letters can be switched off. */
export function useKeys(map: KeyMap): void {
  const latest = useRef(map)
  useEffect(() => {
    latest.current = map
  })
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || isInTerminal(event)) return
      const name = nameOf(event)
      const plain = event.key.length === 1 && !name.startsWith('mod+') && !name.startsWith('alt+')
      if (plain && (isTaken(event) || !usePreferences.getState().singleKeys)) return
      const prefix = pending && event.timeStamp - pending.at < SEQUENCE_MS ? `${pending.key} ` : ''
      const run = latest.current[`${prefix}${name}`] ?? (prefix === '' ? latest.current[name] : undefined)
      if (!run) return
      event.preventDefault()
      pending = undefined
      run()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

/** Remembers a `g`, so that the next letter is read with it; forgotten only after every listener saw that letter. Mounted once, by the shell. */
export function useKeyPrefix(prefix: string): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === prefix && !event.ctrlKey && !event.metaKey && !isTaken(event)) {
        pending = { key: prefix, at: event.timeStamp }
      } else if (event.key.length === 1) setTimeout(() => (pending = undefined))
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [prefix])
}

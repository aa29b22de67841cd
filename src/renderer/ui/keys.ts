import { useEffect, useRef } from 'react'
import { usePreferences } from '../state/preferences.ts'
import { defaultKeyOf } from './key-table.ts'

export type KeyMap = Record<string, () => void>

const SEQUENCE_MS = 1200
let pending: { key: string; at: number } | undefined

const TYPING = 'input, textarea, select, [contenteditable=true], .xterm, [role=menu], [role=listbox]'

/** Whether a plain letter belongs to what has the focus, or to a dialog on top, and not to the window. */
function isTaken(event: KeyboardEvent): boolean {
  const target = event.target instanceof Element ? event.target : null
  return target?.closest(TYPING) != null || document.querySelector('[role=dialog], [role=alertdialog]') !== null
}

/** A terminal hands every key to the guest but chords with Ctrl+Shift or ⌘. */
const isOfGuest = (event: KeyboardEvent) =>
  event.target instanceof Element &&
  event.target.closest('.xterm') !== null &&
  !(event.ctrlKey && event.shiftKey) &&
  !event.metaKey

/** `mod+k` for Ctrl or ⌘, the bare key otherwise. Alt is read by where the key is: with it a Mac types other signs. */
function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey
  const digit = event.altKey ? /^Digit(\d)$/.exec(event.code)?.[1] : undefined
  const key = digit ?? (event.key === ' ' ? 'space' : event.key.toLowerCase())
  const shift = event.shiftKey && (event.key.length > 1 || mod)
  return `${mod ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${shift ? 'shift+' : ''}${key}`
}

/** Keys of the window while mounted, by their shipped names: `j`, `g h` (one after the other), `mod+k`. */
export function useKeys(map: KeyMap): void {
  const latest = useRef(map)
  useEffect(() => {
    latest.current = map
  })
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || isOfGuest(event)) return
      const name = nameOf(event)
      const plain = event.key.length === 1 && !name.startsWith('mod+') && !name.startsWith('alt+')
      if (plain && (isTaken(event) || !usePreferences.getState().singleKeys)) return
      const prefix = pending && event.timeStamp - pending.at < SEQUENCE_MS ? `${pending.key} ` : ''
      const meant = (pressed: string) => latest.current[defaultKeyOf(pressed) ?? '']
      const run = meant(`${prefix}${name}`) ?? (prefix === '' ? meant(name) : undefined)
      if (!run) return
      event.preventDefault()
      pending = undefined
      run()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}

/** Alt+1…9: the parts of the object on this page, from the left. */
export function useTabKeys<T extends string>(tabs: readonly T[], show: (tab: T) => void): void {
  useKeys(Object.fromEntries(tabs.slice(0, 9).map((tab, i) => [`alt+${i + 1}`, () => show(tab)])))
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

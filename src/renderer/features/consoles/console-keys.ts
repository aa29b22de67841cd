import { keyText } from '../../ui/key-table.ts'
import type { Direction } from './workspace-layout.ts'

/** What the keys of a console do. A console outside the workspace has no panes: those are absent, and the chords do nothing. */
export interface ConsoleKeys {
  leave: () => void
  find: () => void
  copy: () => void
  paste: () => void
  reconnect: () => void
  actions: () => void
  toggleTab: () => void
  newTab?: () => void
  splitRight?: () => void
  splitDown?: () => void
  closeView?: () => void
  move?: (direction: Direction) => void
  /** Tab and Shift+Tab go to the page instead of the guest. */
  tabLeaves: boolean
}

type Key = Pick<KeyboardEvent, 'type' | 'key' | 'code' | 'ctrlKey' | 'shiftKey' | 'altKey' | 'metaKey'> & {
  preventDefault: () => void
}

/**
 * Which keys are ours inside a console: F6, and chords with Ctrl+Shift or ⌘. Answers whether the guest gets the key.
 * Ctrl+F6 hands a plain F6 to the guest.
 */
export function handleConsoleKey(event: Key, keys: ConsoleKeys): boolean {
  if (event.key === 'F6' && !event.ctrlKey) {
    if (event.type === 'keydown') {
      event.preventDefault()
      keys.leave()
    }
    return false
  }
  // Left to the page, which moves the focus.
  if (event.key === 'Tab' && keys.tabLeaves && !event.ctrlKey && !event.metaKey && !event.altKey) return false
  const ours = (event.ctrlKey && event.shiftKey && !event.altKey) || (event.metaKey && !event.ctrlKey)
  if (!ours) return true
  const run = chord(event.code, keys)
  if (run && event.type === 'keydown') {
    event.preventDefault()
    run()
  }
  return false
}

function chord(code: string, keys: ConsoleKeys): (() => void) | undefined {
  const { move } = keys
  const table: Record<string, (() => void) | undefined> = {
    KeyF: keys.find,
    KeyC: keys.copy,
    KeyV: keys.paste,
    KeyR: keys.reconnect,
    KeyP: keys.actions,
    KeyM: keys.toggleTab,
    KeyT: keys.newTab,
    Backslash: keys.splitRight,
    Minus: keys.splitDown,
    KeyW: keys.closeView,
    ArrowLeft: move && (() => move('left')),
    ArrowRight: move && (() => move('right')),
    ArrowUp: move && (() => move('up')),
    ArrowDown: move && (() => move('down')),
  }
  return Object.hasOwn(table, code) ? table[code] : undefined
}

/** A chord as it is shown: `Ctrl Shift F`, `⌘ F` on a Mac. */
export const chordName = (key: string): string => keyText(`chord+${key}`)

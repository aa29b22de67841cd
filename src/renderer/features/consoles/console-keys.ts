export interface ConsoleKeys {
  leave: () => void
  find: () => void
  copy: () => void
  paste: () => void
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
  const ours = (event.ctrlKey && event.shiftKey && !event.altKey) || (event.metaKey && !event.ctrlKey)
  if (!ours) return true
  const run = { KeyF: keys.find, KeyC: keys.copy, KeyV: keys.paste }[event.code]
  if (run && event.type === 'keydown') {
    event.preventDefault()
    run()
  }
  return false
}

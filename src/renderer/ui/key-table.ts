import { usePreferences } from '../state/preferences.ts'

export interface KeyRow {
  /** Stands for the act wherever a key is remembered. */
  id: string
  text: string
  /** As the app ships it: `n`, `g h` one after the other, `mod+k` for Ctrl or ⌘, `chord+f` for Ctrl+Shift or ⌘. */
  key: string
  /** What else does the same. */
  also?: string
}

export interface KeyGroup {
  title: string
  rows: readonly KeyRow[]
}

/** Every key of the window, for the key sheet, the settings, the palette and the tips. */
export const KEY_TABLE: readonly KeyGroup[] = [
  {
    title: 'Anywhere',
    rows: [
      { id: 'palette', text: 'Search and act', key: 'mod+k' },
      { id: 'filter', text: 'Filter the list', key: '/' },
      { id: 'create-vm', text: 'Create VM', key: 'n' },
      { id: 'region-next', text: 'Next, previous part of the window', key: 'f6', also: 'shift+f6' },
      { id: 'activity-anywhere', text: 'Activity, also from a form', key: 'mod+shift+a' },
      { id: 'back', text: 'Back one layer', key: 'escape' },
      { id: 'keys', text: 'This sheet', key: '?' },
    ],
  },
  {
    title: 'Go to',
    rows: [
      { id: 'go-fleet', text: 'Fleet', key: 'g f' },
      { id: 'go-hosts', text: 'Hosts', key: 'g h' },
      { id: 'go-vms', text: 'VMs', key: 'g v' },
      { id: 'go-consoles', text: 'Consoles', key: 'g c' },
      { id: 'go-images', text: 'Images', key: 'g i' },
      { id: 'go-networks', text: 'Networks', key: 'g n' },
      { id: 'go-ports', text: 'Published ports', key: 'g p' },
      { id: 'go-trust', text: 'Trust', key: 'g t' },
      { id: 'go-clock', text: 'Clock', key: 'g k' },
      { id: 'go-activity', text: 'Activity', key: 'g a' },
      { id: 'go-settings', text: 'Settings', key: 'g ,' },
    ],
  },
  {
    title: 'Tables',
    rows: [
      { id: 'down', text: 'Next row', key: 'j', also: 'arrowdown' },
      { id: 'up', text: 'Previous row', key: 'k', also: 'arrowup' },
      { id: 'open', text: 'Open', key: 'enter' },
      { id: 'details', text: 'Details beside the table', key: 'space' },
      { id: 'select', text: 'Select, up to here with Shift', key: 'x' },
      { id: 'row-actions', text: 'Actions of the row', key: '.' },
    ],
  },
  {
    title: 'An object',
    rows: [
      { id: 'tabs', text: 'Its parts, from the left', key: 'alt+1…9' },
      { id: 'edit', text: 'Edit', key: 'e' },
      { id: 'console', text: 'Console', key: 'c' },
      { id: 'publish', text: 'Publish a port', key: 'p' },
    ],
  },
  {
    title: 'Creating a VM',
    rows: [
      { id: 'create-now', text: 'Create, wherever the caret is', key: 'mod+enter' },
      {
        id: 'finding-next',
        text: 'Next, previous finding; Esc then Tab leaves the editor',
        key: 'f8',
        also: 'shift+f8',
      },
    ],
  },
  {
    title: 'In a console, all other keys go to the guest',
    rows: [
      { id: 'console-leave', text: 'Leave (Ctrl F6 sends F6)', key: 'f6' },
      { id: 'console-tab', text: 'New tab', key: 'chord+t' },
      { id: 'console-split', text: 'Split right, down', key: 'chord+\\', also: 'chord+-' },
      { id: 'console-move', text: 'To another pane', key: 'chord+arrows' },
      { id: 'console-close', text: 'Close the view', key: 'chord+w' },
      { id: 'console-find', text: 'Find', key: 'chord+f' },
      { id: 'console-copy', text: 'Copy, paste', key: 'chord+c', also: 'chord+v' },
      { id: 'console-reconnect', text: 'Connect again', key: 'chord+r' },
      { id: 'console-actions', text: 'Actions', key: 'chord+p' },
      { id: 'console-tab-leaves', text: 'Let Tab leave the console', key: 'chord+m' },
    ],
  },
]

const ROWS: ReadonlyMap<string, KeyRow> = new Map(KEY_TABLE.flatMap(({ rows }) => rows.map((row) => [row.id, row])))

/** A key a person may put another in place of: letters and signs, also two in a row, without Ctrl, Alt or ⌘. */
export const isRemappable = ({ key }: KeyRow): boolean => key.split(' ').every((part) => part.length === 1)

/** The key of an act now: a person's own, else the shipped one. */
export const keyOf = (id: string, own: Readonly<Record<string, string>>): string => own[id] ?? ROWS.get(id)?.key ?? ''

/** The shipped key that what was pressed stands for; undefined when its act was given another key. */
export function shippedKey(pressed: string, own: Readonly<Record<string, string>>): string | undefined {
  let isMoved = false
  for (const [id, key] of Object.entries(own)) {
    const row = ROWS.get(id)
    if (row && key === pressed) return row.key
    if (row?.key === pressed) isMoved = true
  }
  return isMoved ? undefined : pressed
}

/** The act that has a key already, so that giving it away would hide that one; undefined = it is free. */
export function holderOf(key: string, id: string, own: Readonly<Record<string, string>>): KeyRow | undefined {
  for (const row of ROWS.values()) {
    const theirs = keyOf(row.id, own)
    if (row.id !== id && (theirs === key || theirs.startsWith(`${key} `))) return row
  }
  return undefined
}

/** As `shippedKey`, by the keys of the person at this window. */
export const defaultKeyOf = (pressed: string): string | undefined => shippedKey(pressed, usePreferences.getState().keys)

const isMac = () => typeof navigator !== 'undefined' && /mac/i.test(navigator.platform)
const SIGNS: Record<string, string> = {
  arrowdown: '↓',
  arrowup: '↑',
  escape: 'Esc',
  enter: 'Enter',
  space: 'Space',
  shift: 'Shift',
  arrows: '← → ↑ ↓',
}

/** As it is shown: `Ctrl K`, `⌘ K`, `g h`. */
export function keyText(key: string, mac = isMac()): string {
  const words = key.split('+').map((part) => {
    if (part === 'mod') return mac ? '⌘' : 'Ctrl'
    if (part === 'chord') return mac ? '⌘' : 'Ctrl Shift'
    if (part === 'alt') return mac ? '⌥' : 'Alt'
    return SIGNS[part] ?? (part.length === 1 && key.includes('+') ? part.toUpperCase() : part.replace(/^f(?=\d)/, 'F'))
  })
  return words.join(' ')
}

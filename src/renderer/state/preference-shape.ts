export const NOTICE_KINDS = ['task', 'vm-crashed', 'host-lost', 'deadline', 'clock-jump', 'quarantine'] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]

export interface TerminalPreferences {
  fontSize: number
  /** Empty = the one the app brings. */
  fontFamily: string
  theme: 'dark' | 'light' | 'app' | 'high-contrast'
  /** Of text against its background; 1 = as the guest says. */
  minimumContrast: 1 | 4.5 | 7
  /** Ask before more than one line, or control bytes, are pasted. */
  pasteGuard: boolean
  /** Whether typing into several consoles at once may be switched on at all. */
  broadcast: boolean
  timestamps: boolean
  /** Lines kept above the screen of each console. */
  scrollback: number
}

export interface NoticePreferences {
  /** Also as notifications of the operating system, where the app runs as a desktop app. */
  os: boolean
  kinds: Record<NoticeKind, boolean>
  /** Local times; `from` after `to` means over midnight. */
  quiet: { on: boolean; from: string; to: string }
}

export interface SavedView {
  name: string
  filter: string
}

export interface Preferences {
  theme: 'system' | 'light' | 'dark'
  contrast: 'system' | 'high'
  density: 'comfortable' | 'compact'
  singleKeys: boolean
  /** What a person put in place of a key, by the id of the act. Empty = none. */
  keys: Readonly<Record<string, string>>
  /** `auto` = as the system says. */
  screenReader: 'auto' | 'on' | 'off'
  /** VMs under each other, or under their hosts. */
  vmsView: 'list' | 'tree'
  /** `auto` = open where there is room. */
  rail: 'auto' | 'open' | 'narrow'
  /** Pixels. */
  drawerWidth: number
  terminal: TerminalPreferences
  notices: NoticePreferences
  /** Saved filters by list. */
  views: Readonly<Record<string, readonly SavedView[]>>
  /** Hints that were dismissed for good. */
  dismissed: readonly string[]
}

export const DRAWER_WIDTH = { least: 280, most: 720 }
export const FONT_SIZE = { least: 8, most: 32 }
export const SCROLLBACK = { least: 1000, most: 100_000 }
export const MAX_VIEWS = 20
const MAX_KEYS = 64
const MAX_DISMISSED = 100
const MAX_TEXT = 300

export const DEFAULT_PREFERENCES: Preferences = {
  theme: 'system',
  contrast: 'system',
  density: 'comfortable',
  singleKeys: true,
  keys: {},
  screenReader: 'auto',
  vmsView: 'list',
  rail: 'auto',
  drawerWidth: 380,
  terminal: {
    fontSize: 13,
    fontFamily: '',
    theme: 'dark',
    minimumContrast: 4.5,
    pasteGuard: true,
    broadcast: true,
    timestamps: false,
    scrollback: 10_000,
  },
  notices: {
    os: true,
    kinds: {
      task: true,
      'vm-crashed': true,
      'host-lost': true,
      deadline: true,
      'clock-jump': true,
      quarantine: true,
    },
    quiet: { on: false, from: '22:00', to: '07:00' },
  },
  views: {},
  dismissed: [],
}

type Read<T> = (stored: unknown, fallback: T) => T

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const flag: Read<boolean> = (stored, fallback) => (typeof stored === 'boolean' ? stored : fallback)
const text: Read<string> = (stored, fallback) =>
  typeof stored === 'string' && stored.length <= MAX_TEXT ? stored : fallback
const time: Read<string> = (stored, fallback) =>
  typeof stored === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(stored) ? stored : fallback

const oneOf =
  <T>(...values: readonly T[]): Read<T> =>
  (stored, fallback) =>
    values.find((v) => v === stored) ?? fallback

const within =
  ({ least, most }: { least: number; most: number }): Read<number> =>
  (stored, fallback) =>
    typeof stored === 'number' && stored >= least && stored <= most ? Math.round(stored) : fallback

/** A group of fields, each of which falls back alone. */
const group =
  <T extends object>(fields: { [K in keyof T]: Read<T[K]> }): Read<T> =>
  (stored, fallback) => {
    const from = isObject(stored) ? stored : {}
    const read = Object.keys(fields).map((name) => {
      const key = name as keyof T
      return [name, fields[key](from[name], fallback[key])]
    })
    return Object.fromEntries(read) as T
  }

const keys: Read<Preferences['keys']> = (stored) =>
  Object.fromEntries(
    Object.entries(isObject(stored) ? stored : {})
      .filter((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1].length <= MAX_TEXT)
      .slice(0, MAX_KEYS),
  )

const isView = (value: unknown): value is SavedView =>
  isObject(value) &&
  typeof value['name'] === 'string' &&
  typeof value['filter'] === 'string' &&
  value['name'].length <= MAX_TEXT &&
  value['filter'].length <= MAX_TEXT

const views: Read<Preferences['views']> = (stored) =>
  Object.fromEntries(
    Object.entries(isObject(stored) ? stored : {}).map(([list, kept]) => [
      list,
      (Array.isArray(kept) ? kept.filter(isView) : []).slice(0, MAX_VIEWS),
    ]),
  )

const words: Read<readonly string[]> = (stored) =>
  (Array.isArray(stored) ? stored.filter((w): w is string => typeof w === 'string') : []).slice(-MAX_DISMISSED)

const readerModes = oneOf<Preferences['screenReader']>('auto', 'on', 'off')
/** It was a flag once, off where nobody had chosen. */
const reader: Read<Preferences['screenReader']> = (stored, fallback) =>
  stored === true ? 'on' : readerModes(stored, fallback)

const readAll = group<Preferences>({
  theme: oneOf('system', 'light', 'dark'),
  contrast: oneOf('system', 'high'),
  density: oneOf('comfortable', 'compact'),
  singleKeys: flag,
  keys,
  screenReader: reader,
  vmsView: oneOf('list', 'tree'),
  rail: oneOf('auto', 'open', 'narrow'),
  drawerWidth: within(DRAWER_WIDTH),
  terminal: group<TerminalPreferences>({
    fontSize: within(FONT_SIZE),
    fontFamily: text,
    theme: oneOf('dark', 'light', 'app', 'high-contrast'),
    minimumContrast: oneOf(1, 4.5, 7),
    pasteGuard: flag,
    broadcast: flag,
    timestamps: flag,
    scrollback: within(SCROLLBACK),
  }),
  notices: group<NoticePreferences>({
    os: flag,
    kinds: group<Record<NoticeKind, boolean>>({
      task: flag,
      'vm-crashed': flag,
      'host-lost': flag,
      deadline: flag,
      'clock-jump': flag,
      quarantine: flag,
    }),
    quiet: group<NoticePreferences['quiet']>({ on: flag, from: time, to: time }),
  }),
  views,
  dismissed: words,
})

/** What was stored, whatever wrote it: each value that is none of ours is the default, the others stand. */
export function readPreferences(stored: string | null): Preferences {
  return readAll(parsed(stored), DEFAULT_PREFERENCES)
}

function parsed(stored: string | null): unknown {
  try {
    return JSON.parse(stored ?? '{}')
  } catch {
    return {}
  }
}

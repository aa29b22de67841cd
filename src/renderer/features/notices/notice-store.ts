import { create } from 'zustand'
import { useShallow } from 'zustand/react/shallow'
import { keep, readKept } from '../../state/kept.ts'
import { NOTICE_KINDS } from '../../state/preference-shape.ts'
import { type Marks, NO_MARKS } from './marks.ts'
import { MAX_ITEMS, MAX_NOTICES, MAX_TOLD, type Notice, type NoticeItem, type Told } from './notice-list.ts'

const KEY = 'eitri.notices'

interface Kept {
  notices: readonly Notice[]
  /** Undefined until the first fleet of this app was seen. */
  told: Told | undefined
}

export const useNotices = create<Kept & { marks: Marks }>(() => ({
  ...readNotices(readKept(KEY), Date.now()),
  marks: NO_MARKS,
}))

export const useMarks = (): Marks => useNotices(useShallow((s) => s.marks))

/** What was kept; anything that is no notice is left out. What was told holds as of now, since nobody judged meanwhile. */
export function readNotices(stored: string | null, nowMs: number): Kept {
  try {
    const { notices, told } = JSON.parse(stored ?? '{}') as { notices?: unknown; told?: unknown }
    return {
      notices: (Array.isArray(notices) ? notices.filter(isNotice) : []).slice(0, MAX_NOTICES),
      told: Array.isArray(told)
        ? new Map(
            told
              .filter(isText)
              .slice(-MAX_TOLD)
              .map((key) => [key, nowMs]),
          )
        : undefined,
    }
  } catch {
    return { notices: [], told: undefined }
  }
}

const LAST_MS = 8.64e15
const isText = (value: unknown): value is string => typeof value === 'string'

function isNotice(value: unknown): value is Notice {
  const { id, kind, tone, at, read, items } = (value ?? {}) as Partial<Notice>
  return (
    isText(id) &&
    (kind === 'fault' || NOTICE_KINDS.some((known) => known === kind)) &&
    (tone === 'bad' || tone === 'warn' || tone === 'good') &&
    typeof at === 'number' &&
    Math.abs(at) <= LAST_MS &&
    typeof read === 'boolean' &&
    Array.isArray(items) &&
    items.length <= MAX_ITEMS &&
    items.every(isItem)
  )
}

function isItem(value: unknown): value is NoticeItem {
  const { subject, title, text, address } = (value ?? {}) as Partial<NoticeItem>
  return [subject, title, text, address].every(isText)
}

export function keepNotices(change: Partial<Kept>): void {
  useNotices.setState(change)
  const { notices, told } = useNotices.getState()
  keep(KEY, JSON.stringify({ notices, ...(told ? { told: [...told.keys()] } : {}) }))
}

export const readAllNotices = (): void =>
  keepNotices({ notices: useNotices.getState().notices.map((n) => (n.read ? n : { ...n, read: true })) })

export const clearNotices = (): void => keepNotices({ notices: [] })

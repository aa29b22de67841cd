import { create } from 'zustand'
import { useShallow } from 'zustand/react/shallow'
import { keep, readKept } from '../../state/kept.ts'
import { type Marks, NO_MARKS } from './marks.ts'
import { MAX_NOTICES, type Notice, type Told } from './notice-list.ts'

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
      told: Array.isArray(told) ? new Map(told.map((key) => [String(key), nowMs])) : undefined,
    }
  } catch {
    return { notices: [], told: undefined }
  }
}

const isNotice = (value: unknown): value is Notice => {
  const { id, kind, at, items } = (value ?? {}) as Partial<Notice>
  return typeof id === 'string' && typeof kind === 'string' && typeof at === 'number' && Array.isArray(items)
}

export function keepNotices(change: Partial<Kept>): void {
  useNotices.setState(change)
  const { notices, told } = useNotices.getState()
  keep(KEY, JSON.stringify({ notices, ...(told ? { told: [...told.keys()] } : {}) }))
}

export const readAllNotices = (): void =>
  keepNotices({ notices: useNotices.getState().notices.map((n) => (n.read ? n : { ...n, read: true })) })

export const clearNotices = (): void => keepNotices({ notices: [] })

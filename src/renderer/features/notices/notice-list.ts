import { plural } from '../../lib/format.ts'
import type { NoticeKind, NoticePreferences } from '../../state/preference-shape.ts'
import type { Cause } from './causes.ts'

export interface NoticeItem {
  subject: string
  title: string
  text: string
  address: string
}

/** Something that happened, kept in the bell until it is cleared. Several of one kind at one time are one notice. */
export interface Notice {
  id: string
  /** `fault` = an act of the person that went wrong. */
  kind: NoticeKind | 'fault'
  tone: 'bad' | 'warn' | 'good'
  /** Ms since the epoch. */
  at: number
  read: boolean
  items: readonly NoticeItem[]
}

export const MAX_NOTICES = 200
export const MAX_ITEMS = 50
export const MAX_TOLD = 2000
/** Of one kind, within this time and unread: one notice. */
const TOGETHER_MS = 60_000
/** A cause that was gone for so long is a new one when it comes again. */
const FORGET_MS = 10 * 60_000

/** When each cause was last seen to hold, so that none is told twice. */
export type Told = ReadonlyMap<string, number>

/** Causes nobody was told of yet, and what is told from now on. Without a memory it is the first run: all is known already. */
export function newCauses(told: Told | undefined, causes: readonly Cause[], nowMs: number) {
  const fresh = told === undefined ? [] : causes.filter(({ key }) => !told.has(key))
  const kept = [...(told ?? [])].filter(([, at]) => nowMs - at < FORGET_MS)
  const next = new Map([...kept, ...causes.map(({ key }): [string, number] => [key, nowMs])])
  return { fresh, told: new Map([...next].slice(-MAX_TOLD)) as Told }
}

const WORST = ['bad', 'warn', 'good'] as const

/** Newest first. Those of one kind that come together are told together. */
export function addNotices(known: readonly Notice[], causes: readonly Cause[], nowMs: number): readonly Notice[] {
  let list = [...known]
  for (const { kind, tone, key, subject, title, text, address } of causes) {
    const item = { subject, title, text, address }
    const open = list.find((n) => n.kind === kind && !n.read && nowMs - n.at < TOGETHER_MS)
    if (!open) list = [{ id: key, kind, tone, at: nowMs, read: false, items: [item] }, ...list]
    else {
      const worst = WORST.find((t) => t === tone || t === open.tone) ?? tone
      const items = [...open.items, item].slice(-MAX_ITEMS)
      list = list.map((n) => (n === open ? { ...open, tone: worst, items } : n))
    }
  }
  return list.slice(0, MAX_NOTICES)
}

const GROUP_TITLES: Record<Notice['kind'], (n: number) => string> = {
  task: (n) => `${plural(n, 'task')} ended`,
  'vm-crashed': (n) => `${plural(n, 'VM')} crashed`,
  'host-lost': (n) => `${plural(n, 'host')} lost`,
  deadline: (n) => `${plural(n, 'key or certificate ends', 'keys and certificates end')} soon`,
  'clock-jump': (n) => `${plural(n, 'clock')} jumped`,
  quarantine: (n) => `${plural(n, 'VM is', 'VMs are')} destroyed within a day`,
  fault: (n) => `${plural(n, 'act')} went wrong`,
}

export function noticeTitle({ kind, items }: Notice): string {
  const [only] = items
  return items.length === 1 && only ? only.title : GROUP_TITLES[kind](items.length)
}

/** The rest of it in one or two sentences, for a notification of the operating system. */
export function noticeText({ items }: Notice): string {
  const [only] = items
  return items.length === 1 && only ? only.text : items.map(({ subject }) => subject).join(', ')
}

/** Whether a moment is within the quiet hours, by the local clock; `from` after `to` goes over midnight. */
export function isQuiet({ on, from, to }: NoticePreferences['quiet'], at: Date): boolean {
  if (!on || from === to) return false
  const now = `${`${at.getHours()}`.padStart(2, '0')}:${`${at.getMinutes()}`.padStart(2, '0')}`
  return from < to ? now >= from && now < to : now >= from || now < to
}

import { lookup } from '../../../ipc/base/lookup.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { type FilterRecord, type FilterTerm, matchesFilter } from '../../lib/filter.ts'
import { formatDay } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { resultState } from './result.ts'
import { auditSentence } from './view-model.ts'

/** What things are called now; one that is gone has its id. */
export interface Names {
  vm(id: string): string | undefined
  host(id: string): string | undefined
}

const CLIENTS: Record<string, string> = {
  app: 'the app',
  cli: 'the command line',
  mcp: 'a model',
  api: 'a program',
  eitri: 'Eitri itself',
}

/** `ada, from the app`; an entry nobody asked for came by itself. */
export function whoWords({ user, client }: Pick<AuditEntry, 'user' | 'client'>): string {
  const from = client === 'eitri' ? '' : (lookup(CLIENTS, client) ?? client)
  if (user === '' || client === 'eitri') return client === '' ? 'not kept' : 'by itself'
  return printable(from === '' ? user : `${user}, from ${from}`)
}

export interface EntryWords {
  text: string
  more: string
}

/** The sentence of an entry, with names as they are now. */
export function entryWords(entry: AuditEntry, names: Names): EntryWords {
  const vm = entry.detail['name'] ?? names.vm(entry.vmId)
  return auditSentence(entry, { vm, host: names.host(entry.hostId) })
}

/** What a filter looks at. */
function entryRecord(entry: AuditEntry, names: Names): FilterRecord {
  const { text, more } = entryWords(entry, names)
  return {
    vm: `${names.vm(entry.vmId) ?? ''} ${entry.detail['name'] ?? ''} ${entry.vmId}`,
    host: `${names.host(entry.hostId) ?? ''} ${entry.hostId}`,
    action: entry.action,
    client: `${entry.client} ${lookup(CLIENTS, entry.client) ?? ''}`,
    user: entry.user,
    request: entry.requestId,
    result: `${entry.result} ${resultState(entry)?.word ?? ''}`,
    said: `${text} ${more} ${entry.before} ${entry.after}`,
  }
}

export const matching = (entries: readonly AuditEntry[], terms: readonly FilterTerm[], names: Names): AuditEntry[] =>
  terms.length === 0 ? [...entries] : entries.filter((entry) => matchesFilter(entryRecord(entry, names), terms))

export interface Day {
  title: string
  entries: AuditEntry[]
}

/** Entries under the local day they were written on, in the order they came. */
export function byDay(entries: readonly AuditEntry[], nowMs: number): Day[] {
  const days: Day[] = []
  for (const entry of entries) {
    const title = dayTitle(new Date(msOf(entry.at) ?? 0), new Date(nowMs))
    const last = days.at(-1)
    if (last?.title === title) last.entries.push(entry)
    else days.push({ title, entries: [entry] })
  }
  return days
}

function dayTitle(at: Date, now: Date): string {
  const yesterday = new Date(now)
  yesterday.setDate(now.getDate() - 1)
  if (at.toDateString() === now.toDateString()) return 'Today'
  if (at.toDateString() === yesterday.toDateString()) return 'Yesterday'
  return at.getFullYear() === now.getFullYear() ? formatDay(at) : `${formatDay(at)} ${at.getFullYear()}`
}

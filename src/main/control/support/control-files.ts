import type { AuditRow } from '../store/audit-store.ts'
import { type BundleText, facts, fileOf } from './bundle-file.ts'
import type { Labels } from './labels.ts'
import type { Redactor } from './redactor.ts'

/** This control plane, as it is told elsewhere. */
export interface AboutFacts {
  version: string
  platform: string
  arch: string
  node: string
  osRelease: string
  /** Ms this process has run. */
  upMs: number
  memoryBytes: number
  /** How many processors this computer has. */
  cpus: number
  /** A keychain of the desktop, or none. */
  keychain: boolean
  /** Whether the data folder is where it is by default. */
  defaultFolder: boolean
  now: Date
}

export interface StoreFacts {
  schema: number
  sizeBytes: number
  problem: string
  readOnlyReason: string
  lost: number
  copies: number
  writes: number
  hostsAhead: number
  /** Things of the tenant by kind. */
  rows: Record<string, number>
  auditDays: number
}

/** What this app is and runs on. */
export const aboutFile = (labels: Labels, about: AboutFacts): Promise<BundleText> =>
  fileOf(labels, 'about.txt', 'This app and the computer it runs on: versions and sizes.', (r) => [
    'Eitri',
    ...facts({
      ...{
        version: r.version(about.version),
        made: about.now.toISOString(),
        'up for s': Math.round(about.upMs / 1000),
      },
      ...{
        platform: about.platform,
        arch: about.arch,
        node: r.version(about.node),
        kernel: /^\d{1,3}(\.\d{1,4}){1,2}/.exec(about.osRelease)?.[0],
      },
      ...{ processors: about.cpus, 'memory of this process': about.memoryBytes, keychain: about.keychain },
      'data folder': about.defaultFolder ? 'the default one' : 'one that was chosen',
    }),
    '',
    'Names, addresses, users and keys have labels, such as host-1, that mean the same in every file.',
    'Of sentences only numbers and words that this app itself uses are left; [text], [secret] stand for the rest.',
    'Passwords, private keys, tokens, user-data and what consoles showed are never read for a bundle.',
  ])

/** The store without its contents, and what is set here. */
export const storeFile = (labels: Labels, store: StoreFacts): Promise<BundleText> =>
  fileOf(labels, 'store-and-settings.txt', 'The store without its contents, and settings of this app.', (r) => [
    'store',
    ...facts({
      ...{ schema: store.schema, bytes: store.sizeBytes, problem: r.sentence(store.problem) },
      ...{ 'read-only because': r.sentence(store.readOnlyReason), 'parts not read': store.lost, copies: store.copies },
      ...{ 'rows written since start': store.writes, 'hosts with newer data': store.hostsAhead },
    }),
    'holds',
    ...facts(store.rows),
    'settings',
    ...facts({ 'audit kept, days': store.auditDays === 0 ? 'for ever' : store.auditDays }),
  ])

const ACTION = /^[a-z]{1,20}(_[a-z]{1,20})*\.[a-z]{1,20}(_[a-z]{1,20}){0,4}$/
const CLIENTS = ['app', 'cli', 'mcp', 'api', 'eitri']

/** Who did what, newest first: what was changed by its field, not by its value. */
export const auditFile = (labels: Labels, rows: readonly AuditRow[]): Promise<BundleText> =>
  fileOf(labels, 'audit.txt', 'The newest entries of the trail: what was asked, not with which values.', (r) =>
    rows.map((row) =>
      [
        row.at.toISOString(),
        ACTION.test(row.action) ? row.action : r.out('text'),
        row.vmId && r.label('vm', row.vmId),
        row.hostId && r.label('host', row.hostId),
        row.user && `by ${r.label('user', row.user)}`,
        row.client && `from ${r.word(row.client, CLIENTS)}`,
        row.requestId && r.label('request', row.requestId),
        changedNames(r, row),
      ]
        .filter(Boolean)
        .join(' '),
    ),
  )

function changedNames(r: Redactor, { before, after, detail }: AuditRow): string {
  const names = new Set([...namesIn(before), ...namesIn(after)])
  const values = Object.keys(detail).length
  if (values > 0) r.out('text', values)
  return names.size === 0 ? '' : `changed ${[...names].map((name) => r.sentence(name.replaceAll('_', ' '))).join(', ')}`
}

function namesIn(json: string): string[] {
  try {
    const value: unknown = JSON.parse(json || '{}')
    return typeof value === 'object' && value !== null ? Object.keys(value) : []
  } catch {
    return []
  }
}

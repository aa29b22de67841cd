import { printable } from '../../../ipc/fault-text.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { isSha256 } from '../../../ipc/names.ts'

const VERBS: Record<string, string> = {
  create: 'created',
  start: 'was asked to start',
  stop: 'was asked to stop',
  restart: 'was asked to restart',
  delete: 'was deleted, to be kept in quarantine',
  undelete: 'was asked back from quarantine',
  purge: 'was to be destroyed at once',
  reap: 'is gone from its host',
  adopt: 'was adopted',
  recovered: 'runs well again',
  add: 'added',
  remove: 'removed',
  reconnect: 'dialled by hand',
  sign_in: 'signed in to',
  default: 'made the default',
  publish: 'published',
  unpublish: 'unpublished',
  build: 'built',
  rename: 'renamed',
  update: 'was changed',
  set_clock: 'was to have its clock set',
}
const NOUNS: Record<string, string> = { vm: 'VM', host: 'Host', image: 'Image', port: 'Port', task: 'Task' }
const SHOWN_ELSEWHERE = new Set(['name', 'said', 'vm', 'host', 'image', 'vm_name', 'host_name'])
const MAX_DETAILS = 4

/** `VM web-1 created`, and the details worth a glance. An action this build does not know is shown as it is. */
export function auditSentence(
  entry: AuditEntry,
  about: { vm: string | undefined; host: string | undefined },
): { text: string; more: string } {
  const [noun = '', verb = ''] = entry.action.split('.', 2)
  const d = entry.detail
  const named =
    noun === 'vm'
      ? (d['vm_name'] ?? d['vm'] ?? about.vm)
      : noun === 'host'
        ? (d['host_name'] ?? d['host'] ?? d['name'] ?? about.host)
        : (d['image'] ?? d['name'])
  const word = VERBS[verb]
  // What happened of itself is told in the host's own sentence.
  const said = verb === 'trouble' ? d['said'] : undefined
  const text = said
    ? said
    : word
      ? [NOUNS[noun] ?? noun, named, word].filter(Boolean).join(' ')
      : `${entry.action} ${named ?? ''}`.trim()
  const more = Object.entries(d)
    .filter(([key, value]) => !SHOWN_ELSEWHERE.has(key) && value !== '')
    .slice(0, MAX_DETAILS)
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${isSha256(value) ? value.slice(0, 12) : value}`)
  if (noun === 'vm' && about.host) more.unshift(`on ${about.host}`)
  return { text: printable(text), more: printable(more.join(', ')) }
}

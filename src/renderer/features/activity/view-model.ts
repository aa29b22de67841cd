import { lookup } from '../../../ipc/base/lookup.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { isSha256 } from '../../../ipc/names.ts'
import { titleOf } from '../tasks/view-model.ts'

const VERBS: Record<string, string> = {
  create: 'created',
  clone: 'cloned',
  start: 'was asked to start',
  stop: 'was asked to stop',
  restart: 'was asked to restart',
  delete: 'was deleted, to be kept in quarantine',
  undelete: 'was asked back from quarantine',
  purge: 'was to be destroyed at once',
  reap: 'is gone from its host',
  adopt: 'was adopted',
  forget: 'was forgotten with its host',
  certify: 'got a host certificate',
  shell: 'was entered by SSH',
  recovered: 'runs well again',
  add: 'added',
  edit: 'was changed',
  remove: 'removed',
  replace: 'was replaced by a newer build',
  push: 'was sent to a host',
  import: 'imported',
  reconnect: 'dialled by hand',
  drain: 'was asked to take no new VMs, or to take them again',
  upgrade: 'was offered this app’s agent',
  agent: 'has another agent',
  status: 'changed its standing',
  ssh: 'is reached another way',
  sign_in: 'was signed in to',
  'sign-in': 'was signed in to',
  'forget-secrets': 'had its kept secrets forgotten',
  'join-blob': 'got a text to join with',
  revoke: 'is no longer accepted',
  readmit: 'was let in again',
  'take-over': 'was taken over',
  'taken-over': 'was taken over by another control plane',
  mend_network: 'had its network mended',
  undo_network_mend: 'had a mend of its network taken back',
  default: 'made the default',
  use: 'signs from now on',
  retire: 'was retired',
  recover: 'was found again',
  issue: 'issued',
  publish: 'published',
  unpublish: 'unpublished',
  build: 'built',
  rename: 'renamed',
  update: 'was changed',
  set_clock: 'was to have its clock set',
  backup: 'was backed up',
  restore: 'was put back from a copy',
  rebuild: 'was made anew from what hosts hold',
  retention: 'is kept for another time',
  bundle: 'bundle written',
  call: 'was called by a model',
}
const NOUNS: Record<string, string> = {
  ...{ vm: 'VM', host: 'Host', image: 'Image', port: 'Port', task: 'Task', ca: 'CA', cert: 'Certificate' },
  ...{ tenant: 'Tenant', template: 'Template', store: 'The store', audit: 'Activity', support: 'Support' },
  mcp: 'The API',
}
/** What came of it, where its host was asked for something and did it. */
const DONE: Record<string, string> = {
  ...{ start: 'started', stop: 'stopped', restart: 'restarted', purge: 'was destroyed' },
  ...{ delete: 'was deleted and is kept in quarantine', undelete: 'came back from quarantine' },
}
const SHOWN_ELSEWHERE = new Set(['took_ms', 'kind', 'name', 'said', 'vm', 'host', 'image', 'vm_name', 'host_name'])
const MAX_DETAILS = 4

/** A task that left nothing else: what it was to do is all there is to say. */
const TASK_END = 'task.end'

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
  const word = (entry.result === 'done' ? lookup(DONE, verb) : undefined) ?? VERBS[verb]
  // What happened of itself is told in the host's own sentence.
  const said = verb === 'trouble' ? d['said'] : undefined
  const text =
    entry.action === TASK_END
      ? titleOf(d['kind'] ?? '', d['name'] ?? '')
      : said
        ? said.replace(/\.$/, '')
        : word
          ? [NOUNS[noun] ?? noun, named, word].filter(Boolean).join(' ')
          : `${entry.action} ${named ?? ''}`.trim()
  const more = Object.entries(d)
    .filter(([key, value]) => !SHOWN_ELSEWHERE.has(key) && value !== '' && !(said && key === 'reason'))
    .slice(0, MAX_DETAILS)
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${isSha256(value) ? value.slice(0, 12) : value}`)
  if (noun === 'vm' && about.host) more.unshift(`on ${about.host}`)
  return { text: printable(text), more: printable(more.join(', ')) }
}

import { lookup } from '../../../ipc/base/lookup.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'

/** One field that changed, in words; empty = there was nothing, or there is nothing any more. */
export interface Change {
  field: string
  before: string
  after: string
}

const MAX_CHANGES = 60
/** Of a key without a value, such as a label: that it is there says all. */
const SET = 'set'
const VALUE_CHARS = 400

type Fields = Record<string, unknown>

/** What an entry changed, field by field; objects such as labels are told by their keys. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const [was, is] = [flat(fieldsOf(before)), flat(fieldsOf(after))]
  const names = [...new Set([...was.keys(), ...is.keys()])]
  return names
    .map((name) => ({ field: printable(name), before: was.get(name) ?? '', after: is.get(name) ?? '' }))
    .filter((change) => change.before !== change.after)
    .slice(0, MAX_CHANGES)
}

/** Whether there was one before, is one after, or both: how the two columns are called. */
export function changeHeads({ before, after }: Pick<AuditEntry, 'before' | 'after'>): [string, string] | undefined {
  if (before === '' && after === '') return undefined
  return before === '' ? ['', 'Made with'] : after === '' ? ['It had', ''] : ['Before', 'After']
}

function fieldsOf(json: string): Fields {
  try {
    const value: unknown = json === '' ? {} : JSON.parse(json)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function flat(fields: Fields): Map<string, string> {
  const told = new Map<string, string>()
  for (const [name, value] of Object.entries(fields))
    if (isObject(value) && Object.keys(value).length > 0)
      for (const [key, inner] of Object.entries(value))
        told.set(`${words(name)} ${key}`, words(valueWords(inner) || SET, false))
    else told.set(words(name), words(valueWords(value), false))
  return told
}

/** What fields are called on the screens. */
const FIELDS: Record<string, string> = {
  ...{ mem_mb: 'memory, MiB', disk_gb: 'disk, GiB', vcpus: 'vCPU', power_state: 'power', grace_s: 'quarantine, s' },
  ...{ max_mem_mb: 'most memory, MiB', max_disk_gb: 'most disk, GiB', max_vcpus: 'most vCPU', max_vms: 'most VMs' },
}

const words = (text: string, isName = true) =>
  isName ? (lookup(FIELDS, text) ?? text.replaceAll('_', ' ')) : printable(text)

function valueWords(value: unknown): string {
  if (value === undefined || value === null || value === '') return ''
  if (value === true || value === false) return value ? 'yes' : 'no'
  if (isObject(value) && Object.keys(value).length === 0) return ''
  if (Array.isArray(value)) return cut(value.map(valueWords).join(', '))
  return cut(typeof value === 'string' ? value : JSON.stringify(value))
}

const cut = (text: string): string => (text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS)}…`)

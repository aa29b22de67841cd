import { lookup } from '../../../ipc/base/lookup.ts'
import { plural } from '../../lib/format.ts'

const KINDS: Record<string, [one: string, many: string]> = {
  name: ['name', 'names'],
  address: ['address', 'addresses'],
  user: ['user', 'users'],
  key: ['key', 'keys'],
  secret: ['text that could be a secret', 'texts that could be secrets'],
  text: ['other text', 'other texts'],
}

/** `12 names, 3 addresses`; what matters most first. */
export function redactedWords(redacted: Readonly<Record<string, number>>): string {
  const order = ['secret', 'key', 'address', 'user', 'name', 'text']
  const rank = (kind: string) => (order.includes(kind) ? order.indexOf(kind) : order.length)
  const parts = Object.entries(redacted)
    .filter(([, n]) => n > 0)
    .sort(([a], [b]) => rank(a) - rank(b))
    .map(([kind, n]) => plural(n, ...(lookup(KINDS, kind) ?? [kind, kind])))
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

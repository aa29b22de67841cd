import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { parseCertificate } from '../../trust/openssh/certificate.ts'
import { keyTypeOf } from './key-blob.ts'

export interface HostKey {
  type: string
  /** The whole public key as SSH sends it. */
  blob: Buffer
  /** SHA256:… as OpenSSH prints it. */
  fingerprint: string
}

/** One line of a known_hosts file, or one row of our own store. */
export interface KnownKey {
  marker: 'revoked' | 'cert-authority' | undefined
  /** Host patterns as written: `name,[name]:port,*.glob,!negated` or one `|1|salt|hash`. */
  hosts: string
  type: string
  blob: Buffer
  /** Since when it is known. Absent = the file does not say. */
  since?: Date
}

export type HostKeyVerdict =
  /** `authority`: a certificate vouches for it, so that the next key may be another. */
  | { kind: 'ok'; authority?: true }
  | { kind: 'unknown' }
  /** The host is known, but by keys of other types: a new key all the same. */
  | { kind: 'other-type-known'; known: KnownKey[] }
  | { kind: 'changed'; known: KnownKey }
  | { kind: 'revoked' }
  | { kind: 'invalid'; detail: string }

/** Host key types we can check, in the order we like them. */
export const HOST_KEY_ALGORITHMS = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const
export type HostKeyAlgorithm = (typeof HOST_KEY_ALGORITHMS)[number]

export const fingerprintOf = (blob: Buffer): string =>
  `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`

/** A key a server presented, alone or in a certificate; undefined when its blob is no key. */
export function hostKeyOf(presented: Buffer): HostKey | undefined {
  const blob = parseCertificate(presented)?.keyBlob ?? presented
  const type = keyTypeOf(blob)
  return type === undefined ? undefined : { type, blob: Buffer.from(blob), fingerprint: fingerprintOf(blob) }
}

/** Lines that are no entries are skipped, as OpenSSH does. */
export function parseKnownHosts(text: string): KnownKey[] {
  return text.split(/\r?\n/).flatMap((line): KnownKey[] => {
    const fields = line.trim().split(/[ \t]+/)
    if (fields[0] === '' || fields[0]?.startsWith('#')) return []
    let marker: KnownKey['marker']
    if (fields[0]?.startsWith('@')) {
      const word = fields.shift()
      if (word !== '@revoked' && word !== '@cert-authority') return []
      marker = word === '@revoked' ? 'revoked' : 'cert-authority'
    }
    const [hosts, type, encoded] = fields
    if (!hosts || !type || !encoded) return []
    const blob = Buffer.from(encoded, 'base64')
    return keyTypeOf(blob) === type ? [{ marker, hosts, type, blob }] : []
  })
}

/** A host as known_hosts names it. */
export const knownName = (host: string, port: number): string =>
  port === 22 ? host.toLowerCase() : `[${host.toLowerCase()}]:${port}`

/**
 * What the entries say about a key a host presented. Revoked wins over all, then an exact match. As OpenSSH has it, a key
 * on file without a port is good for every port.
 */
export function judgeHostKey(entries: readonly KnownKey[], host: string, port: number, blob: Buffer): HostKeyVerdict {
  const verdict = judgeAs(entries, knownName(host, port), blob)
  if (verdict.kind !== 'unknown' || port === 22) return verdict
  const anyPort = judgeAs(entries, knownName(host, 22), blob)
  return anyPort.kind === 'ok' || anyPort.kind === 'revoked' ? anyPort : verdict
}

function judgeAs(entries: readonly KnownKey[], name: string, blob: Buffer): HostKeyVerdict {
  const certificate = parseCertificate(blob)
  const key = certificate?.keyBlob ?? blob
  const type = keyTypeOf(key)
  if (type === undefined) return { kind: 'invalid', detail: 'it is no SSH key' }
  const mine = entries.filter((entry) => matches(entry.hosts, name))
  const isIn = (marker: KnownKey['marker'], wanted: Buffer) =>
    mine.some((entry) => entry.marker === marker && entry.blob.equals(wanted))
  if (isIn('revoked', key) || (certificate && isIn('revoked', certificate.caBlob))) return { kind: 'revoked' }
  if (certificate?.signed && isIn('cert-authority', certificate.caBlob)) return { kind: 'ok', authority: true }
  const plain = mine.filter((entry) => entry.marker === undefined)
  if (plain.some((entry) => entry.blob.equals(key))) return { kind: 'ok' }
  const same = plain.find((entry) => entry.type === type)
  if (same) return { kind: 'changed', known: same }
  return plain.length > 0 ? { kind: 'other-type-known', known: plain } : { kind: 'unknown' }
}

/** Whether an authority may vouch for this host's key. */
export const hasAuthority = (entries: readonly KnownKey[], host: string, port: number): boolean =>
  entries.some(
    ({ marker, hosts }) =>
      marker === 'cert-authority' && (matches(hosts, knownName(host, port)) || matches(hosts, knownName(host, 22))),
  )

/** Types already known for the host first, so that a host known by RSA alone does not look new. */
export function hostKeyOrder(entries: readonly KnownKey[], host: string, port: number): HostKeyAlgorithm[] {
  const known = new Set(
    entries
      .filter((entry) => entry.marker === undefined && matches(entry.hosts, knownName(host, port)))
      .map((entry) => entry.type),
  )
  const isKnown = (algorithm: HostKeyAlgorithm) => known.has(algorithm.startsWith('rsa-sha2-') ? 'ssh-rsa' : algorithm)
  return [...HOST_KEY_ALGORITHMS.filter(isKnown), ...HOST_KEY_ALGORITHMS.filter((a) => !isKnown(a))]
}

function matches(hosts: string, name: string): boolean {
  if (hosts.startsWith('|')) return matchesHashed(hosts, name)
  let found = false
  for (const written of hosts.split(',')) {
    const negated = written.startsWith('!')
    if (!glob(negated ? written.slice(1) : written, name)) continue
    if (negated) return false
    found = true
  }
  return found
}

function matchesHashed(hosts: string, name: string): boolean {
  const [, version, salt, hash] = hosts.split('|')
  if (version !== '1' || !salt || !hash) return false
  const want = Buffer.from(hash, 'base64')
  const have = createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest()
  return want.length === have.length && timingSafeEqual(want, have)
}

/** `*` and `?` only; linear, whatever a hostile file holds. */
function glob(pattern: string, name: string): boolean {
  const p = pattern.toLowerCase()
  let at = 0
  let star = -1
  let resume = 0
  let i = 0
  while (i < name.length) {
    if (at < p.length && (p[at] === '?' || p[at] === name[i]) && p[at] !== '*') {
      at++
      i++
    } else if (p[at] === '*') {
      star = at++
      resume = i
    } else if (star >= 0) {
      at = star + 1
      i = ++resume
    } else return false
  }
  while (p[at] === '*') at++
  return at === p.length
}

import { createPrivateKey, type KeyObject } from 'node:crypto'
import ssh2, { type ParsedKey } from 'ssh2'
import { WireReader } from './wire.ts'

/** `locked` needs a passphrase, `wrong` was given one that does not open it; `unfit` says why a CA cannot be this. */
export type ParsedPrivateKey =
  | { kind: 'key'; key: KeyObject }
  | { kind: 'locked' }
  | { kind: 'wrong' }
  | { kind: 'unfit'; detail: string }

/** 0.02 s each; ssh-keygen takes 16 and this process stands still meanwhile. */
const MAX_BCRYPT_ROUNDS = 100
const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']

/** A private key in OpenSSH's format or PEM, as a key a CA can sign with. Never raises; the key is in no detail. */
export function parsePrivateKey(text: string, passphrase: string): ParsedPrivateKey {
  const parsed = /BEGIN (ENCRYPTED )?PRIVATE KEY/.test(text) ? fromPkcs8(text, passphrase) : fromSsh(text, passphrase)
  if (parsed.kind !== 'key') return parsed
  const why = unfit(parsed.key)
  return why === undefined ? parsed : { kind: 'unfit', detail: why }
}

function fromPkcs8(text: string, passphrase: string): ParsedPrivateKey {
  const locked = text.includes('BEGIN ENCRYPTED PRIVATE KEY')
  if (locked && passphrase === '') return { kind: 'locked' }
  try {
    return { kind: 'key', key: createPrivateKey({ key: text, ...(locked ? { passphrase } : {}) }) }
  } catch {
    return locked ? { kind: 'wrong' } : { kind: 'unfit', detail: 'it cannot be read' }
  }
}

function fromSsh(text: string, passphrase: string): ParsedPrivateKey {
  const rounds = bcryptRounds(text)
  if (rounds > MAX_BCRYPT_ROUNDS) {
    const detail = `its passphrase is stretched over ${rounds} rounds, more than ${MAX_BCRYPT_ROUNDS}; rewrite it with ssh-keygen -p -a 16`
    return { kind: 'unfit', detail }
  }
  const locked = rounds > 0 || text.includes('Proc-Type: 4,ENCRYPTED')
  if (locked && passphrase === '') return { kind: 'locked' }
  const parsed: unknown = ssh2.utils.parseKey(text, locked ? passphrase : undefined)
  const key = (Array.isArray(parsed) ? parsed[0] : parsed) as ParsedKey | Error
  if (key instanceof Error) return locked ? { kind: 'wrong' } : { kind: 'unfit', detail: 'it cannot be read' }
  if (!key.isPrivateKey()) return { kind: 'unfit', detail: 'it is a public key' }
  try {
    return { kind: 'key', key: createPrivateKey(key.getPrivatePEM()) }
  } catch {
    return { kind: 'unfit', detail: `a ${key.type} key cannot sign certificates here` }
  }
}

/** Of a passphrase of OpenSSH's own format; 0 = it has none, or is another format. */
function bcryptRounds(text: string): number {
  const body = /BEGIN OPENSSH PRIVATE KEY-----([\s\S]+)-----END/.exec(text)?.[1]
  if (body === undefined) return 0
  try {
    const reader = new WireReader(Buffer.from(body, 'base64').subarray('openssh-key-v1\0'.length))
    reader.string()
    if (reader.string().toString('latin1') !== 'bcrypt') return 0
    const options = new WireReader(reader.string())
    options.string()
    return options.u32()
  } catch {
    return 0
  }
}

function unfit(key: KeyObject): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'ed25519') return undefined
  if (type === 'ec') return CURVES.includes(details?.namedCurve ?? '') ? undefined : 'SSH has no name for its curve'
  const bits = details?.modulusLength ?? 0
  if (type !== 'rsa') return `a ${type ?? 'strange'} key cannot sign certificates; use ed25519, ECDSA or RSA`
  return bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS
    ? undefined
    : `an RSA key has ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits here, this one ${bits}`
}

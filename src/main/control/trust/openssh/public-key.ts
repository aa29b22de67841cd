import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { KiB } from '../../../../ipc/units.ts'
import { keyTypeOf } from '../../hosts/ssh/key-blob.ts'
import { MalformedWire, mpint, str, unsigned, WireReader } from './wire.ts'

/** A public key as one line of an authorized_keys file has it. */
export interface PublicKey {
  type: string
  blob: Buffer
  comment: string
}

/** What a key can be that certificates are about, and how many fields its blob has after the type. */
export const KEY_FIELDS: Readonly<Record<string, number>> = {
  'ssh-ed25519': 1,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
  'ssh-rsa': 2,
  'sk-ssh-ed25519@openssh.com': 2,
  'sk-ecdsa-sha2-nistp256@openssh.com': 3,
}

const LINE_CHARS = 16 * KiB
/** What OpenSSH takes at all. */
const MIN_RSA_BITS = 1024
const CURVES = { nistp256: 'P-256', nistp384: 'P-384', nistp521: 'P-521' } as const
type Curve = keyof typeof CURVES

/** Undefined when the text is no such line, is longer than 16 KiB, or its blob is no key that SSH takes. Options in front are not taken. */
export function parsePublicKey(line: string): PublicKey | undefined {
  if (line.length > LINE_CHARS || /[\0-\x08\x0a-\x1f\x7f]/.test(line.trim())) return undefined
  const [, type = '', encoded = '', comment = ''] =
    /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]+(.*))?$/.exec(line.trim()) ?? []
  const blob = Buffer.from(encoded, 'base64')
  if (KEY_FIELDS[type] === undefined || keyTypeOf(blob) !== type || !isKey(blob, type)) return undefined
  return { type, blob, comment: comment.trim() }
}

/** Type and blob, without a comment: the form in which keys are compared and stored. */
export const canonicalLine = (blob: Buffer): string => `${keyTypeOf(blob) ?? ''} ${blob.toString('base64')}`

/** The key or certificate in a line, unchecked; empty where there is none. */
export const blobInLine = (line: string): Buffer => Buffer.from(line.split(' ')[1] ?? '', 'base64')

/** Of the public half; raises MalformedWire for a kind of key SSH has no name for. */
export function blobOf(key: KeyObject): Buffer {
  const jwk = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  const field = (name: 'x' | 'y' | 'n' | 'e') => Buffer.from(jwk[name] ?? '', 'base64url')
  if (jwk.kty === 'OKP' && jwk.crv === 'Ed25519') return Buffer.concat([str('ssh-ed25519'), str(field('x'))])
  if (jwk.kty === 'RSA') return Buffer.concat([str('ssh-rsa'), mpint(field('e')), mpint(field('n'))])
  const curve = (Object.keys(CURVES) as Curve[]).find((name) => CURVES[name] === jwk.crv)
  if (jwk.kty !== 'EC' || !curve) throw new MalformedWire(`no SSH key: ${jwk.kty} ${jwk.crv ?? ''}`)
  const point = Buffer.concat([Buffer.from([4]), field('x'), field('y')])
  return Buffer.concat([str(`ecdsa-sha2-${curve}`), str(curve), str(point)])
}

/** What signatures are checked with; undefined for keys of security tokens and for what is no key. */
export function keyObjectOf(blob: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwkOf(blob), format: 'jwk' })
  } catch {
    return undefined
  }
}

function jwkOf(blob: Buffer): JsonWebKey {
  const reader = new WireReader(blob)
  const type = reader.string().toString('latin1')
  const url = (bytes: Buffer) => bytes.toString('base64url')
  if (type === 'ssh-ed25519') return { kty: 'OKP', crv: 'Ed25519', x: url(reader.string()) }
  if (type === 'ssh-rsa') {
    const e = url(unsigned(reader.string()))
    return { kty: 'RSA', e, n: url(unsigned(reader.string())) }
  }
  const curve = reader.string().toString('latin1') as Curve
  const point = reader.string()
  if (type !== `ecdsa-sha2-${curve}` || !(curve in CURVES) || point[0] !== 4) throw new MalformedWire(type)
  const half = (point.length - 1) / 2
  const [x, y] = [point.subarray(1, 1 + half), point.subarray(1 + half)]
  return { kty: 'EC', crv: CURVES[curve], x: url(x), y: url(y) }
}

/** Whether SSH takes it: a certificate of any other key opens nothing, and nobody would know why. */
function isKey(blob: Buffer, type: string): boolean {
  try {
    const plain = type.startsWith('sk-') ? plainOf(blob, type) : blob
    const key = keyObjectOf(plain)
    // As SSH writes it, to the last byte.
    return (
      key !== undefined &&
      (key.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS) >= MIN_RSA_BITS &&
      blobOf(key).equals(plain)
    )
  } catch (error) {
    if (error instanceof MalformedWire) return false
    throw error
  }
}

/** Of a security token's key, without the application it is for. */
function plainOf(blob: Buffer, type: string): Buffer {
  const reader = new WireReader(blob)
  reader.string()
  const fields = Array.from({ length: KEY_FIELDS[type] ?? 0 }, () => reader.string())
  if (!reader.done) throw new MalformedWire(type)
  return Buffer.concat([type.slice('sk-'.length).replace('@openssh.com', ''), ...fields.slice(0, -1)].map(str))
}

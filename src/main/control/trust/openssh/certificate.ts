import { type KeyObject, randomBytes } from 'node:crypto'
import { KiB } from '../../../../ipc/units.ts'
import { keyTypeOf } from '../../hosts/ssh/key-blob.ts'
import { blobOf, KEY_FIELDS } from './public-key.ts'
import { sshSign, sshVerify } from './signature.ts'
import { MalformedWire, str, u32, u64, WireReader } from './wire.ts'

export type CertificateKind = 'user' | 'host'

/** What a certificate says. Serials and seconds are 64-bit numbers. */
export interface CertificateBody {
  kind: CertificateKind
  serial: bigint
  keyId: string
  /** Login names of a user, names of a host. */
  principals: readonly string[]
  /** Seconds since 1970; the first at which it is good. */
  validAfter: bigint
  /** Seconds since 1970; the first at which it is not good any more. */
  validBefore: bigint
  /** A client or server that does not know one of them refuses the certificate. */
  criticalOptions: Readonly<Record<string, string>>
  extensions: readonly string[]
}

export interface Certificate extends CertificateBody {
  /** `ssh-ed25519-cert-v01@openssh.com`… */
  type: string
  /** The key it is about. */
  keyBlob: Buffer
  /** The key that signed it. */
  caBlob: Buffer
  /** Whether that key did sign it; reckoned each time. */
  readonly signed: boolean
}

export const NO_END = 0xffff_ffff_ffff_ffffn

const LINE_CHARS = 32 * KiB
const KIND = { user: 1, host: 2 } as const
const MAX_PRINCIPALS = 256

/** The certificate type of a key type. */
export const certificateType = (keyType: string): string =>
  keyType.endsWith('@openssh.com')
    ? keyType.replace('@openssh.com', '-cert-v01@openssh.com')
    : `${keyType}-cert-v01@openssh.com`

const KEY_TYPE_OF = new Map(Object.keys(KEY_FIELDS).map((type) => [certificateType(type), type]))

/** Signs with a CA's private key; raises MalformedWire without principals, which would be good for everybody. */
export function signCertificate(ca: KeyObject, keyBlob: Buffer, body: CertificateBody): Buffer {
  if (body.principals.length === 0 || body.principals.some((name) => name === ''))
    throw new MalformedWire('no principals')
  if (body.validAfter >= body.validBefore) throw new MalformedWire('it would never be good')
  const type = keyTypeOf(keyBlob) ?? ''
  if (KEY_FIELDS[type] === undefined) throw new MalformedWire(`no key to certify: ${type}`)
  const reader = new WireReader(keyBlob)
  reader.string()
  const signed = Buffer.concat([
    str(certificateType(type)),
    str(randomBytes(32)),
    reader.rest(),
    u64(body.serial),
    u32(KIND[body.kind]),
    str(body.keyId),
    str(Buffer.concat(body.principals.map(str))),
    u64(body.validAfter),
    u64(body.validBefore),
    str(options(Object.entries(body.criticalOptions).map(([name, value]) => [name, str(value)]))),
    str(options(body.extensions.map((name) => [name, Buffer.alloc(0)]))),
    str(''),
    str(blobOf(ca)),
  ])
  return Buffer.concat([signed, str(sshSign(ca, signed))])
}

/** One line of a `-cert.pub` file. */
export const certificateLine = (certificate: Buffer, comment: string): string =>
  `${keyTypeOf(certificate) ?? ''} ${certificate.toString('base64')}${comment === '' ? '' : ` ${comment}`}`

/** A `-cert.pub` line; undefined for anything else, however close. */
export function parseCertificateLine(line: string): Certificate | undefined {
  if (line.length > LINE_CHARS) return undefined
  const [, type = '', encoded = ''] = /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t].*)?$/.exec(line.trim()) ?? []
  const certificate = encoded === '' ? undefined : parseCertificate(Buffer.from(encoded, 'base64'))
  return certificate?.type === type ? certificate : undefined
}

/** Undefined when the bytes are no whole certificate. Whoever trusts it looks at `signed` and at the CA. */
export function parseCertificate(blob: Buffer): Certificate | undefined {
  try {
    return read(blob)
  } catch (error) {
    if (error instanceof MalformedWire) return undefined
    throw error
  }
}

function read(blob: Buffer): Certificate {
  const reader = new WireReader(blob)
  const type = reader.string().toString('latin1')
  const keyType = KEY_TYPE_OF.get(type)
  if (keyType === undefined) throw new MalformedWire('not a certificate')
  reader.string()
  const key = [str(keyType)]
  for (let i = 0; i < (KEY_FIELDS[keyType] ?? 0); i++) key.push(str(reader.string()))
  const serial = reader.u64()
  const kindNumber = reader.u32()
  const keyId = reader.string().toString('utf8')
  const principals = strings(reader.string())
  const [validAfter, validBefore] = [reader.u64(), reader.u64()]
  const critical = pairs(reader.string())
  const extensions = pairs(reader.string())
  reader.string()
  const caBlob = Buffer.from(reader.string())
  const body = blob.subarray(0, reader.offset)
  const signature = reader.string()
  if (!reader.done || (kindNumber !== KIND.user && kindNumber !== KIND.host))
    throw new MalformedWire('not a certificate')
  return {
    type,
    keyBlob: Buffer.concat(key),
    serial,
    kind: kindNumber === KIND.user ? 'user' : 'host',
    keyId,
    principals,
    validAfter,
    validBefore,
    criticalOptions: Object.fromEntries(critical.map(([name, value]) => [name, textOf(value)])),
    extensions: extensions.map(([name]) => name),
    caBlob,
    get signed() {
      return sshVerify(caBlob, body, signature)
    },
  }
}

/** Why a certificate is not accepted, in the order in which it is judged. */
export type Refusal =
  | 'unknown-ca'
  | 'forged'
  | 'wrong-kind'
  | 'revoked'
  | 'critical-option'
  | 'wrong-principal'
  | 'not-yet-valid'
  | 'expired'

export interface Acceptance {
  kind: CertificateKind
  /** Of the authorities that are trusted. */
  cas: readonly Buffer[]
  principal: string
  /** Milliseconds. */
  now: number
  isRevoked(certificate: Certificate): boolean
}

/** As a server or client of OpenSSH would judge it; undefined = accepted. A certificate without principals is refused. */
export function refusalOf(certificate: Certificate, want: Acceptance): Refusal | undefined {
  if (!want.cas.some((blob) => blob.equals(certificate.caBlob))) return 'unknown-ca'
  if (!certificate.signed) return 'forged'
  if (certificate.kind !== want.kind) return 'wrong-kind'
  if (want.isRevoked(certificate)) return 'revoked'
  if (Object.keys(certificate.criticalOptions).length > 0) return 'critical-option'
  if (!certificate.principals.includes(want.principal)) return 'wrong-principal'
  const seconds = BigInt(Math.floor(want.now / 1000))
  if (seconds < certificate.validAfter) return 'not-yet-valid'
  return seconds >= certificate.validBefore ? 'expired' : undefined
}

/** Names in order, as the format demands. */
const options = (entries: readonly (readonly [string, Buffer])[]): Buffer =>
  Buffer.concat([...entries].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, value]) => [str(name), str(value)]))

function strings(bytes: Buffer): string[] {
  const reader = new WireReader(bytes)
  const found: string[] = []
  while (!reader.done) {
    if (found.length === MAX_PRINCIPALS) throw new MalformedWire('too many principals')
    found.push(reader.string().toString('utf8'))
  }
  return found
}

function pairs(bytes: Buffer): [string, Buffer][] {
  const reader = new WireReader(bytes)
  const found: [string, Buffer][] = []
  while (!reader.done) {
    if (found.length === MAX_PRINCIPALS) throw new MalformedWire('too many options')
    found.push([reader.string().toString('utf8'), reader.string()])
  }
  return found
}

const textOf = (value: Buffer): string => (value.length === 0 ? '' : new WireReader(value).string().toString('utf8'))

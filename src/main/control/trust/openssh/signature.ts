import { type KeyObject, sign, verify } from 'node:crypto'
import { keyTypeOf } from '../../hosts/ssh/key-blob.ts'
import { keyObjectOf } from './public-key.ts'
import { MalformedWire, mpint, str, unsigned, WireReader } from './wire.ts'

const EC_HASH: Readonly<Record<string, { name: string; hash: string; bytes: number }>> = {
  prime256v1: { name: 'ecdsa-sha2-nistp256', hash: 'sha256', bytes: 32 },
  secp384r1: { name: 'ecdsa-sha2-nistp384', hash: 'sha384', bytes: 48 },
  secp521r1: { name: 'ecdsa-sha2-nistp521', hash: 'sha512', bytes: 66 },
}
const RSA_HASH: Readonly<Record<string, string>> = { 'rsa-sha2-512': 'sha512', 'rsa-sha2-256': 'sha256' }

/** An SSH signature, its format first; RSA signs with SHA-512, as `ssh-rsa` (SHA-1) is refused by servers since OpenSSH 8.2. */
export function sshSign(key: KeyObject, data: Buffer): Buffer {
  if (key.asymmetricKeyType === 'ed25519') return formatted('ssh-ed25519', sign(null, data, key))
  if (key.asymmetricKeyType === 'rsa') return formatted('rsa-sha2-512', sign('sha512', data, key))
  const curve = EC_HASH[key.asymmetricKeyDetails?.namedCurve ?? '']
  if (!curve) throw new MalformedWire(`cannot sign with ${key.asymmetricKeyType ?? 'this key'}`)
  const raw = sign(curve.hash, data, { key, dsaEncoding: 'ieee-p1363' })
  const half = raw.length / 2
  return formatted(curve.name, Buffer.concat([mpint(raw.subarray(0, half)), mpint(raw.subarray(half))]))
}

/** Whether it is a signature of `data` by the key; false for formats servers refuse, such as RSA with SHA-1. */
export function sshVerify(keyBlob: Buffer, data: Buffer, signature: Buffer): boolean {
  const key = keyObjectOf(keyBlob)
  if (!key) return false
  try {
    const reader = new WireReader(signature)
    const format = reader.string().toString('latin1')
    const body = reader.string()
    if (!reader.done) return false
    const rsa = RSA_HASH[format]
    if (rsa) return key.asymmetricKeyType === 'rsa' && verify(rsa, data, key, body)
    if (format !== keyTypeOf(keyBlob)) return false
    if (format === 'ssh-ed25519') return verify(null, data, key, body)
    const curve = EC_HASH[key.asymmetricKeyDetails?.namedCurve ?? '']
    return curve !== undefined && verify(curve.hash, data, { key, dsaEncoding: 'ieee-p1363' }, fixed(body, curve.bytes))
  } catch {
    return false
  }
}

const formatted = (format: string, body: Buffer): Buffer => Buffer.concat([str(format), str(body)])

function fixed(body: Buffer, bytes: number): Buffer {
  const reader = new WireReader(body)
  const [r, s] = [unsigned(reader.string()), unsigned(reader.string())]
  if (!reader.done || r.length > bytes || s.length > bytes) throw new MalformedWire('ecdsa')
  const out = Buffer.alloc(2 * bytes)
  r.copy(out, bytes - r.length)
  s.copy(out, 2 * bytes - s.length)
  return out
}

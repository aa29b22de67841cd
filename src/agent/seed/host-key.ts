import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { isName } from '../../ipc/names.ts'
import { readIfPresent, writeDurable } from '../os/files.ts'

/** A guest's SSH host key. */
export interface HostKey {
  /** OpenSSH PEM, without passphrase. */
  privateKey: string
  /** `ssh-ed25519 BASE64 COMMENT`. */
  publicKey: string
}

/** A new ed25519 key in OpenSSH's own format, which sshd reads. */
export function generateHostKey(name: string): HostKey {
  // One line for ever: whatever a VM is called, its key is one that others put into their files.
  const comment = isName(name) ? name : 'eitri'
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const pub = Buffer.from(jwk.x!, 'base64url')
  const seed = Buffer.from(jwk.d!, 'base64url')
  const blob = Buffer.concat([string('ssh-ed25519'), string(pub)])
  const check = randomBytes(4)
  const inner = Buffer.concat([check, check, blob, string(Buffer.concat([seed, pub])), string(comment)])
  const padding = Buffer.from(Array.from({ length: (8 - (inner.length % 8)) % 8 }, (_, i) => i + 1))
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    string('none'),
    string('none'),
    string(''),
    uint32(1),
    string(blob),
    string(Buffer.concat([inner, padding])),
  ]).toString('base64')
  return {
    privateKey: [
      '-----BEGIN OPENSSH PRIVATE KEY-----',
      ...body.match(/.{1,70}/g)!,
      '-----END OPENSSH PRIVATE KEY-----',
      '',
    ].join('\n'),
    publicKey: `ssh-ed25519 ${blob.toString('base64')} ${comment}`,
  }
}

function uint32(value: number): Buffer {
  const out = Buffer.alloc(4)
  out.writeUInt32BE(value)
  return out
}

function string(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string)
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** Public half of a key this module wrote; undefined when the text is not one. */
export function publicKeyOf(privateKey: string): string | undefined {
  const body = /^-----BEGIN OPENSSH PRIVATE KEY-----\n([\s\S]+)\n-----END OPENSSH PRIVATE KEY-----\n$/.exec(
    privateKey,
  )?.[1]
  if (body === undefined) return undefined
  const bytes = Buffer.from(body, 'base64')
  // magic, cipher "none", kdf "none", kdf options "", number of keys; then the public blob.
  const at = 'openssh-key-v1\0'.length + 8 + 8 + 4 + 4
  const blob = bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at))
  const comment = lastString(bytes, at + 4 + blob.length)
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}`
}

function lastString(bytes: Buffer, privateAt: number): string {
  // length of the private section, two check words, type, public key, private key; then the comment.
  let at = privateAt + 4 + 8
  for (let skipped = 0; skipped < 3; skipped++) at += 4 + bytes.readUInt32BE(at)
  return bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at)).toString('utf8')
}

/** The key in `path`, made there (0600) when there is none: one key per guest, over every retry. */
export async function ensureHostKey(path: string, comment: string): Promise<HostKey> {
  const privateKey = (await readIfPresent(path))?.toString('utf8')
  const publicKey = privateKey === undefined ? undefined : publicKeyOf(privateKey)
  if (privateKey !== undefined && publicKey !== undefined) return { privateKey, publicKey }
  const key = generateHostKey(comment)
  await writeDurable('host-key.write', path, key.privateKey, 0o600)
  return key
}

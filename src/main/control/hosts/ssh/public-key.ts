import { KiB } from '../../../../ipc/units.ts'
import { readBounded } from '../../../bounded-file.ts'
import { keyTypeOf } from './key-blob.ts'

const KEY_FILE_BYTES = 64 * KiB
const MAGIC = 'openssh-key-v1\0'

/**
 * The public half of an identity file, which OpenSSH's own format holds in clear; else of the .pub beside it. Undefined
 * when there is no such file, an empty blob when it cannot be told. Never raises.
 */
export async function publicKeyOf(file: string): Promise<Buffer | undefined> {
  const text = await textOf(file)
  if (text === undefined) return undefined
  return publicKeyIn(text) ?? publicLine((await textOf(`${file}.pub`)) ?? '') ?? Buffer.alloc(0)
}

/** Pure: the public key blob in the text of a private key or of a public one. */
export function publicKeyIn(text: string): Buffer | undefined {
  const body = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]*)-----END/.exec(text)?.[1]
  if (body === undefined) return text.includes('-----BEGIN') ? undefined : publicLine(text)
  const bytes = Buffer.from(body, 'base64')
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined
  // cipher, KDF, its options; a count; the public key
  let at = MAGIC.length
  for (let field = 0; field < 3; field++) at += 4 + lengthAt(bytes, at)
  at += 4
  const blob = bytes.subarray(at + 4, at + 4 + lengthAt(bytes, at))
  return keyTypeOf(blob) === undefined ? undefined : blob
}

const lengthAt = (bytes: Buffer, at: number): number => (at + 4 <= bytes.length ? bytes.readUInt32BE(at) : bytes.length)

/** `type base64 comment` */
function publicLine(text: string): Buffer | undefined {
  const [type, encoded] = text.trim().split(/\s+/)
  const blob = Buffer.from(encoded ?? '', 'base64')
  return type !== undefined && keyTypeOf(blob) === type ? blob : undefined
}

async function textOf(file: string): Promise<string | undefined> {
  return readBounded(file, KEY_FILE_BYTES).then(
    (bytes) => bytes.toString('latin1'),
    () => undefined,
  )
}

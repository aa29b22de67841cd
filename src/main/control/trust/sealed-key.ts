import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { MiB } from '../../../ipc/units.ts'

/** A secret as its file has it. */
export type Sealed =
  | { by: 'keychain'; data: Buffer }
  | { by: 'key-file'; nonce: Buffer; data: Buffer }
  | { by: 'passphrase'; salt: Buffer; nonce: Buffer; data: Buffer }

export const KEY_BYTES = 32

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** 128 MiB and about half a second for each guess at a passphrase. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * MiB }

const bytes = z.base64().transform((text) => Buffer.from(text, 'base64'))
const Envelope = z.discriminatedUnion('sealed_by', [
  z.object({ version: z.literal(1), sealed_by: z.literal('keychain'), data: bytes }),
  z.object({ version: z.literal(1), sealed_by: z.literal('key-file'), nonce: bytes, data: bytes }),
  z.object({ version: z.literal(1), sealed_by: z.literal('passphrase'), salt: bytes, nonce: bytes, data: bytes }),
])

/** Undefined when the text is no such file, of this version. */
export function parseSealed(text: string): Sealed | undefined {
  try {
    const { version: _, sealed_by: by, ...parts } = Envelope.parse(JSON.parse(text))
    return { by, ...parts } as Sealed
  } catch {
    return undefined
  }
}

/** AES-256-GCM; the name is bound to it, so that one file cannot stand in for another. */
export function encrypted(name: string, key: Buffer, secret: Buffer): { nonce: Buffer; data: Buffer } {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name))
  return { nonce, data: Buffer.concat([cipher.update(secret), cipher.final(), cipher.getAuthTag()]) }
}

/** Undefined for another key, another name, or changed bytes. */
export function opened(
  name: string,
  key: Buffer,
  { nonce, data }: { nonce: Buffer; data: Buffer },
): Buffer | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(name)).setAuthTag(data.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(data.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch {
    return undefined
  }
}

/** A key out of a passphrase, by scrypt, off this thread. */
export const stretched = (passphrase: string, salt: Buffer): Promise<Buffer> =>
  (promisify(scrypt) as (p: string, s: Buffer, n: number, o: typeof SCRYPT) => Promise<Buffer>)(
    passphrase,
    salt,
    KEY_BYTES,
    SCRYPT,
  )

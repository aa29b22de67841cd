import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import ssh2, { type ParsedKey } from 'ssh2'
import { Fault } from '../../../ipc/faults.ts'
import type { CaKeys } from '../trust/ca-keys.ts'
import { blobOf, canonicalLine } from '../trust/openssh/public-key.ts'
import { str, u32 } from '../trust/openssh/wire.ts'

/** What key rings call it; no file has this name. */
export const OWN_KEY = 'the key of this app'

/** The key this store signs in with to hosts that joined. */
export interface OwnKey {
  /** `ssh-ed25519 …`, without a comment; made at first use. Raises host/own-key-unusable. */
  publicKey(): Promise<string>
  /** For a sign-in. Raises host/own-key-unusable; makes none. */
  open(): Promise<ParsedKey>
}

export interface OwnKeyDeps {
  settings: { find(key: string): string | undefined; set(key: string, value: string): void }
  /** Private halves, sealed as those of SSH authorities. */
  keys: CaKeys
  /** Folder of their files. */
  dir: string
}

const NAME = 'own_key'

/** Its public half and its name are in the store, its private half is where those of authorities are. */
export function ownKey({ settings, keys, dir }: OwnKeyDeps): OwnKey {
  let opened: Promise<ParsedKey> | undefined
  const known = (): { id: string; line: string } | undefined => {
    const [id = '', line = ''] = settings.find(NAME)?.split('\n') ?? []
    return id === '' || line === '' ? undefined : { id, line }
  }
  const make = async (): Promise<string> => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const id = randomBytes(16).toString('hex')
    await keys.keep(id, privateKey)
    const line = canonicalLine(blobOf(privateKey))
    settings.set(NAME, `${id}\n${line}`)
    opened = undefined
    return line
  }
  const open = async (): Promise<ParsedKey> => {
    const { id } = known() ?? {}
    if (id === undefined) throw unusable('it was never made here', 'Join the host with a new "eitri host join-blob".')
    const key = await keys.open(id)
    if (key.kind === 'key') return parsedKeyOf(key.key)
    throw unusable(key.detail, existsSync(join(dir, `${id}.key`)) ? key.next : REJOIN)
  }
  let making: Promise<string> | undefined
  return {
    publicKey: async () => {
      const { id, line } = known() ?? {}
      // A store put back from a backup has none of the private halves: hosts join anew.
      if (id !== undefined && line !== undefined && existsSync(join(dir, `${id}.key`))) return line
      making ??= make().finally(() => {
        making = undefined
      })
      return making
    },
    open: () => {
      opened ??= open().catch((error: unknown) => {
        opened = undefined
        throw error
      })
      return opened
    },
  }
}

const REJOIN = 'Make a new one with "eitri host join-blob" and join the hosts again.'

const unusable = (detail: string, next: string) =>
  new Fault('host/own-key-unusable', 'permanent', { detail, ...(next ? { next } : {}) })

/** In the one form of such keys that ssh2 reads; never written anywhere. */
function parsedKeyOf(key: KeyObject): ParsedKey {
  const { d = '', x = '' } = key.export({ format: 'jwk' }) as { d?: string; x?: string }
  const [seed, point] = [Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]
  const check = u32(0x6569_7472)
  const secret = [check, check, str('ssh-ed25519'), str(point), str(Buffer.concat([seed, point])), str('')]
  const inner = Buffer.concat(secret)
  const padding = Buffer.from(Array.from({ length: (8 - (inner.length % 8)) % 8 }, (_, i) => i + 1))
  const body = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    str('none'),
    str('none'),
    str(''),
    u32(1),
    str(blobOf(key)),
    str(Buffer.concat([inner, padding])),
  ])
  const lines = body.toString('base64').match(/.{1,70}/g) ?? []
  const pem = `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`
  const parsed = ssh2.utils.parseKey(pem) as ParsedKey | Error
  if (parsed instanceof Error) throw new Fault('app/bug', 'bug', { message: `own key: ${parsed.message}` })
  return parsed
}

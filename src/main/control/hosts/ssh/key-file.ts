import { createPrivateKey } from 'node:crypto'
import ssh2, { type ParsedKey } from 'ssh2'
import { KiB } from '../../../../ipc/units.ts'
import { readBounded } from '../../../bounded-file.ts'

/** What a key file gave. `locked` needs a passphrase; `wrong` was given one that does not open it. */
export type KeyFile =
  | { kind: 'key'; file: string; key: ParsedKey }
  | { kind: 'locked'; file: string; publicBlob?: Buffer }
  | { kind: 'wrong'; file: string; publicBlob?: Buffer }
  | { kind: 'missing'; file: string }
  | { kind: 'unreadable'; file: string; detail: string }

const KEY_FILE_BYTES = 64 * KiB

/** Never raises. A slow key derivation blocks this process for its length (16 rounds: 0.3 s): keep the result. */
export async function loadKeyFile(file: string, passphrase?: string): Promise<KeyFile> {
  let text: string
  try {
    text = (await readBounded(file, KEY_FILE_BYTES)).toString('utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? { kind: 'missing', file } : { kind: 'unreadable', file, detail: code ?? message }
  }
  const parsed = /BEGIN (ENCRYPTED )?PRIVATE KEY/.test(text) ? parsePkcs8(text, passphrase) : parseKey(text, passphrase)
  if ('key' in parsed) return { kind: 'key', file, key: parsed.key }
  if (parsed.problem === 'unreadable') return { kind: 'unreadable', file, detail: parsed.detail }
  const publicBlob = await publicKeyBeside(file)
  return { kind: parsed.problem, file, ...(publicBlob ? { publicBlob } : {}) }
}

type Parsed = { key: ParsedKey } | { problem: 'locked' | 'wrong' } | { problem: 'unreadable'; detail: string }

function parseKey(text: string, passphrase: string | undefined): Parsed {
  const parsed: unknown = ssh2.utils.parseKey(text, passphrase)
  const key = (Array.isArray(parsed) ? parsed[0] : parsed) as ParsedKey | Error
  if (!(key instanceof Error))
    return key.isPrivateKey() ? { key } : { problem: 'unreadable', detail: 'it is a public key' }
  if (/no passphrase given/.test(key.message)) return { problem: 'locked' }
  const encrypted = /Proc-Type: 4,ENCRYPTED|BEGIN OPENSSH PRIVATE KEY/.test(text)
  if (passphrase !== undefined && encrypted) return { problem: 'wrong' }
  return { problem: 'unreadable', detail: key.message.slice(0, 120) }
}

/** PKCS#8, which ssh2 cannot read, through node:crypto into a form it can. */
function parsePkcs8(text: string, passphrase: string | undefined): Parsed {
  const encrypted = text.includes('BEGIN ENCRYPTED PRIVATE KEY')
  if (encrypted && passphrase === undefined) return { problem: 'locked' }
  try {
    const key = createPrivateKey({ key: text, ...(passphrase === undefined ? {} : { passphrase }) })
    const type = key.asymmetricKeyType === 'rsa' ? 'pkcs1' : 'sec1'
    if (key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec')
      return { problem: 'unreadable', detail: `${key.asymmetricKeyType} in PKCS#8; rewrite it with ssh-keygen -p` }
    return parseKey(key.export({ type, format: 'pem' }) as string, undefined)
  } catch (error) {
    return encrypted ? { problem: 'wrong' } : { problem: 'unreadable', detail: (error as Error).message.slice(0, 120) }
  }
}

/** The public half of a locked key, so that the agent can be asked for the same key. */
async function publicKeyBeside(file: string): Promise<Buffer | undefined> {
  const text = await readBounded(`${file}.pub`, KEY_FILE_BYTES).catch(() => '')
  const encoded = text.toString().trim().split(/\s+/)[1]
  return encoded ? Buffer.from(encoded, 'base64') : undefined
}

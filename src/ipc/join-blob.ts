import { z } from 'zod'
import { Fault } from './faults.ts'
import { isId } from './names.ts'

/** What a host needs to know to let one control plane in. */
export interface JoinBlob {
  fleetId: string
  /** `ssh-ed25519 …`, without a comment. */
  publicKey: string
  /** One-shot. */
  token: string
  /** Seconds since the epoch. */
  expiresAt: number
}

/** A key line that may stand in an authorized_keys file: nothing can be added to it. */
const KEY_LINE = /^ssh-ed25519 [A-Za-z0-9+/]{60,80}={0,2}$/
const MAX_CHARS = 2_048
const VERSION = 1
/** Years of four digits, with a day to spare: sshd reads no others. */
const LAST_S = 253_402_214_400

const Document = z.object({
  v: z.number().int(),
  fleet: z.string().refine(isId),
  key: z.string().regex(KEY_LINE),
  token: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  exp: z.number().int().positive().max(LAST_S),
})

/** One line a person carries to a host: base64url of a document and its checksum. A secret until it is used. */
export function encodeJoinBlob({ fleetId, publicKey, token, expiresAt }: JoinBlob): string {
  const text = JSON.stringify({ v: VERSION, fleet: fleetId, key: publicKey, token, exp: expiresAt })
  return btoa(`${text}\n${checksum(text)}`)
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

/** Raises agent/join-blob-invalid, whose words have no part of the blob in them. */
export function decodeJoinBlob(given: string): JoinBlob {
  const blob = given.trim()
  if (blob === '') throw invalid('it is empty')
  if (blob.length > MAX_CHARS) throw invalid('it is longer than any join blob')
  if (!/^[A-Za-z0-9_-]+$/.test(blob)) throw invalid('it has characters that no join blob has')
  const [text = '', sum, ...more] = decoded(blob).split('\n')
  if (sum === undefined || more.length > 0) throw invalid('it is something else, or a part of it is missing')
  if (checksum(text) !== sum) throw invalid('its checksum does not match: a part of it is missing or was changed')
  const { v, fleet, key, token, exp } = fieldsOf(text)
  if (v !== VERSION) throw invalid('it was made by a newer app: use the agent that came with that')
  return { fleetId: fleet, publicKey: key, token, expiresAt: exp }
}

const invalid = (problem: string) => new Fault('agent/join-blob-invalid', 'permanent', { problem })

function decoded(blob: string): string {
  try {
    return atob(blob.replaceAll('-', '+').replaceAll('_', '/'))
  } catch {
    throw invalid('it is something else, or a part of it is missing')
  }
}

function fieldsOf(text: string): z.infer<typeof Document> {
  try {
    return Document.parse(JSON.parse(text))
  } catch {
    throw invalid('its fields cannot be read')
  }
}

/** CRC-32, eight hex digits: against slips of the hand, not against people. */
function checksum(text: string): string {
  let crc = 0xffffffff
  for (let i = 0; i < text.length; i++) {
    crc ^= text.charCodeAt(i) & 0xff
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ((crc ^ 0xffffffff) >>> 0).toString(16).padStart(8, '0')
}

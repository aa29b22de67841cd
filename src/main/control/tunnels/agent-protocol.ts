import type { KeyObject } from 'node:crypto'
import { sshSign } from '../trust/openssh/signature.ts'
import { MalformedWire, str, u8, u32, WireReader } from '../trust/openssh/wire.ts'

/** What one login is made with. The key is nowhere but here. */
export interface LoginIdentity {
  key: KeyObject
  /** Blob of the certificate. */
  certificate: Buffer
  /** The name it is for. */
  login: string
}

/** One connection of a client to its agent. */
export interface AgentState {
  /** The client lends it to the other side: nothing is signed for that one. */
  forwarded: boolean
}

/** Longest message, bytes: a request to sign holds a certificate of each side. */
const AGENT_MESSAGE_BYTES = 64 * 1024

const FAILURE = 5
const SUCCESS = 6
const REQUEST_IDENTITIES = 11
const IDENTITIES = 12
const SIGN_REQUEST = 13
const SIGNATURE = 14
const EXTENSION = 27
const USERAUTH_REQUEST = 50
/** The second also says which server it is for. */
const BY_KEY = ['publickey', 'publickey-hostbound-v00@openssh.com']

/** The answer to one message of an SSH agent's client. It signs logins under its own name and certificate, and nothing else. */
export function answerAgent(message: Buffer, identity: LoginIdentity | undefined, state: AgentState): Buffer {
  try {
    const reader = new WireReader(message)
    const type = reader.u8()
    if (type === EXTENSION) return u8(bind(reader, state) ? SUCCESS : FAILURE)
    const own = state.forwarded ? undefined : identity
    if (type === REQUEST_IDENTITIES) return identities(own)
    if (type === SIGN_REQUEST && own) return signed(reader, own)
    return u8(FAILURE)
  } catch (error) {
    if (error instanceof MalformedWire) return u8(FAILURE)
    throw error
  }
}

function identities(own: LoginIdentity | undefined): Buffer {
  if (!own) return Buffer.concat([u8(IDENTITIES), u32(0)])
  return Buffer.concat([u8(IDENTITIES), u32(1), str(own.certificate), str(`${own.login} by certificate`)])
}

/** OpenSSH since 8.9 says for which session it asks, and whether on behalf of the other side. */
function bind(reader: WireReader, state: AgentState): boolean {
  if (reader.string().toString('latin1') !== 'session-bind@openssh.com') return false
  for (let i = 0; i < 3; i++) reader.string()
  if (reader.u8() !== 0) state.forwarded = true
  return true
}

function signed(reader: WireReader, { key, certificate, login }: LoginIdentity): Buffer {
  const blob = reader.string()
  const data = reader.string()
  if (!blob.equals(certificate) || !isLoginRequest(data, login, certificate)) return u8(FAILURE)
  return Buffer.concat([u8(SIGNATURE), str(sshSign(key, data))])
}

function isLoginRequest(data: Buffer, login: string, certificate: Buffer): boolean {
  const reader = new WireReader(data)
  reader.string()
  if (reader.u8() !== USERAUTH_REQUEST) return false
  const [user, service, method] = [reader.string(), reader.string(), reader.string()].map((text) =>
    text.toString('utf8'),
  )
  const withSignature = reader.u8() === 1
  reader.string()
  return (
    user === login &&
    service === 'ssh-connection' &&
    BY_KEY.includes(method!) &&
    withSignature &&
    reader.string().equals(certificate)
  )
}

/** Cuts a stream into messages; undefined = a message longer than any. */
export function agentMessages(held: Buffer): { messages: Buffer[]; rest: Buffer } | undefined {
  const messages: Buffer[] = []
  let rest = held
  while (rest.length >= 4) {
    const length = rest.readUInt32BE()
    if (length === 0 || length > AGENT_MESSAGE_BYTES) return undefined
    if (rest.length < 4 + length) break
    messages.push(rest.subarray(4, 4 + length))
    rest = rest.subarray(4 + length)
  }
  return { messages, rest }
}

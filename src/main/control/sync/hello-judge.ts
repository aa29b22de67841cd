import { createPublicKey, verify } from 'node:crypto'
import { Fault } from '../../../ipc/faults.ts'
import type { Hello, SessionEnd } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { helloMessage } from '../../../ipc/hello-message.ts'
import { AGENT_PROTOCOL, MAX_EPOCH } from '../../../ipc/units.ts'

const SPKI_ED25519 = Buffer.from('302a300506032b6570032100', 'hex')

/** What the row of a host pins. */
export interface PinnedIdentity {
  name: string
  /** Raw ed25519 public key, base64. */
  identityPublicKey: string
  /** Empty = no SSH key is pinned (this computer). */
  hostKeyFingerprint: string
}

/** Undefined when the agent is the pinned one; else agent/version-skew, host/identity-mismatch or agent/misbehaved. Hello.host_id decides nothing. */
export function judgeHello(
  hello: Hello,
  nonce: Uint8Array,
  pinned: PinnedIdentity,
  hostKeyFingerprint: string,
): Fault | undefined {
  const { name: host } = pinned
  if (hello.protocolVersion !== AGENT_PROTOCOL) {
    return new Fault('agent/version-skew', 'permanent', { host, version: String(hello.protocolVersion) })
  }
  const mismatch = (detail: string) => new Fault('host/identity-mismatch', 'permanent', { host, detail })
  if (pinned.hostKeyFingerprint !== '' && pinned.hostKeyFingerprint !== hostKeyFingerprint) {
    return mismatch('another SSH host key')
  }
  if (Buffer.from(hello.identityPublicKey).toString('base64') !== pinned.identityPublicKey) {
    return mismatch('another identity key')
  }
  if (!signed(hello, nonce)) return mismatch('the identity key is not proven')
  if (hello.lastSeenEpoch <= MAX_EPOCH) return undefined
  return new Fault('agent/misbehaved', 'transient', { host, detail: 'no fleet has had as many epochs as it says' })
}

function signed(hello: Hello, nonce: Uint8Array): boolean {
  if (hello.identityPublicKey.length !== 32 || hello.signature.length !== 64) return false
  const key = createPublicKey({
    key: Buffer.concat([SPKI_ED25519, hello.identityPublicKey]),
    format: 'der',
    type: 'spki',
  })
  return verify(null, helloMessage(nonce, hello.hostId, hello.protocolVersion), key, hello.signature)
}

/** What the end of a session by the agent means; an unknown code is transient. */
export function faultOfEnd(host: string, end: SessionEnd): Fault {
  const detail = end.detail.slice(0, 300)
  switch (end.code) {
    case 'auth_rejected':
      return new Fault('agent/auth-rejected', 'permanent', { host, detail })
    case 'superseded':
      return new Fault('agent/superseded', 'transient', { host })
    case 'foreign_controller':
      return new Fault('agent/foreign-controller', 'permanent', { host, controller: end.controllerName.slice(0, 100) })
    default:
      return new Fault('host/no-answer', 'transient', { host, detail })
  }
}

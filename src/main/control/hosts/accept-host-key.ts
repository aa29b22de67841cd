import type { Duplex } from 'node:stream'
import { Fault } from '../../../ipc/faults.ts'
import type { Question, StepContext, TaskContext } from '../tasks/task-context.ts'
import { faultOfVerdict, type HostKeys, readTrust } from './host-key-trust.ts'
import type { SshTarget } from './ssh/config.ts'
import { readHostKey } from './ssh/connection.ts'
import { fingerprintOf, type HostKey, type HostKeyVerdict } from './ssh/host-keys.ts'

export interface AcceptedHostKey extends HostKey {
  /** `authority`: on the word of one that known_hosts trusts; the key itself may change. */
  how: 'accepted' | 'known-hosts' | 'authority'
}

/** A key and what it is filed under. */
export interface FiledKey {
  host: string
  port: number
  key: AcceptedHostKey
}

/**
 * Looks at the host's key before anything is sent. Raises what `judgeShownKey` raises, and the connection's faults.
 * `accept`: a fingerprint given beforehand; empty = none.
 */
export async function acceptHostKey(
  target: SshTarget,
  keys: HostKeys,
  task: Pick<TaskContext, 'ask' | 'signal'>,
  step: Pick<StepContext, 'detail'>,
  { socket, accept }: { socket: Duplex; accept: string },
): Promise<AcceptedHostKey> {
  const trust = await readTrust(target, keys)
  const key = await readHostKey({ target, hostKeyOrder: trust.order, signal: task.signal, socket })
  step.detail(`${key.type} ${key.fingerprint}`)
  const accepted = await judgeShownKey({ host: target.host, key, verdict: trust.judge(key), accept }, task)
  step.detail(acceptedWords(accepted))
  return accepted
}

/** The key, and on whose word it is trusted. */
export function acceptedWords({ type, fingerprint, how }: AcceptedHostKey): string {
  const trusted = {
    accepted: 'accepted by you',
    'known-hosts': 'known already',
    authority: 'signed by a certificate authority of your known_hosts, so nothing is asked',
  }[how]
  return `${type} ${fingerprint}, ${trusted}`
}

export interface ShownKey {
  /** Name of the host, for faults and questions. */
  host: string
  key: HostKey
  verdict: HostKeyVerdict
  accept: string
}

/**
 * A new key needs its fingerprint from a person, a changed one too, by a question of its own. Raises ssh/host-key-unknown,
 * -changed, -revoked.
 */
export async function judgeShownKey(shown: ShownKey, task: Pick<TaskContext, 'ask'>): Promise<AcceptedHostKey> {
  const { host, key, verdict, accept } = shown
  const fault = faultOfVerdict(host, key, verdict)
  if (!fault) {
    if (accept !== '' && accept !== key.fingerprint) throw notTheOneGiven(shown)
    return { ...key, how: verdict.kind === 'ok' && verdict.authority ? 'authority' : 'known-hosts' }
  }
  if (verdict.kind === 'revoked' || verdict.kind === 'invalid') throw fault
  if (accept !== '') {
    if (accept !== key.fingerprint) throw notTheOneGiven(shown)
    return { ...key, how: 'accepted' }
  }
  const { fingerprint } = await task.ask(questionOf(shown))
  if (fingerprint !== key.fingerprint) throw fault
  return { ...key, how: 'accepted' }
}

function questionOf({ host, key, verdict }: ShownKey): Question {
  const question = { kind: 'host_key' as const, host, keyType: key.type, fingerprint: key.fingerprint }
  if (verdict.kind !== 'changed') return question
  const { blob, since } = verdict.known
  return { ...question, known: { fingerprint: fingerprintOf(blob), ...(since ? { since } : {}) } }
}

const notTheOneGiven = ({ host, key, accept }: ShownKey) =>
  new Fault('ssh/host-key-changed', 'permanent', { host, fingerprint: key.fingerprint, known: accept })

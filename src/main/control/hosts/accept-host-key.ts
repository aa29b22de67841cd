import type net from 'node:net'
import { Fault } from '../../../ipc/faults.ts'
import type { Question, StepContext, TaskContext } from '../tasks/task-context.ts'
import { faultOfVerdict, type HostKeys, readTrust } from './host-key-trust.ts'
import type { SshTarget } from './ssh/config.ts'
import { readHostKey } from './ssh/connection.ts'
import { fingerprintOf, type HostKey, type HostKeyVerdict } from './ssh/host-keys.ts'

export interface AcceptedHostKey extends HostKey {
  how: 'accepted' | 'known-hosts'
}

/**
 * Looks at the host's key before anything is sent. A new key needs its fingerprint from a person, a changed one too, by a
 * question of its own. Raises ssh/host-key-unknown, -changed, -revoked, ssh/config-invalid.
 */
export async function acceptHostKey(
  target: SshTarget,
  keys: HostKeys,
  task: Pick<TaskContext, 'ask' | 'signal'>,
  step: Pick<StepContext, 'detail'>,
  { socket, accept }: { socket: net.Socket; accept: string },
): Promise<AcceptedHostKey> {
  const trust = await readTrust(target, keys)
  const key = await readHostKey({ target, hostKeyOrder: trust.order, signal: task.signal, socket })
  const verdict = trust.judge(key)
  step.detail(`${key.type} ${key.fingerprint}`)
  const fault = faultOfVerdict(target.host, key, verdict)
  if (!fault) {
    if (accept !== '' && accept !== key.fingerprint) throw notTheOneGiven(target, key, accept)
    return { ...key, how: 'known-hosts' }
  }
  if (verdict.kind === 'revoked' || verdict.kind === 'invalid') throw fault
  if (accept !== '') {
    if (accept !== key.fingerprint) throw notTheOneGiven(target, key, accept)
    return { ...key, how: 'accepted' }
  }
  const { fingerprint } = await task.ask(questionOf(target, key, verdict))
  if (fingerprint !== key.fingerprint) throw fault
  return { ...key, how: 'accepted' }
}

function questionOf(target: SshTarget, key: HostKey, verdict: HostKeyVerdict): Question {
  const question = { kind: 'host_key' as const, host: target.host, keyType: key.type, fingerprint: key.fingerprint }
  if (verdict.kind !== 'changed') return question
  const { blob, since } = verdict.known
  return { ...question, known: { fingerprint: fingerprintOf(blob), ...(since ? { since } : {}) } }
}

const notTheOneGiven = (target: SshTarget, key: HostKey, given: string) =>
  new Fault('ssh/host-key-changed', 'permanent', { host: target.host, fingerprint: key.fingerprint, known: given })

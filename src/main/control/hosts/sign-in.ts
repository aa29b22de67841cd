import { Fault } from '../../../ipc/faults.ts'
import type { TaskContext } from '../tasks/task-context.ts'
import type { SshTarget } from './ssh/config.ts'
import { connectSsh, type SshConnection } from './ssh/connection.ts'
import { type Credentials, gatherCredentials, type KeyRing, type Secrets, SignIn } from './ssh/credentials.ts'
import type { HostKey } from './ssh/host-keys.ts'

/** How often a person may give a secret before the sign-in fails. */
export const SECRET_TRIES = 3

export interface SignedIn {
  connection: SshConnection
  /** What it took; kept in memory for the next connection. */
  secrets: Secrets
  /** How it went, for people. */
  how: string
  /** Key file that let us in; empty = the agent or a password did. */
  identityFile: string
}

export interface SignInRequest {
  target: SshTarget
  /** The one key this host was accepted with. */
  hostKey: HostKey
  secrets: Secrets
  ring: KeyRing
  task: Pick<TaskContext, 'ask' | 'signal'>
}

/** Signs in, asking for a passphrase or a password where one can help. Raises ssh/auth-refused, ssh/passphrase-wrong, ssh/*. */
export async function signInAsking(request: SignInRequest): Promise<SignedIn> {
  const { target, ring, task } = request
  const asked = { passphrase: 0, password: 0 }
  let secrets = request.secrets
  for (;;) {
    const credentials = await gatherCredentials(target, secrets, ring)
    const signIn = new SignIn(credentials)
    try {
      const connection = await connectPinned({ ...request, signal: task.signal }, signIn)
      const last = signIn.last
      return {
        connection,
        secrets,
        how: signIn.tried.at(-1) ?? 'no credentials needed',
        identityFile: last?.kind === 'key' ? last.file : '',
      }
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'ssh/auth-refused') throw error
      const next = nextSecret(credentials, signIn.offered, asked)
      if (next.ask === undefined) throw next.fault ?? error
      const secret = (
        await task.ask({ kind: 'secret', what: next.ask, of: next.of ?? loginOf(target), problem: next.problem })
      ).secret
      if (!secret) throw error
      asked[next.ask]++
      secrets = { ...secrets, [next.ask]: secret }
    }
  }
}

type NextSecret = { ask: 'passphrase' | 'password'; of?: string; problem: string } | { ask: undefined; fault?: Fault }

/** Pure: which secret could open the door next. A locked key first, when the server takes keys. */
export function nextSecret(
  credentials: Pick<Credentials, 'files' | 'password'>,
  offered: readonly string[],
  asked: { passphrase: number; password: number },
): NextSecret {
  const takes = (method: string) => offered.length === 0 || offered.includes(method)
  const locked = credentials.files.find((file) => file.kind === 'locked' || file.kind === 'wrong')
  if (locked && takes('publickey') && asked.passphrase < SECRET_TRIES) {
    const problem = locked.kind === 'wrong' ? 'That passphrase does not open the key.' : ''
    return { ask: 'passphrase', of: locked.file, problem }
  }
  if ((takes('password') || takes('keyboard-interactive')) && asked.password < SECRET_TRIES) {
    const tried = credentials.password !== undefined
    return { ask: 'password', problem: tried ? 'The host did not take that password.' : '' }
  }
  if (locked && !takes('password') && !takes('keyboard-interactive'))
    return { ask: undefined, fault: new Fault('ssh/passphrase-wrong', 'permanent', { file: locked.file }) }
  return { ask: undefined }
}

/** Connects to the one key the host was accepted with; any other raises ssh/host-key-changed. */
export function connectPinned(
  { target, hostKey, signal }: Pick<SignInRequest, 'target' | 'hostKey'> & { signal: AbortSignal },
  signIn: SignIn,
): Promise<SshConnection> {
  return connectSsh({
    target,
    signIn,
    hostKeyOrder: orderFor(hostKey),
    verify: (key) =>
      key.blob.equals(hostKey.blob)
        ? undefined
        : new Fault('ssh/host-key-changed', 'permanent', {
            host: target.host,
            fingerprint: key.fingerprint,
            known: hostKey.fingerprint,
          }),
    signal,
  })
}

/** Only the type of the accepted key is asked for. */
function orderFor(key: HostKey) {
  if (key.type === 'ssh-rsa') return ['rsa-sha2-512' as const, 'rsa-sha2-256' as const]
  return [key.type as 'ssh-ed25519']
}

export const loginOf = (target: SshTarget): string => `${target.user}@${target.host}`

import { Fault } from '../../../ipc/faults.ts'
import type { Keep, TaskContext } from '../tasks/task-context.ts'
import { keyIdOf } from './ssh/auth-plan.ts'
import { SignIn } from './ssh/auth-walk.ts'
import type { SshTarget } from './ssh/config.ts'
import { connectSsh, type SshConnection, type SshConnectOptions } from './ssh/connection.ts'
import { type Credentials, gatherCredentials, type KeyRing, type Secrets } from './ssh/credentials.ts'
import type { HostKey } from './ssh/host-keys.ts'
import type { AskPrompt } from './ssh/prompts.ts'

/** How often a person may give a secret before the sign-in fails. */
export const SECRET_TRIES = 3
/** Connections for keys that a server's MaxAuthTries left no room for. */
export const KEY_ROUNDS = 3

export interface SignedIn {
  connection: SshConnection
  /** What it took; kept for the next connection. */
  secrets: Secrets
  /** Where the person said they stay. Absent = nothing was said. */
  keep?: Keep
  /** How it went, for people. */
  how: string
  /** Key file that let us in; empty = the agent or a password did. */
  identityFile: string
  /** Public half of the key that let us in, base64; empty = none did. */
  signInKey: string
}

export interface SignInRequest {
  target: SshTarget
  secrets: Secrets
  ring: KeyRing
  /** Public half of the key that let us in last. */
  signInKey?: string | undefined
  task: Pick<TaskContext, 'ask' | 'signal'>
  /** One connection, its host key judged. */
  connect(signIn: SignIn): Promise<SshConnection>
}

/**
 * Signs in, asking for what can help: a passphrase, a password, what the server itself asks (codes). Raises
 * ssh/auth-refused, ssh/passphrase-wrong, ssh/code-needed, ssh/*.
 */
export async function signInAsking(request: SignInRequest): Promise<SignedIn> {
  const { target, ring, task } = request
  const asked = { passphrase: 0, password: 0, answer: 0 }
  const refused = new Set<string>()
  let { secrets } = request
  let keep: Keep | undefined
  let problem = ''
  let rounds = 1
  const ask: AskPrompt = async ({ password, instruction, prompt, echo }, gone) => {
    const of = loginOf(target)
    const question = password
      ? ({ kind: 'secret', what: 'password', of, problem } as const)
      : ({ kind: 'prompt', of, instruction, prompt, echo, problem } as const)
    const answer = await task.ask(question, gone)
    if (!answer.secret) throw new Fault('ssh/code-needed', 'permanent', { prompt })
    problem = ''
    if (password) keep = answer.keep ?? keep
    return answer.secret
  }
  for (;;) {
    const credentials = await gatherCredentials(target, secrets, ring, request.signInKey)
    const keysFirst = lockedOf(credentials) !== undefined && asked.passphrase < SECRET_TRIES
    const signIn = new SignIn(credentials, { ask, keysFirst, refused })
    try {
      const connection = await request.connect(signIn)
      return { connection, ...learnt(signIn, secrets), ...(keep ? { keep } : {}) }
    } catch (error) {
      if (!(error instanceof Fault) || task.signal.aborted) throw error
      for (const key of signIn.refusedKeys) refused.add(key)
      if (error.code === 'ssh/not-now' && signIn.asking && asked.answer++ < SECRET_TRIES) {
        problem = 'The host did not wait for the answer. It asks anew.'
        continue
      }
      if (error.code !== 'ssh/auth-refused') throw error
      if (signIn.passwordRefused) secrets = withoutPassword(secrets)
      if (signIn.unfinished && rounds++ < KEY_ROUNDS) continue
      const next = nextSecret(credentials, signIn, asked)
      if (next.ask === undefined) throw next.fault ?? error
      asked[next.ask]++
      if (next.ask === 'answer') {
        problem = next.problem
        continue
      }
      const of = next.of ?? loginOf(target)
      const answer = await task.ask({ kind: 'secret', what: next.ask, of, problem: next.problem })
      if (!answer.secret) throw error
      keep = answer.keep ?? keep
      secrets = { ...secrets, [next.ask]: answer.secret }
    }
  }
}

/**
 * Signs in with what is known, asking nobody. `refused` is called when the host did not take the password. Raises
 * ssh/auth-refused, ssh/passphrase-wrong, ssh/code-needed, ssh/*.
 */
export async function signInAlone(request: Omit<SignInRequest, 'task'> & { refused(): void }): Promise<SshConnection> {
  const { target, secrets, ring } = request
  const credentials = await gatherCredentials(target, secrets, ring, request.signInKey)
  const refused = new Set<string>()
  for (let round = 1; ; round++) {
    const signIn = new SignIn(credentials, { refused })
    try {
      return await request.connect(signIn)
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'ssh/auth-refused') throw error
      if (signIn.passwordRefused) request.refused()
      for (const key of signIn.refusedKeys) refused.add(key)
      if (signIn.unfinished && !signIn.passwordRefused && round < KEY_ROUNDS) continue
      const locked = credentials.files.find((file) => file.kind === 'wrong')
      if (!locked) throw error
      throw new Fault('ssh/passphrase-wrong', 'permanent', { host: target.host, file: locked.file }, { cause: error })
    }
  }
}

type Ask = 'passphrase' | 'password' | 'answer'
type Heard = Pick<SignIn, 'offered' | 'prompted' | 'passwordRefused' | 'answerRefused'>
type NextSecret = { ask: Ask; of?: string; problem: string } | { ask: undefined; fault?: Fault }

/** Pure: what could open the door next: a locked key first, when the server takes keys; `answer` = let the server ask. */
export function nextSecret(
  credentials: Pick<Credentials, 'files' | 'password'>,
  { offered, prompted, passwordRefused, answerRefused }: Heard,
  asked: Record<Ask, number>,
): NextSecret {
  const takes = (method: string) => offered.length === 0 || offered.includes(method)
  const locked = lockedOf(credentials)
  if (locked && takes('publickey') && asked.passphrase < SECRET_TRIES) {
    const problem = locked.kind === 'wrong' ? 'That passphrase does not open the key.' : ''
    return { ask: 'passphrase', of: locked.file, problem }
  }
  const wrong = passwordRefused || answerRefused
  if (takes('keyboard-interactive') && prompted && wrong && asked.answer < SECRET_TRIES) {
    return { ask: 'answer', problem: passwordRefused ? WRONG_PASSWORD : 'The host did not take that answer.' }
  }
  if (takes('password') && asked.password < SECRET_TRIES) {
    return { ask: 'password', problem: passwordRefused ? WRONG_PASSWORD : '' }
  }
  if (locked && !takes('password') && !takes('keyboard-interactive'))
    return { ask: undefined, fault: new Fault('ssh/passphrase-wrong', 'permanent', { file: locked.file }) }
  return { ask: undefined }
}

const WRONG_PASSWORD = 'The host did not take that password.'

const lockedOf = ({ files }: Pick<Credentials, 'files'>) =>
  files.find((file) => file.kind === 'locked' || file.kind === 'wrong')

const withoutPassword = ({ password: _, ...rest }: Secrets): Secrets => rest

function learnt({ accepted, acceptedKey, typed }: SignIn, secrets: Secrets) {
  return {
    secrets: typed === undefined ? secrets : { ...secrets, password: typed },
    how: accepted.join(', then ') || 'no credentials needed',
    identityFile: acceptedKey?.kind === 'key' ? acceptedKey.file : '',
    signInKey: acceptedKey ? keyIdOf(acceptedKey.key) : '',
  }
}

/** Connects to the one key the host was accepted with; any other raises ssh/host-key-changed. */
export function connectPinned(
  { hostKey, ...way }: Pick<SshConnectOptions, 'target' | 'signal' | 'socket' | 'keepaliveMs'> & { hostKey: HostKey },
  signIn: SignIn,
): Promise<SshConnection> {
  return connectSsh({
    ...way,
    signIn,
    hostKeyOrder: orderFor(hostKey),
    verify: (key) =>
      key.blob.equals(hostKey.blob)
        ? undefined
        : new Fault('ssh/host-key-changed', 'permanent', {
            host: way.target.host,
            fingerprint: key.fingerprint,
            known: hostKey.fingerprint,
          }),
  })
}

/** Only the type of the accepted key is asked for. */
function orderFor(key: HostKey) {
  if (key.type === 'ssh-rsa') return ['rsa-sha2-512' as const, 'rsa-sha2-256' as const]
  return [key.type as 'ssh-ed25519']
}

export const loginOf = (target: SshTarget): string => `${target.user}@${target.host}`

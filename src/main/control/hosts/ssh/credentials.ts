import ssh2, { type AnyAuthMethod, type AuthHandlerMiddleware, type ParsedKey } from 'ssh2'
import type { SshTarget } from './config.ts'
import { type KeyFile, loadKeyFile } from './key-file.ts'

/** Secrets of one host: in memory only, never in a fault, a log or an argument. */
export interface Secrets {
  password?: string
  passphrase?: string
  sudoPassword?: string
}

/** What there is to sign in with, gathered before the handshake. */
export interface Credentials {
  user: string
  files: KeyFile[]
  agentKeys: ParsedKey[]
  agent: ssh2.BaseAgent | undefined
  password: string | undefined
}

export type Method =
  | { kind: 'none' }
  | { kind: 'agent'; keys: ParsedKey[] }
  | { kind: 'key'; file: string; key: ParsedKey }
  | { kind: 'password'; password: string }
  | { kind: 'keyboard'; password: string }

/** sshd ends the connection after six failures by default: five keys leave one try for a password. */
export const MAX_KEY_OFFERS = 5
const AGENT_TIMEOUT_MS = 5_000

/** Opens each key file once; a passphrase typed as the password opens keys too and is then not sent anywhere. */
export async function gatherCredentials(target: SshTarget, secrets: Secrets, ring: KeyRing): Promise<Credentials> {
  const phrases = [secrets.passphrase, secrets.password].filter((s): s is string => s !== undefined && s !== '')
  const files: KeyFile[] = []
  let opened = false
  for (const file of target.identityFiles) {
    const loaded = await ring.load(file, phrases)
    if (loaded.file.kind === 'missing') continue
    opened ||= loaded.openedWith !== undefined && loaded.openedWith === secrets.password
    files.push(loaded.file)
  }
  const agent = target.identityAgent === '' ? undefined : ssh2.createAgent(target.identityAgent)
  return {
    user: target.user,
    files,
    agent,
    agentKeys: agent ? chooseAgentKeys(await agentKeys(agent), files, target.identitiesOnly) : [],
    password: opened || secrets.password === '' ? undefined : secrets.password,
  }
}

/** Key files opened so far, for the life of the process. */
export class KeyRing {
  readonly #opened = new Map<string, KeyFile & { kind: 'key' }>()

  async load(file: string, phrases: readonly string[]): Promise<{ file: KeyFile; openedWith?: string }> {
    const kept = this.#opened.get(file)
    if (kept) return { file: kept }
    let loaded = await loadKeyFile(file)
    if (loaded.kind !== 'locked') return { file: loaded }
    for (const phrase of phrases) {
      loaded = await loadKeyFile(file, phrase)
      if (loaded.kind !== 'key') continue
      this.#opened.set(file, loaded)
      return { file: loaded, openedWith: phrase }
    }
    return { file: loaded }
  }
}

/** The agent's keys worth offering: those of the identity files first, others only where the configuration allows. */
export function chooseAgentKeys(keys: ParsedKey[], files: readonly KeyFile[], identitiesOnly: boolean): ParsedKey[] {
  const named = files.flatMap((file) =>
    file.kind === 'key' ? [file.key.getPublicSSH()] : 'publicBlob' in file && file.publicBlob ? [file.publicBlob] : [],
  )
  const isNamed = (key: ParsedKey) => named.some((blob) => blob.equals(key.getPublicSSH()))
  const others = identitiesOnly ? [] : keys.filter((key) => !isNamed(key))
  return [...keys.filter(isNamed), ...others].slice(0, MAX_KEY_OFFERS)
}

/** Everything to try, in order: nothing first (it tells what the server takes), keys, then the password. */
export function planMethods(credentials: Credentials): Method[] {
  const { agentKeys: held, files, password } = credentials
  const inAgent = (key: ParsedKey) => held.some((k) => k.getPublicSSH().equals(key.getPublicSSH()))
  const keys = files
    .filter((file) => file.kind === 'key')
    .filter(({ key }) => !inAgent(key))
    .slice(0, MAX_KEY_OFFERS - held.length)
  return [
    { kind: 'none' },
    ...(held.length > 0 ? [{ kind: 'agent' as const, keys: held }] : []),
    ...keys.map(({ file, key }) => ({ kind: 'key' as const, file, key })),
    ...(password === undefined
      ? []
      : [
          { kind: 'password' as const, password },
          { kind: 'keyboard' as const, password },
        ]),
  ]
}

const WIRE_NAME = {
  none: 'none',
  agent: 'publickey',
  key: 'publickey',
  password: 'password',
  keyboard: 'keyboard-interactive',
}

/** One sign-in: walks the plan, and keeps what was tried and what the server would take. */
export class SignIn {
  readonly tried: string[] = []
  /** Method names the server takes. Empty = it never said. */
  offered: string[] = []
  /** The method that ran last: the one that worked, after a sign-in. */
  last: Method | undefined
  readonly #plan: Method[]
  readonly #credentials: Credentials
  #next = 0

  constructor(credentials: Credentials) {
    this.#credentials = credentials
    this.#plan = planMethods(credentials)
  }

  readonly handler: AuthHandlerMiddleware = (left, _partial, answer) => {
    if (left) this.offered = [...left]
    const method = this.next()
    // ssh2 takes `false` for "nothing left", which its types leave out.
    answer(method ? this.#wire(method) : (false as never))
  }

  /** The next method the server would take; undefined when there is none. */
  next(): Method | undefined {
    for (;;) {
      const method = this.#plan[this.#next++]
      if (!method) return undefined
      if (this.offered.length > 0 && !this.offered.includes(WIRE_NAME[method.kind])) continue
      if (method.kind !== 'none') this.tried.push(nameOf(method))
      this.last = method
      return method
    }
  }

  #wire(method: Method): AnyAuthMethod {
    const username = this.#credentials.user
    switch (method.kind) {
      case 'none':
        return { type: 'none', username }
      case 'agent':
        return { type: 'agent', username, agent: onlyKeys(this.#credentials.agent!, method.keys) }
      case 'key':
        return { type: 'publickey', username, key: method.key }
      case 'password':
        return { type: 'password', username, password: method.password }
      case 'keyboard':
        return { type: 'keyboard-interactive', username, prompt: answerPrompts(method.password) }
    }
  }
}

function nameOf(method: Method): string {
  switch (method.kind) {
    case 'agent':
      return `ssh-agent (${method.keys.length} ${method.keys.length === 1 ? 'key' : 'keys'})`
    case 'key':
      return `key ${method.file}`
    case 'keyboard':
      return 'keyboard-interactive'
    default:
      return method.kind
  }
}

/** Answers one hidden prompt, once: anything else asks for what we do not have. */
function answerPrompts(password: string) {
  let given = false
  return (_name: string, _text: string, _lang: string, prompts: ssh2.Prompt[], finish: (answers: string[]) => void) => {
    const fits = prompts.length === 1 && prompts[0]?.echo !== true && !given
    given ||= fits
    finish(prompts.map(() => (fits ? password : '')))
  }
}

function onlyKeys(agent: ssh2.BaseAgent, keys: ParsedKey[]): ssh2.BaseAgent {
  const narrowed = Object.create(agent) as ssh2.BaseAgent
  narrowed.getIdentities = (done) => done(null, keys)
  return narrowed
}

/** Empty when the agent does not answer: other ways may still work. */
function agentKeys(agent: ssh2.BaseAgent): Promise<ParsedKey[]> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve([]), AGENT_TIMEOUT_MS)
    agent.getIdentities((error, keys) => {
      clearTimeout(timer)
      resolve(error ? [] : ((keys ?? []) as ParsedKey[]))
    })
  })
}

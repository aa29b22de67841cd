import ssh2, { type ParsedKey } from 'ssh2'
import type { SshTarget } from './config.ts'
import { type KeyFile, loadKeyFile } from './key-file.ts'

/** Secrets of one host: never in a fault, a log or an argument. */
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
  /** Public half of the key that let us in last, base64: offered before all others. */
  first?: string | undefined
}

const AGENT_TIMEOUT_MS = 5_000
/** Keys of an agent looked at. */
const MAX_AGENT_KEYS = 64

/** Opens each key file once; a passphrase typed as the password opens keys too and is then not sent anywhere. */
export async function gatherCredentials(
  target: SshTarget,
  secrets: Secrets,
  ring: KeyRing,
  first?: string,
): Promise<Credentials> {
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
    first,
  }
}

/** Key files opened so far, for the life of the process or until they are forgotten. */
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

  /** One that lies in no file, by the name it is asked for; `clear` takes it too. */
  put(name: string, key: ParsedKey): void {
    this.#opened.set(name, { kind: 'key', file: name, key })
  }

  /** Passphrases are needed again. */
  clear(): void {
    this.#opened.clear()
  }
}

/** The agent's keys worth offering: those of the identity files first, others only where the configuration allows. */
export function chooseAgentKeys(keys: ParsedKey[], files: readonly KeyFile[], identitiesOnly: boolean): ParsedKey[] {
  const named = files.flatMap((file) =>
    file.kind === 'key' ? [file.key.getPublicSSH()] : 'publicBlob' in file && file.publicBlob ? [file.publicBlob] : [],
  )
  const isNamed = (key: ParsedKey) => named.some((blob) => blob.equals(key.getPublicSSH()))
  const others = identitiesOnly ? [] : keys.filter((key) => !isNamed(key))
  return [...keys.filter(isNamed), ...others].slice(0, MAX_AGENT_KEYS)
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

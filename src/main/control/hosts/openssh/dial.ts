import { Fault } from '../../../../ipc/faults.ts'
import type { HostTyped } from '../../store/host-row.ts'
import type { KeyPlace } from '../host-key-trust.ts'
import { onTheWay } from '../jump-chain.ts'
import { knownAs, type SshTarget } from '../ssh/config.ts'
import type { SshConnection } from '../ssh/connection.ts'
import { type HostKey, hostKeyOf, type KnownKey, knownName } from '../ssh/host-keys.ts'
import { addressOf } from '../ssh/sign-in-faults.ts'
import { type AnswersOptions, type Learnt, PromptAnswers } from './answers.ts'
import { masterArguments } from './arguments.ts'
import { type Asked, type DeskAnswer, openAskDesk } from './ask-desk.ts'
import { opensshConnection } from './connection.ts'
import { dialConfig, dialEnvironment } from './dial-config.ts'
import { endFault, lastWords, signedInBy } from './end-words.ts'
import { type FolderWatch, watchFolder } from './folder-watch.ts'
import { type Master, startMaster } from './master.ts'
import { makeRunFolder, type RunFolder } from './run-folder.ts'

/** Whether a key is good: its fault when not. `print`: ssh does not find it by itself. */
export type KeyJudgement = { fault: Fault } | { print: boolean }

export interface OpensshDialOptions {
  target: SshTarget
  /** Hosts on the way, as far as this side knows them. */
  hops: readonly SshTarget[]
  /** A program dials (ProxyCommand). */
  proxied: boolean
  /** The person's own. Empty = none. */
  knownHostsCommand: string
  typed: HostTyped
  sshDir: string
  /** Where sockets of this process are. */
  runDir: string
  env: Readonly<Record<string, string | undefined>>
  /**
   * Judges a key of the target or of a host on the way, `presented` alone or in a certificate; asks a person where one is
   * there.
   */
  judge(place: KeyPlace, key: HostKey, presented: Buffer): Promise<KeyJudgement>
  /** Keys accepted here before, so that ssh asks for their types first. */
  known(place: KeyPlace): Promise<readonly KnownKey[]>
  prompts: Pick<AnswersOptions, 'secretsOf' | 'passphrases' | 'ask'>
  signal: AbortSignal
}

/** One sign-in by the system's ssh, as it goes on. All promises reject with why it ended. */
export interface OpensshDial {
  /** A first key was shown: of the target or of a host on the way. */
  readonly shown: Promise<void>
  /** The target's own key was found good. */
  readonly trusted: Promise<HostKey>
  /** The caller closes it. */
  readonly signedIn: Promise<SshConnection>
  /** How it signed in, for people. */
  how(): string
  learnt(): Learnt
}

/** From one thing that goes on to the next, while nobody is asked. */
const QUIET_TIMEOUT_MS = 60_000

/** Starts ssh, which signs in once; nothing of it is left when it ended. Raises app/part-missing by its promises. */
export async function dialOpenssh(options: OpensshDialOptions): Promise<OpensshDial> {
  const { target, hops, proxied, signal } = options
  const folder = await makeRunFolder(options.runDir)
  const env = dialEnvironment(options.env, folder)
  const state: { ready: boolean; answers?: PromptAnswers } = { ready: false }
  const begin = async (changes: FolderWatch) => {
    await folder.writeConfig(await dialConfig({ ...options, firstHop: hops[0]?.host }, folder))
    return startMaster({
      folder,
      changes,
      env,
      args: masterArguments({ typed: options.typed, dir: folder.dir, direct: !proxied && hops.length === 0 }),
      faultOf: (said) => {
        const fault = endFault(said, { host: target.host, address: addressOf(target), ready: state.ready })
        return withLocked(fault, state.answers?.locked)
      },
      signal,
    })
  }
  const { changes, master } = await watched(folder, begin)
  const answers = new PromptAnswers({
    ...options.prompts,
    host: target.host,
    instruction: () => lastWords(master.said()),
    giveUp: (fault) => master.end(fault),
  })
  state.answers = answers
  const patience = whileNobodyThinks(QUIET_TIMEOUT_MS, () => master.end(tooQuiet(target)))
  const keys = keyDesk(options, master)
  const desk = openAskDesk(folder.dir, changes, async (asked) => {
    const thought = patience.think()
    try {
      return await (asked.kind === 'prompt' ? answers.answer(asked.hint, asked.text) : keys.answer(asked))
    } catch (error) {
      master.end(error instanceof Fault ? error : new Fault('app/cancelled', 'cancelled', {}, { cause: error }))
      return undefined
    } finally {
      thought()
    }
  })
  master.gone.addEventListener('abort', () => {
    patience.stop()
    answers.end()
    desk.close()
    changes.close()
    keys.end(master.gone.reason)
    void folder.remove()
  })
  const signedIn = master.ready.then(() => {
    state.ready = true
    patience.stop()
    answers.end()
    const signedInMaster = { dir: folder.dir, host: target.host, changes, env, gone: master.gone }
    return opensshConnection(signedInMaster, keys.last(), (reason) => master.end(reason))
  })
  for (const each of [keys.shown, keys.trusted, signedIn]) each.catch(() => {})
  return {
    shown: keys.shown,
    trusted: keys.trusted,
    signedIn,
    how: () => signedInBy(master.said()),
    learnt: () => answers.learnt,
  }
}

/** What was made for a master that did not begin, as on a full disk, goes at once: a link dials for ever. */
async function watched(folder: RunFolder, begin: (changes: FolderWatch) => Promise<Master>) {
  let changes: FolderWatch | undefined
  try {
    changes = watchFolder(folder.dir)
    return { changes, master: await begin(changes) }
  } catch (error) {
    changes?.close()
    await folder.remove()
    throw error
  }
}

/** Answers ssh about host keys, and ends it at a bad one. */
function keyDesk(options: OpensshDialOptions, master: Master) {
  const shown = Promise.withResolvers<void>()
  const trusted = Promise.withResolvers<HostKey>()
  const own = nameOf(options.target)
  let last: HostKey | undefined
  return {
    shown: shown.promise,
    trusted: trusted.promise,
    /** The key of the host itself: its handshake is the last. */
    last: () => last ?? noKey(options.target),
    end(reason: unknown) {
      shown.reject(reason)
      trusted.reject(reason)
    },
    async answer(asked: Asked & { kind: 'host-key' }): Promise<DeskAnswer> {
      const place = placeOf(options, asked)
      if (asked.reason === 'ORDER') return (await options.known(place)).map((key) => keyLine(asked.name, key))
      const key = hostKeyOf(asked.key)
      if (asked.reason !== 'HOSTNAME' || !key) return []
      shown.resolve()
      const judgement = await options.judge(place, key, asked.key)
      if ('fault' in judgement) {
        master.end(judgement.fault)
        return undefined
      }
      last = key
      if (asked.name.toLowerCase() === own) trusted.resolve(key)
      return judgement.print ? [keyLine(asked.name, key)] : []
    },
  }
}

const nameOf = (target: SshTarget): string => {
  const { host, port } = knownAs(target)
  return knownName(host, port)
}

const keyLine = (name: string, { type, blob }: Pick<KnownKey, 'type' | 'blob'>): string =>
  `${name} ${type} ${blob.toString('base64')}`

/** Whose key it is, by the name ssh looks it up under; while it asks for an order it leaves the port out. */
function placeOf({ target, hops }: OpensshDialOptions, { name, reason }: { name: string; reason: string }): KeyPlace {
  const all = [target, ...hops.map((hop) => onTheWay(hop, target.host))]
  const wanted = name.toLowerCase()
  const found = all.find((host) => nameOf(host) === wanted)
  if (found) return found
  const byAddress = reason === 'ORDER' ? all.find((host) => host.address.toLowerCase() === wanted) : undefined
  if (byAddress) return byAddress
  const [, host = name, port = '22'] = /^\[(.*)\]:(\d+)$/.exec(name) ?? []
  return { host, address: host, port: Number(port), hostKeyName: host, knownHostsFiles: target.knownHostsFiles }
}

/** A key that nobody opened is why nothing else let us in. */
function withLocked(fault: Fault, file: string | undefined): Fault {
  if (fault.code !== 'ssh/auth-refused' || file === undefined) return fault
  return new Fault('ssh/passphrase-wrong', 'permanent', { host: fault.params['host'] ?? '', file }, { cause: fault })
}

const tooQuiet = (target: SshTarget) =>
  new Fault('host/unreachable', 'transient', {
    host: target.host,
    address: addressOf(target),
    detail: `nothing happened for ${QUIET_TIMEOUT_MS / 1000} s`,
  })

function noKey({ host }: SshTarget): never {
  throw new Fault('ssh/protocol', 'permanent', { host, detail: 'ssh showed no host key' })
}

/** A timer that stands still while somebody is asked. */
function whileNobodyThinks(ms: number, over: () => void) {
  let thinking = 0
  let timer: NodeJS.Timeout | undefined = setTimeout(over, ms)
  let stopped = false
  return {
    think() {
      thinking++
      clearTimeout(timer)
      return () => {
        if (--thinking === 0 && !stopped) timer = setTimeout(over, ms)
      }
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

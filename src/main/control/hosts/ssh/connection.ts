import type net from 'node:net'
import type { Duplex } from 'node:stream'
import ssh2 from 'ssh2'
import { Fault } from '../../../../ipc/faults.ts'
import { KiB } from '../../../../ipc/units.ts'
import { SignIn } from './auth-walk.ts'
import { watchFailures, watchGreeting } from './auth-watch.ts'
import { type Channels, openChannels } from './channels.ts'
import type { SshTarget } from './config.ts'
import { dial } from './dial.ts'
import { type HostKey, type HostKeyAlgorithm, hostKeyOf } from './host-keys.ts'
import {
  addressOf,
  authRefused,
  endedEarly,
  type Heard,
  lostFault,
  notNow,
  protocolFault,
  translate,
} from './sign-in-faults.ts'

export interface SshConnectOptions {
  target: SshTarget
  signIn: SignIn
  /** Types to ask for, best first. */
  hostKeyOrder: HostKeyAlgorithm[]
  /** Judges the key at once: undefined accepts it, a fault refuses it. Not asked again at a rekey. */
  verify(key: HostKey): Fault | undefined
  signal: AbortSignal
  /** Dialled already, perhaps through another host; absent = dial. */
  socket?: Duplex
  /** The server is asked for a sign of life this often. Absent = whoever uses the connection does. */
  keepaliveMs?: number
}

/** One SSH connection. Whoever opened it closes it. */
export interface SshConnection extends Channels {
  readonly client: 'ssh2' | 'openssh'
  readonly hostKey: HostKey
  /** Resolves once with why it ended; never rejects. */
  readonly closed: Promise<Fault>
  close(): void
}

/** Until the host key is agreed on. */
export const HANDSHAKE_TIMEOUT_MS = 15_000
/** For each answer of a sign-in: a slow name service or account service there takes its time. */
export const AUTH_STEP_TIMEOUT_MS = 45_000
const BANNER_CHARS = 4 * KiB
/** Electron's OpenSSL has no chacha20, and naming it there throws. */
const CIPHERS = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes256-ctr'] as const

/**
 * Signs in. Raises host/unreachable, the fault of `verify`, ssh/auth-refused (with the methods tried), ssh/code-needed,
 * ssh/not-now, ssh/unsupported and ssh/protocol.
 */
export async function connectSsh(options: SshConnectOptions): Promise<SshConnection> {
  const { target, signIn, signal } = options
  const socket = options.socket ?? (await dial(target, signal))
  const client = new ssh2.Client()
  const heard: Heard = { greeting: '', banner: '', version: false, handshake: false }
  let hostKey: HostKey | undefined
  let refused: Fault | undefined
  let first: Fault | undefined
  let ready = false
  let ended!: (fault: Fault) => void
  const closed = new Promise<Fault>((resolve) => {
    ended = resolve
  })
  const fail = (fault: Fault) => {
    first ??= fault
    client.destroy()
  }
  const patience = patient(() => fail(notNow(target, late(heard))))
  const verify = (blob: Buffer): boolean => {
    if (hostKey) return hostKey.blob.equals(blob)
    const key = hostKeyOf(blob)
    refused = key ? options.verify(key) : protocolFault(target, 'the host key is no SSH key')
    if (!refused) hostKey = key
    return !refused
  }
  // ssh2 may emit more than one error, and one without a listener ends the process.
  client.on('error', (error: Error & { level?: string; code?: unknown }) => {
    if (error.level === 'agent') return
    fail(refused ?? (ready ? lostFault(target, error.message, error) : translate(error, target, signIn, heard)))
  })
  client.on('close', () => {
    patience.stop()
    signIn.end()
    ended(first ?? refused ?? (ready ? lostFault(target) : endedEarly(target, signIn, heard)))
  })
  client.on('banner', (text: string) => {
    heard.banner = (heard.banner + text).slice(0, BANNER_CHARS)
  })
  client.on('change password', () =>
    fail(authRefused(target, signIn, 'its password has expired: change it there first')),
  )
  client.on('handshake', () => {
    heard.handshake = true
    patience.start(AUTH_STEP_TIMEOUT_MS)
  })
  signIn.onGiveUp = () => fail(named(signIn.gaveUp!, target))
  signIn.onAsking = (asking) => (asking ? patience.stop() : patience.start(AUTH_STEP_TIMEOUT_MS))
  const abort = () => client.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('ready', resolve)
      void closed.then((fault) => reject(signal.aborted ? signal.reason : fault))
      watchGreeting(socket, (text, version) => Object.assign(heard, { greeting: text, version }))
      patience.start(HANDSHAKE_TIMEOUT_MS)
      client.connect({
        sock: socket as net.Socket,
        username: target.user,
        authHandler: (left, partial, answer) => {
          patience.start(AUTH_STEP_TIMEOUT_MS)
          return signIn.handler(left, partial, answer)
        },
        hostVerifier: verify,
        // ssh2 judges by answers alone, which kills slow links: it only asks here.
        keepaliveInterval: options.keepaliveMs ?? 0,
        keepaliveCountMax: Number.MAX_SAFE_INTEGER,
        readyTimeout: 0,
        agentForward: false,
        algorithms: { cipher: [...CIPHERS], serverHostKey: options.hostKeyOrder, compress: ['none'] },
      })
      watchFailures(client, (methods, partial) => signIn.heard(methods, partial))
    })
    ready = true
    signIn.tookIt()
  } catch (error) {
    client.destroy()
    socket.destroy()
    throw error instanceof Fault || signal.aborted ? error : protocolFault(target, (error as Error).message, error)
  } finally {
    patience.stop()
    signal.removeEventListener('abort', abort)
  }
  return {
    client: 'ssh2',
    hostKey: hostKey!,
    closed,
    close: () => client.destroy(),
    ...openChannels(client, socket, target, closed),
  }
}

/** The key a host presents, without signing in. Raises host/unreachable, ssh/not-now, ssh/protocol, ssh/unsupported. */
export async function readHostKey(
  options: Pick<SshConnectOptions, 'target' | 'hostKeyOrder' | 'signal' | 'socket'>,
): Promise<HostKey> {
  const nobody = { user: options.target.user, files: [], agentKeys: [], agent: undefined, password: undefined }
  const enough = new Fault('app/cancelled', 'cancelled')
  let presented: HostKey | undefined
  const verify = (key: HostKey) => {
    presented = key
    return enough
  }
  const refused = await connectSsh({ ...options, signIn: new SignIn(nobody), verify }).catch((error: unknown) => error)
  if (refused !== enough || !presented) throw refused
  return presented
}

/** A timer that starts anew with each thing that goes on. */
function patient(over: () => void) {
  let timer: NodeJS.Timeout | undefined
  const stop = () => clearTimeout(timer)
  return {
    stop,
    start(ms: number) {
      stop()
      timer = setTimeout(over, ms)
    },
  }
}

const late = ({ handshake, version }: Heard): string => {
  if (handshake) return `it did not answer the sign-in for ${AUTH_STEP_TIMEOUT_MS / 1000} s`
  const words = version ? 'stopped in the handshake' : 'did not say a word'
  return `it took the connection and ${words} for ${HANDSHAKE_TIMEOUT_MS / 1000} s`
}

/** A fault of the walk, with the host it does not know. */
function named(fault: Fault, target: SshTarget): Fault {
  const { code, disposition, params } = fault
  if (disposition === 'cancelled') return fault
  return new Fault(code, disposition, { host: target.host, address: addressOf(target), ...params }, { cause: fault })
}

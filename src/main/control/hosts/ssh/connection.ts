import net from 'node:net'
import type { Duplex } from 'node:stream'
import ssh2, { type ClientChannel, type SFTPWrapper } from 'ssh2'
import { Fault } from '../../../../ipc/faults.ts'
import type { CommandChannel } from './channel.ts'
import type { SshTarget } from './config.ts'
import { SignIn } from './credentials.ts'
import { type HostKey, type HostKeyAlgorithm, hostKeyOf } from './host-keys.ts'
import { withinWindow } from './window-guard.ts'

export interface SshConnectOptions {
  target: SshTarget
  signIn: SignIn
  /** Types to ask for, best first. */
  hostKeyOrder: HostKeyAlgorithm[]
  /** Judges the key at once: undefined accepts it, a fault refuses it. Not asked again at a rekey. */
  verify(key: HostKey): Fault | undefined
  signal: AbortSignal
  /** Dialled already; absent = dial. */
  socket?: net.Socket
}

/** One SSH connection. Whoever opened it closes it. */
export interface SshConnection {
  readonly hostKey: HostKey
  /** Bytes received on the socket underneath. */
  rxBytes(): number
  /** A command's channel; the caller drains it. */
  exec(command: string): Promise<CommandChannel>
  /** Connects to a unix socket on the host. */
  openSocket(path: string): Promise<Duplex>
  /** The caller ends it. Its calls may hang after a loss: race them with `closed`. */
  sftp(): Promise<SFTPWrapper>
  /** Resolves once with why it ended; never rejects. */
  readonly closed: Promise<Fault>
  close(): void
}

export const DIAL_TIMEOUT_MS = 10_000
/** Handshake and sign-in together; covers a black hole after the dial. */
const READY_TIMEOUT_MS = 15_000
const OPEN_TIMEOUT_MS = 15_000
/** Electron's OpenSSL has no chacha20, and naming it there throws. */
const CIPHERS = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes256-ctr'] as const

/** A TCP connection to the host. Raises host/unreachable. */
export function dial(target: SshTarget, signal: AbortSignal): Promise<net.Socket> {
  const address = `${target.address}:${target.port}`
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: target.address, port: target.port, noDelay: true })
    const fail = (detail: string, cause?: unknown) => {
      socket.destroy()
      reject(new Fault('host/unreachable', 'transient', { host: target.host, address, detail }, { cause }))
    }
    const timer = setTimeout(() => fail('timed out'), DIAL_TIMEOUT_MS)
    const abort = () => {
      socket.destroy()
      reject(signal.reason)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    socket.once('error', (error) => fail(dialWords(error), error))
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      socket.on('error', () => {})
      resolve(socket)
    })
    socket.once('close', () => clearTimeout(timer))
    socket.once('connect', () => clearTimeout(timer))
    socket.once('close', () => signal.removeEventListener('abort', abort))
    socket.once('connect', () => signal.removeEventListener('abort', abort))
  })
}

/**
 * Signs in. Raises host/unreachable, the fault of `verify`, ssh/auth-refused (with the methods tried), ssh/unsupported and
 * ssh/protocol.
 */
export async function connectSsh(options: SshConnectOptions): Promise<SshConnection> {
  const { target, signIn, signal } = options
  const socket = options.socket ?? (await dial(target, signal))
  const client = new ssh2.Client()
  let hostKey: HostKey | undefined
  let refused: Fault | undefined
  let first: Fault | undefined
  let ready = false
  let ended!: (fault: Fault) => void
  const closed = new Promise<Fault>((resolve) => {
    ended = resolve
  })
  const verify = (blob: Buffer): boolean => {
    if (hostKey) return hostKey.blob.equals(blob)
    const key = hostKeyOf(blob)
    refused = key ? options.verify(key) : protocolFault(target, 'the host key is no SSH key')
    if (!refused) hostKey = key
    return !refused
  }
  // ssh2 may emit more than one error, and one without a listener ends the process.
  client.on('error', (error: Error & { level?: string }) => {
    if (error.level === 'agent') return
    first ??= refused ?? translate(error, target, signIn, ready)
    client.destroy()
  })
  client.on('close', () => ended(first ?? refused ?? lostOrRefused(target, signIn, ready)))
  const abort = () => client.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('ready', resolve)
      void closed.then((fault) => reject(signal.aborted ? signal.reason : fault))
      client.connect({
        sock: socket,
        username: target.user,
        authHandler: signIn.handler,
        hostVerifier: verify,
        keepaliveInterval: 0,
        readyTimeout: READY_TIMEOUT_MS,
        agentForward: false,
        algorithms: { cipher: [...CIPHERS], serverHostKey: options.hostKeyOrder, compress: ['none'] },
      })
    })
    ready = true
  } catch (error) {
    client.destroy()
    socket.destroy()
    throw error instanceof Fault || signal.aborted ? error : protocolFault(target, (error as Error).message, error)
  } finally {
    signal.removeEventListener('abort', abort)
  }
  return asConnection(client, socket, target, hostKey!, closed)
}

/** The key a host presents, without signing in. Raises host/unreachable, ssh/protocol, ssh/unsupported. */
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

function asConnection(
  client: ssh2.Client,
  socket: net.Socket,
  target: SshTarget,
  hostKey: HostKey,
  closed: Promise<Fault>,
): SshConnection {
  const opened = <T>(start: (done: (error: Error | undefined, channel: T) => void) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (error: unknown) => reject(error instanceof Fault ? error : openFault(target, error as Error))
      const timer = setTimeout(() => fail(new Error('no answer to a channel open')), OPEN_TIMEOUT_MS)
      void closed.then(fail)
      try {
        start((error, channel) => {
          clearTimeout(timer)
          if (error) fail(error)
          else resolve(channel)
        })
      } catch (error) {
        clearTimeout(timer)
        fail(error)
      }
    })
  const guarded = <T extends ClientChannel>(channel: T): T => withinWindow(channel, () => client.destroy())
  return {
    hostKey,
    closed,
    rxBytes: () => socket.bytesRead,
    exec: async (command) =>
      guarded(
        await opened<ClientChannel>((done) =>
          client.exec(command, (error, channel) => done(error, error ? channel : withExitKept(channel))),
        ),
      ),
    openSocket: async (path) =>
      guarded(await opened<ClientChannel>((done) => client.openssh_forwardOutStreamLocal(path, done))),
    sftp: () => opened<SFTPWrapper>((done) => client.sftp(done)),
    close: () => client.destroy(),
  }
}

/** A short command may have ended by the time its channel is handed on: whoever listens for `exit` then still hears it. */
function withExitKept(channel: ClientChannel): ClientChannel {
  channel.once('exit', (...told: unknown[]) => {
    channel.on('newListener', (event: string, listener: (...args: unknown[]) => void) => {
      if (event === 'exit') process.nextTick(listener, ...told)
    })
  })
  return channel
}

const protocolFault = (target: SshTarget, detail: string, cause?: unknown) =>
  new Fault('ssh/protocol', 'transient', { host: target.host, detail: detail.slice(0, 200) }, { cause })

const openFault = (target: SshTarget, error: Error) => protocolFault(target, error.message, error)

function lostOrRefused(target: SshTarget, signIn: SignIn, ready: boolean): Fault {
  if (ready) return new Fault('ssh/lost', 'transient', { host: target.host })
  // sshd hangs up without a word after too many failures.
  if (signIn.tried.length > 0) return authRefused(target, signIn)
  return protocolFault(target, 'the server closed the connection')
}

const authRefused = (target: SshTarget, signIn: SignIn, cause?: unknown) =>
  new Fault(
    'ssh/auth-refused',
    'permanent',
    {
      host: target.host,
      address: `${target.user}@${target.address}:${target.port}`,
      methods: signIn.tried.join(', '),
      offered: signIn.offered.join(', '),
    },
    { cause },
  )

function translate(error: Error & { level?: string }, target: SshTarget, signIn: SignIn, ready: boolean): Fault {
  if (error.level === 'client-authentication') return authRefused(target, signIn, error)
  if (ready) {
    const params = { host: target.host, detail: error.message.slice(0, 200) }
    return new Fault('ssh/lost', 'transient', params, { cause: error })
  }
  if (/no matching/i.test(error.message)) {
    const need = `other algorithms (${error.message.slice(0, 150)})`
    return new Fault('ssh/unsupported', 'permanent', { host: target.host, need }, { cause: error })
  }
  if (error.level === 'client-socket') return lostOrRefused(target, signIn, ready)
  return protocolFault(target, error.message, error)
}

function dialWords(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'connection refused'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name is not known'
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'no route to it'
    case 'ETIMEDOUT':
      return 'timed out'
    default:
      return (error.code ?? error.message).slice(0, 100)
  }
}

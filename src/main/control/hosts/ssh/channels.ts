import type net from 'node:net'
import type { Duplex } from 'node:stream'
import type { Client, ClientChannel, SFTPWrapper } from 'ssh2'
import type { TerminalSize } from '../../../../ipc/console-frames.ts'
import { Fault } from '../../../../ipc/faults.ts'
import type { CommandChannel } from './channel.ts'
import type { SshTarget } from './config.ts'
import { SessionSlots } from './session-slots.ts'
import { addressOf, protocolFault } from './sign-in-faults.ts'
import { withinWindow } from './window-guard.ts'

export interface ExecWay {
  /** A terminal: for a sudo that wants one, or of the size a person looks at. */
  pty?: boolean | TerminalSize
  /** It stays for the life of the connection. */
  lasting?: boolean
}

/** What a signed-in connection carries. */
export interface Channels {
  /** Bytes received on the socket underneath. */
  rxBytes(): number
  /** A command's channel; the caller drains it. Raises ssh/sessions-refused, ssh/no-shell. */
  exec(command: string, way?: ExecWay): Promise<CommandChannel>
  /** Connects to a unix socket on the host. */
  openSocket(path: string): Promise<Duplex>
  /** Connects to a TCP port as the host reaches it. */
  openTcp(host: string, port: number): Promise<Duplex>
  /** The caller ends it. Its calls may hang after a loss: race them with `closed`. */
  sftp(): Promise<SFTPWrapper>
}

const OPEN_TIMEOUT_MS = 15_000

/** What a signed-in connection opens. Each call rejects when the connection ends. */
export function openChannels(client: Client, socket: Duplex, target: SshTarget, closed: Promise<Fault>): Channels {
  const slots = new SessionSlots(target.host)
  const guarded = <T extends ClientChannel>(channel: T): T => withinWindow(channel, () => client.destroy())
  const opened = <T>(start: (done: (error: Error | undefined, channel: T) => void) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(protocolFault(target, 'no answer to a channel open')), OPEN_TIMEOUT_MS)
      void closed.then(reject)
      const fail = (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      }
      try {
        start((error, channel) => {
          clearTimeout(timer)
          if (error) fail(error)
          else resolve(channel)
        })
      } catch (error) {
        fail(error)
      }
    })
  const asFault = (error: unknown): never => {
    throw error instanceof Fault ? error : protocolFault(target, (error as Error).message, error)
  }
  let opening = 0
  const session = <T extends ClientChannel | SFTPWrapper>(
    start: (done: (error: Error | undefined, channel: T) => void) => void,
    lasting = false,
  ): Promise<T> =>
    slots.open(async () => {
      const before = new Set(sessionsOf(client))
      opening++
      try {
        return await opened(start)
      } catch (error) {
        if (opening === 1) for (const left of sessionsOf(client)) if (!before.has(left)) left.destroy()
        throw error
      } finally {
        opening--
      }
    }, lasting)
  return {
    rxBytes: counter(socket),
    exec: async (command, { pty = false, lasting = false } = {}) => {
      const start = (done: (error: Error | undefined, channel: ClientChannel) => void) =>
        client.exec(command, pty ? { pty: ptyOf(pty) } : {}, (error, channel) =>
          done(error, error ? channel : withExitKept(channel)),
        )
      const channel = await session<ClientChannel>(start, lasting).catch((error: unknown) => {
        if (error instanceof Error && /unable to (exec|request)/i.test(error.message))
          throw noShell(target, pty ? 'it gives no terminal' : 'it refuses commands', error)
        return asFault(error)
      })
      const resize = ({ rows, cols }: TerminalSize) => channel.setWindow(rows, cols, 0, 0)
      return Object.assign(guarded(channel), pty ? { resize } : {})
    },
    openSocket: async (path) =>
      guarded(await opened<ClientChannel>((done) => client.openssh_forwardOutStreamLocal(path, done)).catch(asFault)),
    openTcp: async (host, port) =>
      guarded(
        await opened<ClientChannel>((done) => client.forwardOut('127.0.0.1', 0, host, port, done)).catch(asFault),
      ),
    sftp: () => session<SFTPWrapper>((done) => client.sftp(done)).catch(asFault),
  }
}

const PTY = { term: 'dumb', rows: 24, cols: 200 }
const ptyOf = (pty: true | TerminalSize) => (pty === true ? PTY : { term: 'xterm-256color', ...pty })

const noShell = (target: SshTarget, detail: string, cause?: unknown) =>
  new Fault('ssh/no-shell', 'permanent', { host: target.host, address: addressOf(target), detail }, { cause })

function counter(socket: Duplex): () => number {
  if ('bytesRead' in socket) return () => (socket as net.Socket).bytesRead
  let bytes = 0
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  return () => bytes
}

/** A session that got no command or subsystem stays open in ssh2, and takes a place on the server. */
function sessionsOf(client: Client): { destroy(): void }[] {
  const { _chanMgr } = client as unknown as { _chanMgr?: { _channels?: Record<string, unknown> } }
  return Object.values(_chanMgr?._channels ?? {}).filter(
    (channel): channel is { type: string; destroy(): void } =>
      typeof channel === 'object' && channel !== null && SESSIONS.has((channel as { type?: unknown }).type),
  )
}

const SESSIONS = new Set<unknown>(['session', 'sftp'])

/** A short command may have ended by the time its channel is handed on: whoever listens for `exit` then still hears it. */
function withExitKept(channel: ClientChannel): ClientChannel {
  channel.once('exit', (...told: unknown[]) => {
    channel.on('newListener', (event: string, listener: (...args: unknown[]) => void) => {
      if (event === 'exit') process.nextTick(listener, ...told)
    })
  })
  return channel
}

import { constants, createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { Server } from 'node:net'
import type { ConnectRouter, HandlerContext } from '@connectrpc/connect'
import type { Log } from '../../ipc/base/log.ts'
import { toConnectError } from '../../ipc/fault-wire.ts'
import { AgentService } from '../../ipc/gen/eitri/agent/v1/agent_pb.js'
import { MiB, TIMES } from '../../ipc/units.ts'
import { Places } from '../exposures/limits.ts'
import { ClockHandler, type ClockSetter } from './clock-handler.ts'
import { type CommandTeller, commandOf } from './command-handler.ts'
import { type ConsoleSource, runConsole } from './console-handler.ts'
import { withWriteDeadline } from './deadlines.ts'
import { type HeldDesired, heldDesired } from './desired-handler.ts'
import { type GuestReach, MAX_FORWARDS, runForward } from './forward-handler.ts'
import { type HistoryKeeper, historyOf } from './history-handler.ts'
import { ImageHandler } from './image-handler.ts'
import { keepSocket, listenOnSocket } from './listen.ts'
import { type NetworkDoctor, NetworkHandler } from './network-handler.ts'
import { CALL_STREAM, requestHandler } from './request-handler.ts'
import { watchSession } from './session-ping.ts'
import { AgentSessions } from './sessions.ts'
import { agentStatus } from './status-handler.ts'
import type {
  AgentFacts,
  AgentSelf,
  ImageReceiver,
  JoinedWay,
  SessionIdentity,
  SyncEngine,
  UpgradeTaker,
} from './sync-engine.ts'
import { runSyncSession } from './sync-session.ts'
import { type AgentReceiver, UpgradeHandler } from './upgrade-handler.ts'

const MAX_CONNECTIONS = 64
const MAX_STREAMS = 256
const STREAM_WINDOW_BYTES = MiB
const SESSION_WINDOW_BYTES = 4 * MiB
const MAX_HEADER_BYTES = 16_384
/** Megabytes, Node's unit, of everything one connection may make us hold. */
const MAX_SESSION_MEMORY_MB = 32

export interface RpcServerOptions {
  socketPath: string
  /** 0o600, or 0o660 with `socketGid`. */
  socketMode: number
  socketGid?: number
  engine: SyncEngine & HeldDesired
  consoles: ConsoleSource
  images: ImageReceiver
  guests: GuestReach
  identity: SessionIdentity
  facts: AgentFacts
  self: AgentSelf
  clocks: ClockSetter
  history: HistoryKeeper
  commands: CommandTeller
  guestNetwork?: { resolve(suggestedCidrs: readonly string[]): Promise<void> }
  network: NetworkDoctor
  /** Absent = this agent is upgraded by other means. */
  upgrades?: UpgradeTaker & { staging: AgentReceiver }
  /** Absent = no host of this agent joins. */
  joined?: JoinedWay
  log: Log
  /** For tests: how often a session is pinged, ms. */
  pingMs?: number
  /** For tests: how long a peer may leave a message unread, or a short call unfinished, ms. */
  writeDeadlineMs?: number
  /** For tests: how long a connection may take to speak HTTP/2, ms. */
  handshakeMs?: number
}

/** A listening agent. `close` ends every session and removes the socket; idempotent. */
export interface RpcServer {
  close(): Promise<void>
}

/** Serves the agent's contract on its unix socket. Raises agent/already-running and input/invalid. */
export async function startRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  const sessions = new AgentSessions(options.identity, options.engine)
  const server = createServer(
    {
      settings: {
        enablePush: false,
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxConcurrentStreams: MAX_STREAMS,
        maxHeaderListSize: MAX_HEADER_BYTES,
      },
      maxSessionMemory: MAX_SESSION_MEMORY_MB,
    },
    requestHandler((router) => routes(router, options, sessions), options),
  )
  const open = trackSessions(server, options)
  const { socketPath: path, socketMode: mode, socketGid: gid } = options
  const place = { path, mode, ...(gid === undefined ? {} : { gid }) }
  await listenOnSocket(server as unknown as Server, place)
  const letGo = keepSocket(server as unknown as Server, place, options.log)
  return {
    close: async () => {
      await letGo()
      await close(server, open, sessions)
    },
  }
}

function routes(router: ConnectRouter, options: RpcServerOptions, sessions: AgentSessions): void {
  const images = new ImageHandler(options.images, sessions)
  const network = new NetworkHandler(options.network, sessions)
  const upgrades = options.upgrades && new UpgradeHandler(options.upgrades.staging, sessions)
  const clocks = new ClockHandler(options.clocks, sessions)
  const ms = options.writeDeadlineMs ?? TIMES.snapshotWriteMs
  const forwards = new Places(MAX_FORWARDS)
  const streamOf = (context: HandlerContext) => context.values.get(CALL_STREAM)
  const guarded = <T>(source: AsyncGenerator<T>, context: HandlerContext, onStall: () => void) =>
    withWriteDeadline(translated(source), ms, onStall, context.signal)
  router.service(AgentService, {
    sync: (requests, context) =>
      guarded(runSyncSession({ ...options, sessions }, requests, context.signal), context, () =>
        streamOf(context)?.session?.destroy(),
      ),
    console: (requests, context) =>
      guarded(runConsole({ consoles: options.consoles, sessions }, requests, context.signal), context, () =>
        streamOf(context)?.close(constants.NGHTTP2_CANCEL),
      ),
    // A peer may stop reading for as long as a connection may be idle: its window holds the guest back.
    forward: (requests, context) =>
      withWriteDeadline(
        translated(runForward({ reach: options.guests, sessions, open: forwards }, requests, context.signal)),
        options.guests.limits.tcpIdleMs,
        () => streamOf(context)?.close(constants.NGHTTP2_CANCEL),
        context.signal,
      ),
    statImage: async (request) => {
      try {
        return images.stat(request)
      } catch (error) {
        throw toConnectError(error)
      }
    },
    putImage: (requests, context) => images.put(requests, context.signal).catch(rethrow),
    collectImages: (request) => images.collect(request).catch(rethrow),
    checkNetwork: (request) => network.check(request).catch(rethrow),
    mendNetwork: (request) => network.mend(request).catch(rethrow),
    setGuestClock: (request, context) => clocks.set(request, context.signal).catch(rethrow),
    getHistory: (request) => historyOf(options.history, sessions, request).catch(rethrow),
    showCommand: (request, context) => commandOf(options.commands, sessions, request, context.signal).catch(rethrow),
    getDesired: (request) => {
      try {
        return heldDesired(options.engine, sessions, request)
      } catch (error) {
        throw toConnectError(error)
      }
    },
    ...(upgrades ? { putAgent: (requests, context) => upgrades.put(requests, context.signal).catch(rethrow) } : {}),
    dropKey: ({ sessionId }) => dropKey(options, sessions, sessionId).catch(rethrow),
    getStatus: () => agentStatus(options, sessions).catch(rethrow),
  })
}

/** Only for who is attached. */
async function dropKey({ joined }: RpcServerOptions, sessions: AgentSessions, sessionId: string) {
  sessions.require(sessionId)
  return { dropped: (await joined?.drop()) ?? false }
}

async function* translated<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* source
  } catch (error) {
    throw toConnectError(error)
  }
}

function rethrow(error: unknown): never {
  throw toConnectError(error)
}

function trackSessions(server: Http2Server, options: RpcServerOptions): Set<ServerHttp2Session> {
  const { pingMs, handshakeMs = TIMES.attachMs, log } = options
  const open = new Set<ServerHttp2Session>()
  server.maxConnections = MAX_CONNECTIONS
  let refused = 0
  server.on('drop', () => {
    if (refused++ === 0) log.warn('rpc.too-many-connections', { open: open.size })
  })
  server.on('session', (session) => {
    refused = 0
    open.add(session)
    const silent = setTimeout(() => session.destroy(), handshakeMs).unref()
    session.once('remoteSettings', () => clearTimeout(silent))
    session.once('close', () => clearTimeout(silent))
    session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    session.on('error', () => {})
    session.once('close', () => open.delete(session))
    const socket = session.socket
    watchSession(session, () => socket.bytesRead, pingMs)
  })
  server.on('sessionError', () => {})
  return open
}

async function close(server: Http2Server, open: Set<ServerHttp2Session>, sessions: AgentSessions): Promise<void> {
  sessions.current?.end({ code: 'transient', detail: 'the agent is stopping' })
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  await new Promise<void>((resolve) => setTimeout(resolve, CLOSE_GRACE_MS))
  for (const session of open) session.destroy()
  await closed
}

/** Time for the last words of a session to leave before its connection is cut, ms. */
const CLOSE_GRACE_MS = 100

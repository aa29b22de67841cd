import { AsyncResource } from 'node:async_hooks'
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Log } from '../../../ipc/base/log.ts'
import { type ConsoleFrame, cutUtf8, decodeConsoleFrame, encodeConsoleFrame } from '../../../ipc/console-frames.ts'
import { asFault } from '../../../ipc/faults.ts'
import { DEFAULT_TENANT } from '../../../ipc/request-headers.ts'
import { KiB, LIMITS } from '../../../ipc/units.ts'
import { refuseUpgrade } from '../refuse-upgrade.ts'
import type { ConsoleBroker } from './broker.ts'
import { ShellViewer } from './shell-viewer.ts'
import type { ConsoleSink, ConsoleViewer } from './viewer.ts'

export const CONSOLES_PER_WINDOW = 64
const WINDOWS = 64
const FRAME_BYTES = 5 + 8 + LIMITS.consoleInputBytes
/** A window that has this much unsent gets no more data until it is written out. */
const SOCKET_HIGH_BYTES = 256 * KiB
/** A window that has this much unsent breaks its side of the acks. */
const SOCKET_MAX_BYTES = (CONSOLES_PER_WINDOW + 8) * LIMITS.consoleChunkBytes
const PING_MS = 15_000

export interface ConsoleEndpoint {
  /** Takes over an upgrade request that was already authorised; its frames name VMs of this tenant. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, tenant: string): void
  /** Ends every window's socket with 1012 (service restart). */
  close(): void
}

/** The /console WebSocket: every console of one window over one socket. */
export function consoleEndpoint(broker: ConsoleBroker, log: Log, pingMs = PING_MS): ConsoleEndpoint {
  const server = new WebSocketServer({ noServer: true, maxPayload: FRAME_BYTES, perMessageDeflate: false })
  const windows = new Map<WebSocket, ConsoleWindow>()
  const pings = setInterval(() => {
    for (const [ws, window] of windows) {
      if (!window.alive && !ws.isPaused) ws.terminate()
      window.alive = false
      ws.ping()
    }
  }, pingMs)
  pings.unref()
  return {
    upgrade(req, socket, head, tenant) {
      if (server.clients.size >= WINDOWS) {
        refuseUpgrade(socket, 503)
        return
      }
      server.handleUpgrade(req, socket, head, (ws) => {
        windows.set(ws, new ConsoleWindow(ws, broker, tenant, log))
        ws.on('close', () => windows.delete(ws))
      })
    },
    close() {
      clearInterval(pings)
      for (const ws of server.clients) ws.close(1012)
      server.close()
    },
  }
}

/** Serves /console on an HTTP server; for VMs of the default tenant; `authorize` answers whether this request may. Returns what ends it. */
export function attachConsole(
  http: Server,
  broker: ConsoleBroker,
  authorize: (req: IncomingMessage) => boolean,
  log: Log,
): () => void {
  const endpoint = consoleEndpoint(broker, log)
  http.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (req.url?.split('?')[0] === '/console' && authorize(req)) endpoint.upgrade(req, socket, head, DEFAULT_TENANT)
    else refuseUpgrade(socket, 403)
  })
  return () => endpoint.close()
}

class ConsoleWindow {
  /** Answered the last ping, or sent something since. */
  alive = true
  readonly #ws: WebSocket
  readonly #broker: ConsoleBroker
  readonly #tenant: string
  readonly #viewers = new Map<number, ConsoleViewer | ShellViewer>()

  constructor(ws: WebSocket, broker: ConsoleBroker, tenant: string, log: Log) {
    this.#ws = ws
    this.#broker = broker
    this.#tenant = tenant
    const take = (data: Buffer, binary: boolean) => {
      this.alive = true
      try {
        if (!binary) throw new Error('a text message')
        this.#take(decodeConsoleFrame(data))
      } catch (error) {
        const problem = asFault(error).params['problem'] ?? String(error)
        log.warn('console window sent a bad frame', { problem })
        ws.close(1002, cutUtf8(problem))
      }
    }
    // Whoever upgraded is who asks in every frame.
    ws.on('message', AsyncResource.bind(take))
    ws.on('pong', () => {
      this.alive = true
    })
    ws.on('error', (error) => log.warn('console window socket failed', { message: error.message }))
    ws.on('close', () => {
      for (const viewer of [...this.#viewers.values()]) viewer.close()
    })
  }

  #take(frame: ConsoleFrame): void {
    if (frame.type === 'open' || frame.type === 'open-shell') {
      this.#open(frame)
      return
    }
    const viewer = this.#viewers.get(frame.id)
    // A frame may cross the close of its console on the way.
    if (!viewer) return
    if (frame.type === 'ack') viewer.ack(frame.offset)
    else if (frame.type === 'take-keyboard') viewer.takeKeyboard()
    else if (frame.type === 'close') viewer.close()
    else if (frame.type === 'resize' && viewer instanceof ShellViewer) viewer.resize(frame)
    else if (frame.type !== 'input') throw new Error(`a ${frame.type} frame`)
    // Only a window with one console may wait for its guest: waiting would hold up the acks of the others.
    else if (!viewer.input(frame.bytes) && this.#viewers.size === 1) this.#ws.pause()
  }

  #open(frame: Extract<ConsoleFrame, { type: 'open' | 'open-shell' }>): void {
    this.#viewers.get(frame.id)?.close()
    if (this.#viewers.size >= CONSOLES_PER_WINDOW) {
      const reason = `console unavailable: a window shows at most ${CONSOLES_PER_WINDOW}`
      void this.#send({ type: 'close', id: frame.id, reason })
      return
    }
    const sink: ConsoleSink = {
      send: (out) => this.#send(out),
      ended: () => this.#viewers.delete(frame.id),
      inputDrained: () => this.#ws.resume(),
    }
    const viewer =
      frame.type === 'open'
        ? this.#broker.open(this.#tenant, frame, sink)
        : this.#broker.openShell(this.#tenant, frame, sink)
    if (viewer) this.#viewers.set(frame.id, viewer)
  }

  #send(frame: ConsoleFrame): Promise<void> {
    const ws = this.#ws
    if (ws.readyState !== ws.OPEN) return Promise.resolve()
    if (ws.bufferedAmount > SOCKET_MAX_BYTES) {
      ws.terminate()
      return Promise.resolve()
    }
    const bytes = encodeConsoleFrame(frame)
    if (ws.bufferedAmount >= SOCKET_HIGH_BYTES) return new Promise((resolve) => ws.send(bytes, () => resolve()))
    ws.send(bytes)
    return Promise.resolve()
  }
}

import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Code } from '@connectrpc/connect'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Log } from '../../../ipc/base/log.ts'
import { connectCodeOf } from '../../../ipc/fault-wire.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { TUNNEL_END, tunnelFault } from '../../../ipc/tunnel-frames.ts'
import { LIMITS } from '../../../ipc/units.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import { type GuestStream, openGuestStream } from './guest-stream.ts'
import { TunnelPlaces, type TunnelVm } from './tunnel-places.ts'
import { tunnelRequest } from './tunnel-request.ts'

export interface TunnelParts<Vm extends TunnelVm> {
  /** One of the tenant that is not deleted; raises vm/* for any other, and for one of another tenant as if there were none. */
  vmOf(tenant: string, ref: string): Vm
  sessions: { active(hostId: string): ActiveSession | undefined }
  /** Has a login agent ready while it is held; returns what lets go of it. Raises why there can be no login. */
  holdLogin(vm: Vm, login: string): Promise<() => void>
  places?: TunnelPlaces
  log: Log
}

export interface TunnelEndpoint {
  /** Takes over an upgrade request that was already authorised. */
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, tenant: string): void
  /** Ends every tunnel with 1012 (service restart). */
  close(): void
}

const GOING_AWAY = 1012
const BROKEN = 1011
const PING_MS = 15_000
const GOODBYE_MS = 500

/** The /tunnel WebSocket: one TCP connection to a port of a guest. It is upgraded only once the guest took the connection. */
export function tunnelEndpoint<Vm extends TunnelVm>(parts: TunnelParts<Vm>): TunnelEndpoint {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: LIMITS.forwardChunkBytes,
    perMessageDeflate: false,
  })
  const { log, places = new TunnelPlaces() } = parts
  const closing = new AbortController()
  return {
    upgrade(req, socket, head, tenant) {
      socket.on('error', () => {})
      const own = new AbortController()
      const signal = AbortSignal.any([own.signal, closing.signal])
      void serve(parts, places, { req, socket, head, tenant, signal, server, end: () => own.abort() }).catch(
        (error) => {
          const fault = asFault(error)
          if (fault.disposition === 'bug') log.error('tunnel.bug', { message: String(error).slice(0, 300) })
          refuse(socket, fault)
        },
      )
    },
    close() {
      closing.abort(new Fault('app/cancelled', 'cancelled'))
      for (const ws of server.clients) {
        ws.close(GOING_AWAY)
        // One that does not read would hold up the end of everything for half a minute.
        setTimeout(() => ws.terminate(), GOODBYE_MS)
      }
      server.close()
    },
  }
}

interface Asked {
  req: IncomingMessage
  socket: Duplex
  head: Buffer
  tenant: string
  server: WebSocketServer
  /** Over when the tunnel is, or the control plane. */
  signal: AbortSignal
  end(): void
}

async function serve<Vm extends TunnelVm>(parts: TunnelParts<Vm>, places: TunnelPlaces, asked: Asked): Promise<void> {
  const { vm: ref, port, login } = tunnelRequest(asked.req)
  const vm = parts.vmOf(asked.tenant, ref)
  const session = parts.sessions.active(vm.hostId)
  if (!session) throw new Fault('host/no-answer', 'transient', { host: vm.hostName })
  const undo = [places.take(vm)]
  const over = () => {
    asked.end()
    for (const step of undo.splice(0)) step()
  }
  try {
    if (login !== '') undo.push(await parts.holdLogin(vm, login))
    let ws: WebSocket | undefined
    const { signal } = asked
    const stream = await openGuestStream({ session, vm, port, signal, drained: () => ws?.resume() })
    asked.server.handleUpgrade(asked.req, asked.socket, asked.head, (upgraded) => {
      ws = upgraded
      void carry(upgraded, stream).finally(over)
    })
    // A client that is gone, or spoke no WebSocket, was hung up on instead.
    if (!ws) over()
  } catch (error) {
    over()
    throw error
  }
}

/** Until both sides have ended, or one broke. Never rejects. */
async function carry(ws: WebSocket, stream: GuestStream): Promise<void> {
  const { outbox } = stream
  const gone = Promise.withResolvers<void>()
  // While it is not read, only writing finds out that a client is gone.
  const pings = setInterval(() => ws.isPaused && ws.ping(), PING_MS)
  ws.on('error', () => {})
  ws.on('close', () => gone.resolve())
  ws.on('message', (data: Buffer, binary: boolean) => {
    if (!binary && data.toString() === TUNNEL_END) outbox.end()
    else if (!binary) ws.close(1002, 'a text message')
    else if (!outbox.data(data as Buffer<ArrayBuffer>)) ws.pause()
  })
  try {
    await Promise.race([gone.promise, toClient(ws, stream)])
    ws.close(1000)
  } catch (error) {
    await sent(ws, tunnelFault(asFault(error)))
    ws.close(BROKEN)
  } finally {
    clearInterval(pings)
    outbox.close()
    // Paused, it would never see that the client is gone.
    ws.resume()
  }
}

async function toClient(ws: WebSocket, stream: GuestStream): Promise<void> {
  for await (const bytes of stream.bytes()) {
    const flushed = sent(ws, bytes)
    if (ws.bufferedAmount >= LIMITS.tunnelBufferBytes) await flushed
  }
  await sent(ws, TUNNEL_END)
  await stream.over()
}

const sent = (ws: WebSocket, message: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => ws.send(message, () => resolve()))

/** With the fault as its body, which the client shows. */
function refuse(socket: Duplex, fault: Fault): void {
  const status = statusOf(fault)
  const body = tunnelFault(fault)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: application/json\r\n`
  socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => socket.destroy())
}

function statusOf(fault: Fault): number {
  const code = connectCodeOf(fault)
  return code === Code.NotFound ? 404 : code === Code.InvalidArgument ? 400 : 503
}

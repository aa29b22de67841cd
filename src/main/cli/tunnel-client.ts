import type { IncomingMessage } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import WebSocket from 'ws'
import { Fault } from '../../ipc/faults.ts'
import { faultOfTunnel, TUNNEL_END, TUNNEL_PATH } from '../../ipc/tunnel-frames.ts'
import { LIMITS } from '../../ipc/units.ts'
import { type AskAs, askingHeaders } from '../fleet-client.ts'
import { write } from './io.ts'

export interface TunnelOptions {
  socketPath: string
  askAs: AskAs
  vm: string
  port: number
  /** Empty = no login by certificate. */
  login: string
  signal: AbortSignal
  /** Its end is the end of this side; the guest may go on. */
  input: Readable
  output: Writable
  /** The guest ended its side. */
  outputEnded(): void
}

const NORMAL = 1000
const REASON_BYTES = 64 * 1024

/** One connection to a port of a guest. Resolves when both sides have ended; rejects with why there is none, or why it broke. */
export function runTunnel(options: TunnelOptions): Promise<void> {
  const { socketPath, askAs, vm, port, login, signal, input, output } = options
  const query = new URLSearchParams({ vm, port: String(port), ...(login === '' ? {} : { login }) })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const ws = new WebSocket(`ws+unix:${socketPath}:${TUNNEL_PATH}?${query}`, {
    headers: askingHeaders(askAs),
    perMessageDeflate: false,
    maxPayload: LIMITS.forwardChunkBytes,
  })
  const broken = (detail: string) => new Fault('port/broken', 'transient', { vm, port: String(port), detail })
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  ws.on('unexpected-response', (_, response) => void reasonOf(response).then(reject))
  ws.on('error', () => reject(new Fault('app/not-running', 'transient', { socket: socketPath })))
  ws.on('open', () => {
    ws.removeAllListeners('error').on('error', () => {})
    send(ws, input).catch(reject)
  })
  let shown: Promise<void> = Promise.resolve()
  let waiting = 0
  ws.on('message', (data: Buffer, binary: boolean) => {
    if (!binary) {
      const text = data.toString()
      shown = shown.then(text === TUNNEL_END ? options.outputEnded : () => Promise.reject(faultOfTunnel(text)))
    } else {
      waiting += data.length
      if (waiting >= LIMITS.tunnelBufferBytes) ws.pause()
      shown = shown.then(async () => {
        await write(output, data)
        waiting -= data.length
        if (waiting < LIMITS.tunnelBufferBytes) ws.resume()
      })
    }
    shown.catch(reject)
  })
  ws.on('close', (code) => {
    if (code === NORMAL) shown.then(resolve, reject)
    else shown.then(() => reject(broken('the control plane went away')), reject)
  })
  return promise.finally(() => {
    signal.removeEventListener('abort', stop)
    ws.terminate()
  })
}

async function send(ws: WebSocket, input: Readable): Promise<void> {
  for await (const chunk of input as AsyncIterable<Buffer>)
    for (let at = 0; at < chunk.length; at += LIMITS.forwardChunkBytes) {
      const flushed = sent(ws, chunk.subarray(at, at + LIMITS.forwardChunkBytes))
      if (ws.bufferedAmount >= LIMITS.tunnelBufferBytes) await flushed
    }
  await sent(ws, TUNNEL_END)
}

/** A connection that ended meanwhile says why elsewhere. */
const sent = (ws: WebSocket, message: Uint8Array | string): Promise<void> =>
  new Promise((resolve) => ws.send(message, () => resolve()))

/** The body of a refused upgrade. */
async function reasonOf(response: IncomingMessage): Promise<Fault> {
  let text = ''
  try {
    for await (const part of response) if (text.length < REASON_BYTES) text += String(part)
  } catch {
    // What came is all there is.
  }
  return faultOfTunnel(text)
}

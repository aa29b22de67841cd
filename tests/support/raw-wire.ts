import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectH2, type Settings } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** What a client says first on HTTP/2, and an empty SETTINGS frame. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
export const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
export const METHODS = ['Sync', 'Console', 'StatImage', 'PutImage', 'GetStatus'] as const
export type Method = (typeof METHODS)[number]
const UNARY: ReadonlySet<string> = new Set(['StatImage', 'GetStatus'])

/** A connection that ignores what happens to it; reads and drops what comes. */
export async function rawSocket(socketPath: string): Promise<Socket> {
  const socket = connect(socketPath)
  socket.on('error', () => {})
  socket.resume()
  await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  return socket
}

/** Resolves once the peer has closed it. */
export const closedOf = (socket: { destroyed: boolean; once(e: 'close', fn: () => void): unknown }): Promise<void> =>
  new Promise((resolve) => (socket.destroyed ? resolve() : socket.once('close', () => resolve())))

export type RawSession = ClientHttp2Session & {
  /** From now on nothing is read from the socket any more. */
  stopReading(): void
}

export function rawSession(socketPath: string, settings: Settings = {}): RawSession {
  const socket = connect(socketPath)
  let stopped = false
  const duplex = new Duplex({
    read: () => void (stopped || socket.resume()),
    write: (chunk: Buffer, _, done) => socket.write(chunk, done),
    final: (done) => socket.end(done),
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (chunk) => void (duplex.push(chunk) || socket.pause()))
  socket.on('error', () => {})
  socket.once('close', () => duplex.destroy())
  duplex.on('error', () => {})
  const session = connectH2('http://agent.local', { createConnection: () => duplex, settings })
  session.on('error', () => {})
  const stopReading = () => {
    stopped = true
    socket.pause()
  }
  return Object.assign(session, { stopReading })
}

/** One call, its headers sent; other headers than right ones are given. */
export function rawCall(
  session: ClientHttp2Session,
  method: string,
  headers: Record<string, string> = {},
): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/eitri.agent.v1.AgentService/${method}`,
    'content-type': UNARY.has(method) ? 'application/proto' : 'application/connect+proto',
    'connect-protocol-version': '1',
    ...headers,
  })
  stream.on('error', () => {})
  return stream
}

/** The envelope of one message; `length` lies when given. */
export function enveloped(message: Uint8Array, { flags = 0, length = message.length } = {}): Buffer {
  const head = Buffer.alloc(5)
  head[0] = flags
  head.writeUInt32BE(length, 1)
  return Buffer.concat([head, message])
}

/** All a call was answered with, once it is over: status and body. */
export async function answerOf(stream: ClientHttp2Stream): Promise<{ status: number; body: string }> {
  let status = 0
  const body: Buffer[] = []
  stream.once('response', (headers) => {
    status = headers[':status'] ?? 0
  })
  stream.on('data', (chunk: Buffer) => body.push(chunk))
  await closedOf(stream)
  return { status, body: Buffer.concat(body).toString('latin1') }
}

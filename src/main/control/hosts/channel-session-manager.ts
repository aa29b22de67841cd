import http2 from 'node:http2'
import type { Duplex } from 'node:stream'
import { Code, ConnectError } from '@connectrpc/connect'
import type { Http2SessionManager } from '@connectrpc/connect-node'
import type { Fault } from '../../../ipc/faults.ts'
import { AgentService } from '../../../ipc/gen/eitri/agent/v1/agent_pb.js'
import { boundedEnvelopes, boundedMessage } from '../../../ipc/message-bounds.ts'
import { KiB, MiB } from '../../../ipc/units.ts'

/** Windows sized for distance: 64 KiB, the default, is 0.8 MB/s at 50 ms. */
const STREAM_WINDOW_BYTES = MiB
const SESSION_WINDOW_BYTES = 4 * MiB
const HEADER_BYTES = 16 * KiB
/** Megabytes, as node:http2 counts them. */
const SESSION_MEMORY_MB = 32

/** What the transport calls. */
type SessionManager = Pick<Http2SessionManager, 'authority' | 'request' | 'notifyResponseByteRead'>

/** One HTTP/2 session over one open duplex: never dials again, and what it carries ends with its fault. */
export class ChannelSessionManager implements SessionManager {
  readonly authority = 'http://agent.local'
  readonly session: http2.ClientHttp2Session
  /** Resolves once with why it ended; never rejects. */
  readonly closed: Promise<Fault>
  readonly #duplex: Duplex
  #dead: Fault | undefined
  #settle!: (fault: Fault) => void

  constructor(duplex: Duplex, lost: (detail: string) => Fault) {
    this.#duplex = duplex
    this.closed = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.session = http2.connect(this.authority, {
      createConnection: () => duplex,
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxHeaderListSize: HEADER_BYTES },
    })
    this.session.once('connect', () => {
      // It may have been ended before it came that far.
      if (!this.session.destroyed) this.session.setLocalWindowSize(SESSION_WINDOW_BYTES)
    })
    this.session.on('error', (error: Error) => this.end(lost(error.message)))
    this.session.on('close', () => this.end(lost('')))
    this.session.on('goaway', () => this.end(lost('the agent is going away')))
    duplex.on('error', (error: Error) => this.end(lost(error.message)))
    duplex.once('close', () => this.end(lost('')))
  }

  async request(
    method: string,
    path: string,
    headers: http2.OutgoingHttpHeaders,
    options: Omit<http2.ClientSessionRequestOptions, 'signal'>,
  ): Promise<http2.ClientHttp2Stream> {
    if (this.#dead) throw lossError(this.#dead)
    const stream = this.session.request({ ...headers, ':method': method, ':path': path }, options)
    const bounded = () => boundedAnswer(path, headers, eagerIterator(stream))
    stream[Symbol.asyncIterator] = bounded as (typeof stream)[typeof Symbol.asyncIterator]
    let answered = false
    stream.once('response', () => {
      answered = true
    })
    stream.once('close', () => {
      if (!answered && !stream.errored)
        stream.emit('error', this.#dead ? lossError(this.#dead) : new ConnectError('no answer', Code.Unavailable))
    })
    return stream
  }

  notifyResponseByteRead(): void {}

  /** Idempotent: the first fault stays. */
  end(fault: Fault): void {
    if (this.#dead) return
    this.#dead = fault
    this.session.destroy(lossError(fault), http2.constants.NGHTTP2_CANCEL)
    this.#duplex.destroy()
    this.#settle(fault)
  }

  get dead(): Fault | undefined {
    return this.#dead
  }
}

export const lossError = (fault: Fault): ConnectError =>
  new ConnectError(fault.message, Code.Unavailable, undefined, undefined, fault)

const METHODS = new Map(AgentService.methods.map((m) => [`/${AgentService.typeName}/${m.name}`, m]))

/** The answer with its messages bounded before anything decodes them. What is no message has its own bounds in bytes. */
function boundedAnswer(path: string, headers: http2.OutgoingHttpHeaders, answer: AsyncIterableIterator<Buffer>) {
  const method = METHODS.get(path)
  if (!method) return answer
  const refuse = () => new ConnectError('a message of too many parts', Code.ResourceExhausted)
  const bounded = headers['content-type'] === 'application/proto' ? boundedMessage : boundedEnvelopes
  return bounded(answer, method.output, refuse)
}

/** node:http2's own iterator attaches its listeners too late on Node 24.20 and newer and reports a premature close. */
function eagerIterator(stream: http2.ClientHttp2Stream): AsyncIterableIterator<Buffer> {
  let ended = false
  let error: Error | undefined
  let wake: (() => void) | undefined
  const poke = () => {
    const w = wake
    wake = undefined
    w?.()
  }
  stream.on('readable', poke)
  stream.on('end', () => {
    ended = true
    poke()
  })
  stream.on('error', (e: Error) => {
    error = e
    poke()
  })
  stream.on('close', () => {
    if (!ended && !error && stream.readableLength === 0 && !stream.readableEnded)
      error = stream.errored ?? new Error('stream closed early')
    poke()
  })
  return {
    async next() {
      for (;;) {
        const chunk = stream.read() as Buffer | null
        if (chunk !== null) return { done: false, value: chunk }
        if (error) throw error
        if (ended || stream.readableEnded) return { done: true, value: undefined }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    async return() {
      stream.close(http2.constants.NGHTTP2_CANCEL)
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

import { constants, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Stream } from 'node:http2'
import type { DescMethod } from '@bufbuild/protobuf'
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
} from '@connectrpc/connect'
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node'
import type { Log } from '../../ipc/base/log.ts'
import { boundedEnvelopes, boundedMessage } from '../../ipc/message-bounds.ts'
import { LIMITS, TIMES } from '../../ipc/units.ts'

/** The HTTP/2 stream a call came on, for cutting it off. */
export const CALL_STREAM = createContextKey<ServerHttp2Stream | undefined>(undefined)

/**
 * Serves the routes on HTTP/2. Unlike connectNodeAdapter a lost peer is one line in our log, not a stack on stderr, a
 * call without streams ends after `writeDeadlineMs` at the latest, and a stream is over once it is answered.
 */
export function requestHandler(
  routes: (router: ConnectRouter) => void,
  { log, writeDeadlineMs = TIMES.snapshotWriteMs }: { log: Log; writeDeadlineMs?: number },
): (request: Http2ServerRequest, response: Http2ServerResponse) => void {
  const router = createConnectRouter({
    readMaxBytes: LIMITS.agentMessageBytes,
    writeMaxBytes: LIMITS.agentMessageBytes,
    acceptCompression: [],
  })
  routes(router)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
  return (request, response) => {
    const { stream } = request
    // What the peer would still send of an answered request nobody reads.
    stream.once('finish', () => endIn(stream, ANSWERED_MS, constants.NGHTTP2_NO_ERROR))
    const handler = handlers.get(request.url)
    if (!handler) return void response.writeHead(404).end()
    const { method } = handler
    // Text forms of a message are nobody's need here, and no bound of ours counts what is inside them.
    if (request.headers['content-type'] !== CONTENT_TYPE[method.methodKind === 'unary' ? 'unary' : 'stream'])
      return void response.writeHead(415).end()
    const values = createContextValues().set(CALL_STREAM, stream)
    if (method.methodKind === 'unary') endIn(stream, writeDeadlineMs, constants.NGHTTP2_CANCEL)
    const call = universalRequestFromNodeRequest(request, response, undefined, values)
    handler({ ...call, body: bounded(method, call.body as AsyncIterable<Uint8Array>) })
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((error: unknown) => {
        if (stream.destroyed) return
        log.warn('rpc.call-failed', { method: method.name, error: String(error).slice(0, 300) })
        stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      })
  }
}

/** A peer in good order ends its own side of an answered call within this. */
const ANSWERED_MS = 1_000

const CONTENT_TYPE = { unary: 'application/proto', stream: 'application/connect+proto' }

const bounded = ({ methodKind, input }: DescMethod, body: AsyncIterable<Uint8Array>) =>
  (methodKind === 'unary' ? boundedMessage : boundedEnvelopes)(body, input, tooManyParts)

const tooManyParts = () => new ConnectError('a message of too many parts', Code.ResourceExhausted)

function endIn(stream: ServerHttp2Stream, ms: number, code: number): void {
  const timer = setTimeout(() => stream.close(code), ms).unref()
  stream.once('close', () => clearTimeout(timer))
}

import { constants, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Stream } from 'node:http2'
import { type ConnectRouter, createConnectRouter, createContextKey, createContextValues } from '@connectrpc/connect'
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node'
import type { Log } from '../../ipc/base/log.ts'
import { LIMITS } from '../../ipc/units.ts'

/** The HTTP/2 stream a call came on, for cutting it off. */
export const CALL_STREAM = createContextKey<ServerHttp2Stream | undefined>(undefined)

/** Serves the routes on HTTP/2. Unlike connectNodeAdapter a lost peer is one line in our log, not a stack on stderr. */
export function requestHandler(
  routes: (router: ConnectRouter) => void,
  log: Log,
): (request: Http2ServerRequest, response: Http2ServerResponse) => void {
  const router = createConnectRouter({
    readMaxBytes: LIMITS.agentMessageBytes,
    writeMaxBytes: LIMITS.agentMessageBytes,
    acceptCompression: [],
  })
  routes(router)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
  return (request, response) => {
    const handler = handlers.get(request.url)
    if (!handler) return void response.writeHead(404).end()
    const values = createContextValues().set(CALL_STREAM, request.stream)
    handler(universalRequestFromNodeRequest(request, response, undefined, values))
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((error: unknown) => {
        if (request.stream.destroyed) return
        log.warn('rpc.call-failed', { method: handler.method.name, error: String(error).slice(0, 300) })
        request.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      })
  }
}

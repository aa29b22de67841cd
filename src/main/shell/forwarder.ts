import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { CONTENT_POLICY } from '../../ipc/content-policy.ts'

/** What belongs to one connection, or says who asks: neither is passed on. */
const NOT_FORWARDED = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'origin',
  'referer',
  'cookie',
  // A custom scheme's answers are not decoded by the page.
  'accept-encoding',
  'set-cookie',
])
const NO_BODY = new Set([101, 204, 205, 304])

/** Answers a request of our own pages with what the control plane's unix socket says, streaming both ways; an abort on either side ends the other. `lost` hears that nobody answers there. */
export async function forwardToSocket(request: Request, socketPath: string, lost = () => {}): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const headers = Object.fromEntries([...request.headers].filter(([name]) => forwarded(name)))
  const sent = httpRequest({ socketPath, path: pathname + search, method: request.method, headers })
  const abort = () => sent.destroy(new DOMException('aborted', 'AbortError'))
  request.signal.addEventListener('abort', abort, { once: true })
  sent.on('close', () => request.signal.removeEventListener('abort', abort))
  if (request.signal.aborted) abort()
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve)
    sent.on('error', reject)
  })
  if (request.body) {
    const body = Readable.fromWeb(request.body as unknown as NodeReadableStream)
    body.on('error', (error) => sent.destroy(error))
    sent.on('close', () => body.destroy())
    body.pipe(sent)
  } else sent.end()
  try {
    return responseOf(await answer)
  } catch (error) {
    if (request.signal.aborted) throw error
    lost()
    return new Response('The control plane does not answer.\n', { status: 502, headers: ownHeaders() })
  }
}

const forwarded = (name: string) => !NOT_FORWARDED.has(name) && !name.startsWith('sec-')

function ownHeaders(): Headers {
  return new Headers({ 'content-security-policy': CONTENT_POLICY, 'x-content-type-options': 'nosniff' })
}

function responseOf(answer: IncomingMessage): Response {
  const headers = ownHeaders()
  for (const [name, values] of Object.entries(answer.headersDistinct))
    if (forwarded(name) && !headers.has(name)) for (const value of values ?? []) headers.append(name, value)
  const status = answer.statusCode ?? 502
  if (NO_BODY.has(status)) {
    answer.resume()
    return new Response(null, { status, headers })
  }
  // Cancelling the response destroys the socket, and with it the call in the control plane.
  return new Response(Readable.toWeb(answer) as unknown as ReadableStream, { status, headers })
}

import http, { type IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { BUILD_INFO } from '../build-info.ts'

/** An answer whose body has not been read. Who is done with it destroys the body, which closes the connection. */
export interface HttpAnswer {
  status: number
  statusText: string
  headers: IncomingHttpHeaders
  body: Readable
}

/** One GET, redirects not followed. The signal ends the body too, with its reason. */
export type HttpRequest = (url: URL, headers: Record<string, string>, signal: AbortSignal) => Promise<HttpAnswer>

/**
 * A connection of its own for each request. Not fetch: its HTTP/1 parser throws where nobody can catch it when a server
 * closes the connection while the disk is slower than the network.
 */
export const httpRequest: HttpRequest = async (url, headers, signal) => {
  signal.throwIfAborted()
  const { request } = url.protocol === 'https:' ? https : http
  const all = { accept: '*/*', 'user-agent': `eitri-agent/${BUILD_INFO.version}`, ...headers }
  return await new Promise((resolve, reject) => {
    const sent = request(url, { agent: false, headers: all })
    const abort = () => sent.destroy(asError(signal.reason))
    signal.addEventListener('abort', abort, { once: true })
    const over = () => signal.removeEventListener('abort', abort)
    sent.on('error', reject)
    sent.once('close', () => {
      over()
      reject(new Error('the connection ended without an answer'))
    })
    sent.once('response', (body) => {
      signal.removeEventListener('abort', abort)
      readUntil(signal, body)
      resolve({ status: body.statusCode ?? 0, statusText: body.statusMessage ?? '', headers: body.headers, body })
    })
    sent.end()
  })
}

/** Its listener keeps an error from being thrown at nobody between two reads. */
function readUntil(signal: AbortSignal, body: Readable): void {
  const abort = () => body.destroy(asError(signal.reason))
  signal.addEventListener('abort', abort, { once: true })
  body.on('error', () => {})
  body.once('close', () => signal.removeEventListener('abort', abort))
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)))

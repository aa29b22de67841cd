import type { IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { Fault } from '../../../../ipc/faults.ts'
import { WEB_PAGE } from './digest-list.ts'

/** An answer whose body has not been read. Who is done with it destroys the body. */
export interface HttpsAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Readable
}

/** One GET over TLS, redirects not followed. The signal ends the body too. */
export type HttpsRequest = (url: URL, signal: AbortSignal) => Promise<HttpsAnswer>

const MAX_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]
const ANSWER_MS = 30_000

/** A connection of its own for each request, certificates checked against `ca`, else against those Node trusts. */
export const httpsRequest =
  (ca?: string): HttpsRequest =>
  (url, signal) =>
    new Promise((resolve, reject) => {
      const headers = { accept: '*/*', 'user-agent': 'eitri' }
      const sent = https.get(url, { agent: false, headers, signal, ...(ca === undefined ? {} : { ca }) })
      sent.on('error', reject)
      sent.once('response', (body) => {
        // Between two reads nobody else listens.
        body.on('error', () => {})
        resolve({ status: body.statusCode ?? 0, headers: body.headers, body })
      })
    })

/** What stands at an https address, redirects followed to https alone. Raises image/publisher-silent and image/list-unusable. */
export async function httpsGet(request: HttpsRequest, url: string, signal: AbortSignal): Promise<HttpsAnswer> {
  let at = new URL(url)
  for (let hops = 0; ; hops++) {
    const answer = await answerOf(request, at, signal)
    if (!REDIRECTS.includes(answer.status)) {
      if (answer.status === 200 && !/^text\/html\b/i.test(answer.headers['content-type'] ?? '')) return answer
      answer.body.destroy()
      if (answer.status === 200) throw unusable(at, WEB_PAGE)
      const detail = `it answered ${answer.status}`
      throw answer.status >= 500 || answer.status === 429 ? silent(at, detail) : unusable(at, detail)
    }
    answer.body.destroy()
    const next = URL.parse(answer.headers.location ?? '', at.href)
    if (!next) throw unusable(at, 'it redirects to nowhere')
    if (next.protocol !== 'https:')
      throw unusable(at, `it redirects to ${next.protocol.slice(0, 20)}, and only https is trusted`)
    if (hops === MAX_REDIRECTS) throw unusable(at, `it redirects more than ${MAX_REDIRECTS} times`)
    at = next
  }
}

async function answerOf(request: HttpsRequest, url: URL, signal: AbortSignal): Promise<HttpsAnswer> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), ANSWER_MS)
  try {
    return await request(url, AbortSignal.any([signal, late.signal]))
  } catch (error) {
    throwIfEnded(signal, url)
    if (late.signal.aborted) throw silent(url, `no answer in ${ANSWER_MS / 1000} s`, error)
    throw silent(url, reasonOf(error), error)
  } finally {
    clearTimeout(timer)
  }
}

/** Raises what ended it: a person, or its own deadline as image/publisher-silent. */
export function throwIfEnded(signal: AbortSignal, url: URL | string): void {
  if (!signal.aborted) return
  if (signal.reason instanceof Fault) throw signal.reason
  throw silent(url, 'it took too long', signal.reason)
}

/** Asking again may help. */
export const silent = (url: URL | string, detail: string, cause?: unknown): Fault =>
  new Fault('image/publisher-silent', 'transient', { url: shown(url), detail }, { cause })

/** Asking the same again is in vain. */
export const unusable = (url: URL | string, detail: string): Fault =>
  new Fault('image/list-unusable', 'permanent', { url: shown(url), detail })

function shown(url: URL | string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}

const WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name is not known; is this computer online?',
  EAI_AGAIN: 'its name could not be looked up; is this computer online?',
  ECONNREFUSED: 'it refuses connections',
  ECONNRESET: 'it closed the connection',
  ETIMEDOUT: 'no answer',
  ENETUNREACH: 'there is no way to it from this network',
  EHOSTUNREACH: 'there is no way to it from this network',
  CERT_HAS_EXPIRED: 'its certificate has expired; is the clock of this computer right?',
}

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (/CERT|SIGN|ISSUER|ALTNAME|SSL/.test(code) && WORDS[code] === undefined)
    return `its certificate is not trusted (${code}): something stands between this computer and it`
  return WORDS[code] ?? (code || message).slice(0, 120)
}

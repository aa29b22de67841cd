import { Fault } from '../../ipc/faults.ts'
import { around } from '../os/failpoints.ts'
import type { HttpAnswer, HttpRequest } from './http-request.ts'

/** Hops followed before a server is taken for broken. */
const MAX_REDIRECTS = 5
/** Longest wait a server may ask for, ms. */
const MAX_RETRY_AFTER_MS = 3_600_000
/** Answers of the 4xx kind that may change by themselves: timeout, misdirected, too early, too many. */
const PASSING = [408, 421, 425, 429]
const REDIRECTS = [301, 302, 303, 307, 308]

/** The answer to a GET, redirects followed to http and https alone and never from https to http. */
export async function httpGet(
  url: string,
  { request, headers, signal }: { request: HttpRequest; headers: Record<string, string>; signal: AbortSignal },
): Promise<HttpAnswer> {
  let at = httpUrl(url)
  if (!at) throw new Fault('input/invalid', 'permanent', { field: 'image_url', problem: 'use an http or https URL' })
  for (let hops = 0; ; hops++) {
    const { target, login } = withoutLogin(at)
    const answer = await around('image.get', () => request(target, { ...headers, ...login }, signal))
    if (!REDIRECTS.includes(answer.status)) return answer
    answer.body.destroy()
    at = nextHop(url, at, answer.headers.location)
    if (hops === MAX_REDIRECTS) throw refused(url, `the server redirects more than ${MAX_REDIRECTS} times`)
  }
}

function nextHop(url: string, from: URL, location: string | undefined): URL {
  const next = location === undefined ? null : URL.parse(location, from.href)
  if (!next) throw unreachable(url, 'the server redirects to nowhere')
  const to = httpUrl(next.href)
  if (!to) throw refused(url, `the server redirects to ${next.protocol.slice(0, 20)}, which is not fetched`)
  if (from.protocol === 'https:' && to.protocol === 'http:')
    throw refused(url, 'the server redirects from https to http')
  return to
}

function httpUrl(text: string): URL | undefined {
  const url = URL.parse(text)
  return url && ['http:', 'https:'].includes(url.protocol) ? url : undefined
}

/** No message of a layer below may quote a login. */
function withoutLogin(url: URL): { target: URL; login: Record<string, string> } {
  if (url.username === '' && url.password === '') return { target: url, login: {} }
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const bare = new URL(url)
  bare.username = ''
  bare.password = ''
  return { target: bare, login: { authorization: `Basic ${Buffer.from(login).toString('base64')}` } }
}

/** The fault of an answer that is no image. A plain "no" will not change by asking again; everything else may. */
export function badAnswer(url: string, { status, statusText, headers }: HttpAnswer): Fault {
  const detail = `the server answered ${status} ${statusText}`.trim()
  if (status >= 400 && status < 500 && !PASSING.includes(status)) return refused(url, detail)
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  const retryAfterMs = Math.min(seconds * 1000, MAX_RETRY_AFTER_MS)
  return unreachable(url, detail, undefined, retryAfterMs > 0 ? retryAfterMs : undefined)
}

/** Asking again is in vain. */
export const refused = (url: string, detail: string): Fault =>
  new Fault('image/unreachable', 'permanent', { image: shown(url), detail, next: 'Check the URL.' })

/** Asking again may help. */
export const unreachable = (url: string, detail: string, cause?: unknown, retryAfterMs?: number): Fault =>
  new Fault(
    'image/unreachable',
    'transient',
    { image: shown(url), detail },
    { cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  )

/** The URL without what may be secret in it. */
function shown(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

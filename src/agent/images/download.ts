import { Fault, findFault } from '../../ipc/faults.ts'
import { around } from '../os/failpoints.ts'
import type { PartialImage } from './partial-image.ts'

/** A download that receives nothing for this long has failed. */
const STALL_MS = 60_000

export type Fetch = (url: string, init: RequestInit) => Promise<Response>
/** Bytes so far; total absent = the server declared no length. */
export type OnProgress = (done: number, total: number | undefined) => void

export interface DownloadOptions {
  signal: AbortSignal
  fetch: Fetch
  progress: OnProgress
  /** Called once with the bytes still to come, when the server says; rejects when there is no room. */
  checkRoom(bytes: number): Promise<void>
}

/**
 * Appends the rest of `url` to the partial file, asking for a range where bytes are already here. Resolves with the
 * partial to go on with (a server that ignores ranges starts it over). Raises `image/unreachable`; the bytes stay.
 */
export async function downloadInto(
  url: string,
  partial: PartialImage,
  options: DownloadOptions,
): Promise<PartialImage> {
  const { signal, progress } = options
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    await partial.close()
    throw new Fault('input/invalid', 'permanent', { field: 'image_url', problem: 'use an http or https URL' })
  }
  const stall = new AbortController()
  let timer = setTimeout(() => stall.abort(), STALL_MS)
  const alive = () => {
    clearTimeout(timer)
    timer = setTimeout(() => stall.abort(), STALL_MS)
  }
  let target = partial
  try {
    const request: RequestInit = {
      signal: AbortSignal.any([signal, stall.signal]),
      redirect: 'follow',
      headers: { 'accept-encoding': 'identity', ...(partial.size > 0 ? { range: `bytes=${partial.size}-` } : {}) },
    }
    const response = await around('image.get', () => options.fetch(url, request))
    const resumed = response.status === 206 && startsAt(response, partial.size)
    if (response.status === 416 && partial.size > 0) {
      await response.body?.cancel()
      return partial
    }
    if (!response.ok || !response.body || (response.status === 206 && !resumed)) {
      await response.body?.cancel()
      throw unreachable(url, `the server answered ${response.status} ${response.statusText}`.trim(), response.status)
    }
    if (!resumed && partial.size > 0) target = await partial.restart()
    const rest = lengthOf(response)
    const total = rest === undefined ? undefined : target.size + rest
    if (rest !== undefined) await options.checkRoom(rest)
    progress(target.size, total)
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      alive()
      await target.append(chunk)
      progress(target.size, total)
    }
    if (total !== undefined && target.size !== total) throw unreachable(url, 'the connection ended early')
    return target
  } catch (error) {
    await target.close().catch(() => {})
    if (signal.aborted) throw signal.reason
    if (findFault(error)) throw error
    throw unreachable(url, stall.signal.aborted ? `nothing came for ${STALL_MS / 1000} s` : words(error), 0, error)
  } finally {
    clearTimeout(timer)
  }
}

function startsAt(response: Response, offset: number): boolean {
  return new RegExp(`^bytes ${offset}-`).test(response.headers.get('content-range') ?? '')
}

function lengthOf(response: Response): number | undefined {
  const text = response.headers.get('content-length')
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined
}

const words = (error: unknown): string => {
  const cause = (error as { cause?: unknown }).cause
  return cause instanceof Error ? cause.message : error instanceof Error ? error.message : String(error)
}

/** A plain "no" of the server will not change by asking again; everything else may. */
function unreachable(url: string, detail: string, status = 0, cause?: unknown): Fault {
  const refused = status >= 400 && status < 500 && ![408, 425, 429].includes(status)
  return new Fault('image/unreachable', refused ? 'permanent' : 'transient', { image: shown(url), detail }, { cause })
}

/** The URL without what may be secret in it. */
function shown(url: string): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

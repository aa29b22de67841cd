import type { Clock } from '../../ipc/base/clock.ts'
import { isWebPage } from '../../ipc/disk-image/other-formats.ts'
import { findFault } from '../../ipc/faults.ts'
import { KiB, MiB } from '../../ipc/units.ts'
import { badAnswer, httpGet, refused, unreachable } from './http-get.ts'
import type { HttpAnswer, HttpRequest } from './http-request.ts'
import { ifRange, isOtherVersion, originOf, readOrigin, writeOrigin } from './part-origin.ts'
import type { PartialImage } from './partial-image.ts'

/** A download that receives less than STALL_BYTES in this time has failed, ms. */
export const STALL_MS = 60_000
const STALL_BYTES = 64 * KiB
/** The room on the disk is looked at again after so many bytes: a length nobody declared must not fill it. */
export const ROOM_EVERY_BYTES = 64 * MiB
/** No image is larger. */
const MAX_IMAGE_BYTES = 4 * 1024 ** 4

/** Bytes so far; total absent = the server declared no length. */
export type OnProgress = (done: number, total: number | undefined) => void

export interface DownloadOptions {
  signal: AbortSignal
  request: HttpRequest
  clock: Clock
  progress: OnProgress
  /** File beside the partial one that says where its bytes are from. */
  originFile: string
  /** Rejects when there is no room for so many bytes more. */
  requireRoom(bytes: number): Promise<void>
}

/**
 * Appends the rest of `url` to the partial file, asking for a range where bytes are already here. Resolves with the
 * partial to go on with: a server that ignores ranges or has another version starts it over. Closes it when it raises:
 * `image/unreachable` (what came stays), `host/disk-full`, `input/invalid` for a URL that is none.
 */
export async function downloadInto(
  url: string,
  partial: PartialImage,
  options: DownloadOptions,
): Promise<PartialImage> {
  const transfer = new Transfer(url, partial, options)
  try {
    await transfer.run()
    return transfer.target
  } catch (error) {
    await transfer.target.close().catch(() => {})
    if (options.signal.aborted) throw options.signal.reason
    if (findFault(error)) throw error
    throw unreachable(url, transfer.stalled ? `nothing came for ${STALL_MS / 1000} s` : words(error), error)
  } finally {
    transfer.end()
  }
}

/** Bytes that an answer brings, after those that are here. */
interface Incoming {
  chunks: AsyncIterator<Uint8Array>
  first: IteratorResult<Uint8Array>
  /** Size of the whole file; undefined = not declared. */
  total: number | undefined
}

class Transfer {
  readonly #url: string
  readonly #options: DownloadOptions
  readonly #stall = new AbortController()
  readonly #over = new AbortController()
  target: PartialImage
  #answer: HttpAnswer | undefined
  #arrived = 0

  constructor(url: string, partial: PartialImage, options: DownloadOptions) {
    this.#url = url
    this.#options = options
    this.target = partial
    void this.#watchStall()
  }

  get stalled(): boolean {
    return this.#stall.signal.aborted
  }

  end(): void {
    this.#over.abort()
    this.#answer?.body.destroy()
  }

  async run(): Promise<void> {
    const incoming = await this.#open()
    if (incoming) await this.#receive(incoming)
  }

  /** Undefined = all bytes are here already. Asks a second time, for everything, when what is here cannot go on. */
  async #open(): Promise<Incoming | undefined> {
    const { size } = this.target
    const known = size > 0 ? await readOrigin(this.#options.originFile) : undefined
    const answer = await this.#get(size, ifRange(known, this.#url))
    if (answer.status === 416 && size > 0) {
      const total = /^bytes \*\/(\d+)$/.exec(answer.headers['content-range'] ?? '')?.[1]
      if (total === undefined || Number(total) === size) return undefined
      return await this.#fromStart(await this.#again())
    }
    if (answer.status !== 206 || size === 0) return await this.#fromStart(answer)
    const range = rangeOf(answer)
    if (range?.start === size && !isOtherVersion(known, originOf(this.#url, answer.headers)))
      return await this.#opened(answer, range.total)
    return await this.#fromStart(await this.#again())
  }

  async #again(): Promise<HttpAnswer> {
    return await this.#get(0, '')
  }

  async #get(from: number, condition: string): Promise<HttpAnswer> {
    const { request, signal } = this.#options
    this.#answer?.body.destroy()
    const answer = await httpGet(this.#url, {
      request,
      signal: AbortSignal.any([signal, this.#stall.signal]),
      headers: {
        'accept-encoding': 'identity',
        ...(from > 0 ? { range: `bytes=${from}-` } : {}),
        ...(from > 0 && condition !== '' ? { 'if-range': condition } : {}),
      },
    })
    this.#answer = answer
    this.#arrived += STALL_BYTES
    return answer
  }

  /** What is here goes only once it is known that something better comes. */
  async #fromStart(answer: HttpAnswer): Promise<Incoming> {
    if (answer.status !== 200) throw badAnswer(this.#url, answer)
    const incoming = await this.#opened(answer, lengthOf(answer))
    if (this.target.size > 0) this.target = await this.target.restart()
    await writeOrigin(this.#options.originFile, originOf(this.#url, answer.headers))
    return incoming
  }

  async #opened({ status, headers, body }: HttpAnswer, total: number | undefined): Promise<Incoming> {
    const encoding = headers['content-encoding'] ?? 'identity'
    const resumed = status === 206
    if (encoding !== 'identity') throw refused(this.#url, `the server sent it encoded as ${encoding.slice(0, 40)}`)
    if (total !== undefined && total > MAX_IMAGE_BYTES) throw refused(this.#url, `it is ${total} bytes long`)
    await this.#options.requireRoom(missing(total, resumed ? this.target.size : 0))
    const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]()
    const first = await chunks.next()
    if (!resumed && !first.done && isWebPage(first.value)) throw unreachable(this.#url, 'the server sent a web page')
    return { chunks, first, total }
  }

  async #receive({ chunks, first, total }: Incoming): Promise<void> {
    const { progress, requireRoom } = this.#options
    let roomUntil = this.target.size + ROOM_EVERY_BYTES
    progress(this.target.size, total)
    for (let next = first; !next.done; next = await chunks.next()) {
      const { size } = this.target
      const end = size + next.value.length
      this.#arrived += next.value.length
      if (end > (total ?? MAX_IMAGE_BYTES)) throw refused(this.#url, 'the server sent more than it declared')
      if (end > roomUntil) {
        await requireRoom(missing(total, size))
        roomUntil = size + ROOM_EVERY_BYTES
      }
      await this.target.append(next.value)
      progress(end, total)
    }
    if (total !== undefined && this.target.size !== total) throw unreachable(this.#url, 'the connection ended early')
  }

  async #watchStall(): Promise<void> {
    const { clock } = this.#options
    try {
      for (let before = -1; before < 0 || this.#arrived - before >= STALL_BYTES; ) {
        before = this.#arrived
        await clock.sleep(STALL_MS, this.#over.signal)
      }
      this.#stall.abort()
    } catch {
      // It ended first.
    }
  }
}

function rangeOf({ headers }: HttpAnswer): { start: number; total: number | undefined } | undefined {
  const text = headers['content-range'] ?? ''
  const [, start, end, total] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(text) ?? []
  if (start === undefined || end === undefined) return undefined
  // The rest was asked for: what a shorter range leaves out shows as an early end.
  return { start: Number(start), total: total === '*' ? undefined : Number(total) }
}

function lengthOf({ headers }: HttpAnswer): number | undefined {
  const text = headers['content-length']
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}

/** Bytes still to come; where nobody declared them, those until the next look. */
const missing = (total: number | undefined, have: number): number =>
  total === undefined ? ROOM_EVERY_BYTES : total - have

/** Of Node.js: a body that ends before its length or its last chunk is "aborted". */
const words = (error: unknown): string => {
  const { message } = error instanceof Error ? error : new Error(String(error))
  return message === 'aborted'
    ? 'the connection ended early'
    : message || (error as NodeJS.ErrnoException).code || 'no answer'
}

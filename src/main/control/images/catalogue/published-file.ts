import { createHash } from 'node:crypto'
import { open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { Fault } from '../../../../ipc/faults.ts'
import { GiB, KiB, MiB } from '../../../../ipc/units.ts'
import type { StepContext } from '../../tasks/task-context.ts'
import { type HttpsRequest, httpsGet, silent, throwIfEnded, unusable } from './https-get.ts'

/** Cloud images are below 1 GiB. */
export const MAX_IMAGE_BYTES = 8 * GiB
export const MAX_LIST_BYTES = 256 * KiB
const SPARE_BYTES = 256 * MiB
/** Without a byte. */
const STALL_MS = 60_000
const LIST_MS = 60_000
const DOWNLOAD_MS = 3 * 3600_000

/** A small text of a publisher, whole. Raises image/publisher-silent and image/list-unusable. */
export async function publishedText(request: HttpsRequest, url: string, signal: AbortSignal): Promise<string> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)])
  const { body } = await httpsGet(request, url, bounded)
  const chunks: Buffer[] = []
  await eachChunk(body, url, {
    signal: bounded,
    maxBytes: MAX_LIST_BYTES,
    take: async (chunk) => void chunks.push(chunk),
  })
  const text = Buffer.concat(chunks)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text)
  } catch {
    throw unusable(url, 'it is not text')
  }
}

/** Writes what stands there to a new file; its digests and size. Raises what httpsGet does, and image/no-room. */
export async function download(
  request: HttpsRequest,
  url: string,
  to: string,
  { signal, progress }: { signal: AbortSignal; progress: StepContext['progress'] },
): Promise<{ sha256: string; sha512: string; sizeBytes: number }> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)])
  const { body, headers } = await httpsGet(request, url, bounded)
  const total = /^\d{1,15}$/.test(headers['content-length'] ?? '') ? Number(headers['content-length']) : undefined
  const hashes = { sha256: createHash('sha256'), sha512: createHash('sha512') }
  let done = 0
  let file: Awaited<ReturnType<typeof open>> | undefined
  try {
    if (total !== undefined && total > MAX_IMAGE_BYTES) throw unusable(url, 'it is larger than 8 GiB')
    await requireSpace(dirname(to), total ?? 0)
    const target = await open(to, 'wx', 0o600)
    file = target
    const take = async (chunk: Buffer) => {
      hashes.sha256.update(chunk)
      hashes.sha512.update(chunk)
      await target.appendFile(chunk).catch((error: unknown) => noRoom(error, dirname(to), Math.max(total ?? 0, done)))
      done += chunk.length
      progress(done, total)
    }
    await eachChunk(body, url, { signal: bounded, maxBytes: MAX_IMAGE_BYTES, take })
    if (total !== undefined && done !== total) throw silent(url, 'it ended before the image did')
    await target.sync()
  } finally {
    body.destroy()
    await file?.close()
  }
  return { sha256: hashes.sha256.digest('hex'), sha512: hashes.sha512.digest('hex'), sizeBytes: done }
}

async function eachChunk(
  body: Readable,
  url: string,
  { signal, maxBytes, take }: { signal: AbortSignal; maxBytes: number; take(chunk: Buffer): Promise<void> },
): Promise<void> {
  let bytes = 0
  /** What went wrong here, and is not the publisher's. */
  let own: unknown
  const takeOwn = (error: unknown) => {
    own = error
    throw error
  }
  const stalled = () => body.destroy(silent(url, `no byte in ${STALL_MS / 1000} s`))
  let timer = setTimeout(stalled, STALL_MS)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      clearTimeout(timer)
      bytes += chunk.length
      if (bytes > maxBytes) throw unusable(url, `it is larger than ${maxBytes / KiB} KiB`)
      await take(chunk).catch(takeOwn)
      throwIfEnded(signal, url)
      timer = setTimeout(stalled, STALL_MS)
    }
  } catch (error) {
    if (error instanceof Fault || error === own) throw error
    throwIfEnded(signal, url)
    throw silent(url, 'the connection was cut', error)
  } finally {
    clearTimeout(timer)
    body.destroy()
  }
}

async function requireSpace(dir: string, bytes: number): Promise<void> {
  const free = await freeBytes(dir)
  if (free < bytes + SPARE_BYTES) throw tooFull(bytes, free)
}

/** Raises image/no-room for a disk that was filled meanwhile, any other error as it is. */
async function noRoom(error: unknown, dir: string, bytes: number): Promise<never> {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
  throw tooFull(bytes, await freeBytes(dir))
}

async function freeBytes(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir)
  return bavail * bsize
}

function tooFull(bytes: number, free: number): Fault {
  const gib = (size: number) => `${(size / GiB).toFixed(1)} GiB`
  return new Fault('image/no-room', 'permanent', { needed: gib(bytes + SPARE_BYTES), free: gib(free) })
}

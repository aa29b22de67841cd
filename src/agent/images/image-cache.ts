import { join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { isSha256 } from '../../ipc/names.ts'
import { GiB, LIMITS, MiB } from '../../ipc/units.ts'
import { ensureDir, freeBytes, isAbsent, listDir, readRange, removeTree, sizeIfPresent } from '../os/files.ts'
import { downloadInto, type Fetch, type OnProgress } from './download.ts'
import { type DiskFormat, diskFormat, FORMAT_HEAD_BYTES } from './image-format.ts'
import { type KernelImage, unpackKernelImage } from './kernel-image.ts'
import { PartialImage } from './partial-image.ts'

/** Left free for everything else on the state directory's filesystem. */
const RESERVE_BYTES = 256 * MiB

/** Deadlines of the two local steps over a whole image. */
const UNPACK_MS = 120_000
const REHASH_MS = 600_000

export interface DiskImage extends DiskFormat {
  kind: 'disk'
  /** Absolute path in the cache; never modified, overlays point at it. */
  file: string
}
export type BootImage = DiskImage | KernelImage

/** One PutImage under way. Exactly one of finish and abort ends it; what was written stays for a resume. */
export interface ImagePut {
  write(chunk: Uint8Array): Promise<void>
  /** Bytes held. The last bytes make the image whole or raise `image/digest-mismatch`, which removes them. */
  finish(): Promise<number>
  abort(): Promise<void>
}

/** Its file is another's to open once `ended` resolves. */
interface OpenPut extends ImagePut {
  ended: Promise<void>
}

interface Shared {
  done: Promise<void>
  watchers: Set<OnProgress>
  cancel: AbortController
}

export interface ImageCacheOptions {
  fetch: Fetch
  freeBytes?: (dir: string) => Promise<number>
}

/** Images by the digest of their bytes; what is in it under its name is whole and checked. Own locking throughout. */
export class ImageCache {
  readonly #dir: string
  readonly #fetch: Fetch
  readonly #freeBytes: (dir: string) => Promise<number>
  readonly #whole = new Map<string, number>()
  readonly #parts = new Map<string, number>()
  readonly #downloads = new Map<string, Shared>()
  readonly #puts = new Map<string, Promise<OpenPut>>()
  readonly #unpacking = new Map<string, Promise<KernelImage>>()
  readonly #listeners = new Set<(sha256: string) => void>()

  private constructor(dir: string, options: ImageCacheOptions) {
    this.#dir = dir
    this.#fetch = options.fetch
    this.#freeBytes = options.freeBytes ?? freeBytes
  }

  /** Creates the directory, removes torn leftovers and indexes the rest. */
  static async open(dir: string, options: ImageCacheOptions): Promise<ImageCache> {
    await ensureDir('images.dir', dir)
    const cache = new ImageCache(dir, options)
    for (const name of await listDir(dir)) {
      const [sha256 = '', suffix] = name.split('.', 2)
      if (name.endsWith('.tmp')) await removeTree('images.clean', join(dir, name))
      else if (isSha256(sha256) && suffix === undefined)
        cache.#whole.set(sha256, (await sizeIfPresent(join(dir, name))) ?? 0)
      else if (isSha256(sha256) && suffix === 'part')
        cache.#parts.set(sha256, (await sizeIfPresent(join(dir, name))) ?? 0)
    }
    return cache
  }

  /** From memory: safe to call while a report is built. */
  stat(sha256: string): { haveBytes: number; complete: boolean } {
    const whole = this.#whole.get(sha256)
    return { haveBytes: whole ?? this.#parts.get(sha256) ?? 0, complete: whole !== undefined }
  }

  /** Everything whole, from memory. */
  list(): { sha256: string; sizeBytes: number }[] {
    return [...this.#whole].map(([sha256, sizeBytes]) => ({ sha256, sizeBytes }))
  }

  /** Called with the digest each time an image becomes whole; returns its stop function. */
  onComplete(fn: (sha256: string) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /**
   * What a VM boots from. Raises `image/not-found` when it is not here and `image/format` (permanent) when it is no
   * image of that kind; kind '' is "disk".
   */
  async bootImage(sha256: string, kind: string): Promise<BootImage> {
    if (!this.#whole.has(sha256)) throw new Fault('image/not-found', 'permanent', { image: `image ${short(sha256)}` })
    const file = this.#file(sha256)
    const named = (error: unknown) => {
      if (isAbsent(error)) {
        this.#whole.delete(sha256)
        throw new Fault('image/not-found', 'transient', { image: `image ${short(sha256)}` }, { cause: error })
      }
      if (!(error instanceof Fault) || error.code !== 'image/format') throw error
      throw new Fault(error.code, error.disposition, { ...error.params, image: `Image ${short(sha256)}` })
    }
    if (kind === 'kernel') return await this.#unpack(sha256, file).catch(named)
    if (kind !== '' && kind !== 'disk')
      throw new Fault('image/format', 'permanent', { image: `Image ${short(sha256)}`, detail: `kind "${kind}"` })
    try {
      const head = await readRange(file, 0, FORMAT_HEAD_BYTES)
      return { kind: 'disk', file, ...diskFormat(head, this.#whole.get(sha256)!) }
    } catch (error) {
      return named(error)
    }
  }

  /** Resolves when the image is whole here; a hit resolves at once. Callers of one digest share one download. */
  async fetch(url: string, sha256: string, progress: OnProgress, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#whole.has(sha256)) return
    const running = this.#downloads.get(sha256)
    const shared = running && !running.cancel.signal.aborted ? running : this.#startDownload(url, sha256, running?.done)
    shared.watchers.add(progress)
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([shared.done, aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
      shared.watchers.delete(progress)
      if (shared.watchers.size === 0) shared.cancel.abort()
    }
  }

  /**
   * Starts or resumes a push. Raises `input/invalid` when `offset` is not what is held and `host/disk-full` when the
   * rest does not fit. A newer push of the same digest ends the older; more bytes than `sizeBytes` are thrown away.
   */
  async openPut(sha256: string, sizeBytes: number, offset: number): Promise<ImagePut> {
    if (!isSha256(sha256)) throw invalid('sha256', 'not a SHA-256 in hex')
    if (this.#downloads.has(sha256))
      throw new Fault('image/push-failed', 'transient', { detail: 'the host is downloading it' })
    const opened = this.#endPut(sha256).then(() => this.#openPut(sha256, sizeBytes, offset))
    this.#puts.set(sha256, opened)
    const over = () => {
      if (this.#puts.get(sha256) === opened) this.#puts.delete(sha256)
    }
    opened.then(({ ended }) => ended.then(over), over)
    return await opened
  }

  /** Ends the push of a digest, one still being opened too; its file is closed when this resolves. Never rejects. */
  async #endPut(sha256: string): Promise<void> {
    await this.#puts.get(sha256)?.then(
      (put) => put.abort(),
      () => {},
    )
  }

  async #openPut(sha256: string, sizeBytes: number, offset: number): Promise<OpenPut> {
    const { haveBytes, complete } = this.stat(sha256)
    if (!complete && haveBytes > sizeBytes) {
      await removeTree('image.drop', this.#part(sha256))
      this.#parts.delete(sha256)
      throw invalid('offset', '0 bytes are held')
    }
    if (offset !== haveBytes) throw invalid('offset', `${haveBytes} bytes are held`)
    if (complete)
      return { write: async () => {}, finish: async () => haveBytes, abort: async () => {}, ended: Promise.resolve() }
    await this.#checkRoom(sizeBytes - offset)
    const partial = await PartialImage.open(this.#part(sha256), AbortSignal.timeout(REHASH_MS))
    return this.#put(sha256, sizeBytes, partial)
  }

  #put(sha256: string, sizeBytes: number, partial: PartialImage): OpenPut {
    let last: Promise<unknown> = Promise.resolve()
    let open = true
    const ended = Promise.withResolvers<void>()
    const abort = async () => {
      if (open) {
        open = false
        await last.catch(() => {})
        await partial.close().catch(() => {})
        ended.resolve()
      }
      await ended.promise
    }
    return {
      ended: ended.promise,
      abort,
      write: async (chunk) => {
        if (!open) throw new Fault('image/push-failed', 'transient', { detail: 'another push took over' })
        if (chunk.length > LIMITS.imageChunkBytes || partial.size + chunk.length > sizeBytes)
          throw invalid('chunk', 'more bytes than announced')
        const written = partial.append(chunk)
        last = written
        await written
        this.#parts.set(sha256, partial.size)
      },
      finish: async () => {
        if (partial.size < sizeBytes || !open) {
          await abort()
          return partial.size
        }
        open = false
        await this.#publish(sha256, partial).finally(() => ended.resolve())
        return sizeBytes
      },
    }
  }

  #startDownload(url: string, sha256: string, previous: Promise<void> | undefined): Shared {
    const shared: Shared = { done: Promise.resolve(), watchers: new Set(), cancel: new AbortController() }
    const run = async () => {
      await previous?.catch(() => {})
      await this.#endPut(sha256)
      await this.#download(url, sha256, shared)
    }
    shared.done = run().finally(() => {
      if (this.#downloads.get(sha256) === shared) this.#downloads.delete(sha256)
    })
    shared.done.catch(() => {})
    this.#downloads.set(sha256, shared)
    return shared
  }

  async #download(url: string, sha256: string, shared: Shared): Promise<void> {
    const { signal } = shared.cancel
    const partial = await downloadInto(url, await PartialImage.open(this.#part(sha256), signal), {
      signal,
      fetch: this.#fetch,
      checkRoom: (bytes) => this.#checkRoom(bytes),
      progress: (done, total) => {
        this.#parts.set(sha256, done)
        for (const watch of shared.watchers) watch(done, total)
      },
    })
    await this.#publish(sha256, partial)
  }

  async #publish(sha256: string, partial: PartialImage): Promise<void> {
    const { size } = partial
    try {
      await partial.publish(sha256, this.#file(sha256))
    } catch (error) {
      this.#parts.delete(sha256)
      throw error
    }
    this.#parts.delete(sha256)
    this.#whole.set(sha256, size)
    for (const fn of this.#listeners) fn(sha256)
  }

  #unpack(sha256: string, file: string): Promise<KernelImage> {
    const running = this.#unpacking.get(sha256)
    if (running) return running
    const unpacked = unpackKernelImage(file, `${file}.kernel`, AbortSignal.timeout(UNPACK_MS)).finally(() =>
      this.#unpacking.delete(sha256),
    )
    this.#unpacking.set(sha256, unpacked)
    return unpacked
  }

  async #checkRoom(bytes: number): Promise<void> {
    const free = await this.#freeBytes(this.#dir)
    if (free < bytes + RESERVE_BYTES)
      throw new Fault('host/disk-full', 'transient', {
        free: gib(free),
        needed: `${gib(bytes)} and ${RESERVE_BYTES / MiB} MiB to spare`,
      })
  }

  #file(sha256: string): string {
    if (!isSha256(sha256)) throw invalid('sha256', 'not a SHA-256 in hex')
    return join(this.#dir, sha256)
  }
  #part(sha256: string): string {
    return `${this.#file(sha256)}.part`
  }
}

const short = (sha256: string) => sha256.slice(0, 12)
const gib = (bytes: number) => `${(bytes / GiB).toFixed(1)} GiB`
const invalid = (field: string, problem: string) => new Fault('input/invalid', 'permanent', { field, problem })

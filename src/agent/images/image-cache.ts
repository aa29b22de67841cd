import { type Clock, systemClock } from '../../ipc/base/clock.ts'
import { type DiskFormat, diskFormat, HEAD_BYTES, refuse, TAIL_BYTES } from '../../ipc/disk-image/image-format.ts'
import { Fault } from '../../ipc/faults.ts'
import type { DiskSpace, LookAtDisk } from '../os/disk-space.ts'
import { isAbsent, readRange, sizeIfPresent } from '../os/files.ts'
import type { OnProgress } from './download.ts'
import type { CacheItem } from './gc-plan.ts'
import { type HttpRequest, httpRequest } from './http-request.ts'
import { ImageDownloads } from './image-downloads.ts'
import { type ImagePut, ImagePuts } from './image-puts.ts'
import { ImageStore } from './image-store.ts'
import { type KernelImage, unpackKernelImage } from './kernel-image.ts'

/** Deadline of unpacking a kernel image. */
const UNPACK_MS = 120_000

export interface DiskImage extends DiskFormat {
  kind: 'disk'
  /** Absolute path in the cache; never modified, overlays point at it. */
  file: string
}
export type BootImage = DiskImage | KernelImage

type Contents = Pick<CacheItem, 'sha256' | 'whole' | 'bytes' | 'busy'>

export interface ImageCacheOptions {
  request?: HttpRequest
  clock?: Clock
  look?: LookAtDisk
}

/**
 * Images by the digest of their bytes; what is in it under its name is whole and checked. At most one transfer per
 * digest: a download takes over a push and goes on behind it, a push waits for a download. Own locking throughout.
 */
export class ImageCache {
  readonly #store: ImageStore
  readonly #puts: ImagePuts
  readonly #downloads: ImageDownloads
  readonly #unpacking = new Map<string, Promise<KernelImage>>()
  readonly #given = new Map<string, number>()

  private constructor(store: ImageStore, { request = httpRequest, clock = systemClock }: ImageCacheOptions) {
    this.#store = store
    this.#puts = new ImagePuts(store)
    const endPut = (sha256: string) => this.#puts.end(sha256)
    this.#downloads = new ImageDownloads({ store, request, clock, endPut })
  }

  /** Creates the directory, removes torn leftovers and indexes the rest. */
  static async open(dir: string, options: ImageCacheOptions = {}): Promise<ImageCache> {
    return new ImageCache(await ImageStore.open(dir, options.look), options)
  }

  /** Sentences for the report: what in the directory is not used. */
  notices(): readonly string[] {
    return this.#store.skipped()
  }

  /** From memory: safe to call while a report is built. */
  stat(sha256: string): { haveBytes: number; complete: boolean } {
    return this.#store.stat(sha256)
  }

  /** Everything whole, from memory. */
  list(): { sha256: string; sizeBytes: number }[] {
    return this.#store.list().flatMap(({ whole, ...image }) => (whole ? [image] : []))
  }

  /** Called with the digest each time an image becomes whole; returns its stop function. */
  onComplete(fn: (sha256: string) => void): () => void {
    return this.#store.onComplete(fn)
  }

  /**
   * What a VM boots from. Raises `image/not-found` when it is not here and `image/format` (permanent) when it is no
   * image of that kind, or a disk of another format than declared; kind '' is "disk", format '' is what it is.
   */
  async bootImage(sha256: string, kind: string, format = ''): Promise<BootImage> {
    if (!this.stat(sha256).complete) throw notFound(sha256)
    this.#given.set(sha256, this.givenOut(sha256) + 1)
    try {
      if (!(await this.#store.isIntact(sha256))) throw notFound(sha256)
      if (kind === 'kernel') return await this.#unpack(sha256)
      if (kind !== '' && kind !== 'disk')
        throw new Fault('image/format', 'permanent', { detail: `kind "${kind.slice(0, 20)}"` })
      const disk = await this.#disk(sha256)
      if (format !== '' && format !== disk.format) refuse(`it is ${disk.format}, not ${format} as declared`, AS_IT_IS)
      return disk
    } catch (error) {
      if (isAbsent(error)) {
        this.#store.lost(sha256)
        throw notFound(sha256, error)
      }
      if (!(error instanceof Fault) || error.code !== 'image/format') throw error
      throw new Fault(error.code, error.disposition, { ...error.params, image: `Image ${short(sha256)}` })
    }
  }

  /** Resolves when the image is whole here; a hit resolves at once. Callers of one digest share one download. */
  async fetch(url: string, sha256: string, progress: OnProgress, signal: AbortSignal): Promise<void> {
    await this.#downloads.fetch(url, sha256, progress, signal)
  }

  /**
   * Starts or resumes a push. Raises `input/invalid` when `offset` is not what is held, `host/disk-full` when the rest
   * does not fit and `image/push-failed` (transient) while the host downloads it. A newer push of the same digest ends
   * the older; more bytes than `sizeBytes` are thrown away.
   */
  async openPut(sha256: string, sizeBytes: number, offset: number): Promise<ImagePut> {
    this.#store.file(sha256)
    if (this.#downloads.has(sha256))
      throw new Fault('image/push-failed', 'transient', { detail: 'the host is downloading it' })
    return await this.#puts.open(sha256, sizeBytes, offset)
  }

  /** Raises `host/disk-full` unless so many bytes fit beside what is kept free, even with unused images gone. */
  requireRoom(bytes: number): Promise<void> {
    return this.#store.requireRoom(bytes)
  }

  /** For the collector: everything here, whole or not. */
  async contents(): Promise<Contents[]> {
    const items = this.#store.list().map(async ({ sha256, sizeBytes, whole }) => ({
      sha256,
      whole,
      bytes: whole ? await this.#store.bytesOnDisk(sha256) : sizeBytes,
      busy: this.#busy(sha256),
    }))
    return await Promise.all(items)
  }

  space(): Promise<DiskSpace> {
    return this.#store.space()
  }

  /** How often a VM was given the image to boot from. */
  givenOut(sha256: string): number {
    return this.#given.get(sha256) ?? 0
  }

  /** Removes an image, unless it is being transferred, changed or was given out since `givenOut` was asked. */
  async drop(sha256: string, whole: boolean, givenOut: number): Promise<boolean> {
    if (this.stat(sha256).complete !== whole || this.#busy(sha256) || this.givenOut(sha256) !== givenOut) return false
    this.#given.delete(sha256)
    await (whole ? this.#store.dropWhole(sha256) : this.#store.dropPart(sha256))
    return true
  }

  /** Who frees room when a transfer is short of it. */
  onShortage(makeRoom: (missing: number) => Promise<void>): void {
    this.#store.onShortage(makeRoom)
  }

  /** Ends every transfer, keeping what came. */
  async close(): Promise<void> {
    await Promise.all([this.#downloads.close(), this.#puts.close()])
  }

  #busy(sha256: string): boolean {
    return this.#downloads.has(sha256) || this.#puts.has(sha256) || this.#unpacking.has(sha256)
  }

  async #disk(sha256: string): Promise<DiskImage> {
    const file = this.#store.file(sha256)
    const size = (await sizeIfPresent(file)) ?? 0
    const head = await readRange(file, 0, HEAD_BYTES)
    const tail = await readRange(file, Math.max(0, size - TAIL_BYTES), TAIL_BYTES)
    return { kind: 'disk', file, ...diskFormat({ head, tail, size }) }
  }

  #unpack(sha256: string): Promise<KernelImage> {
    const running = this.#unpacking.get(sha256)
    if (running) return running
    const store = this.#store
    let needed = 0
    const requireRoom = async (bytes: number) => {
      needed = bytes
      await store.requireRoom(bytes)
    }
    const unpacked = store
      .namingFull(
        () => needed,
        () =>
          unpackKernelImage(store.file(sha256), store.kernelDir(sha256), {
            requireRoom,
            signal: AbortSignal.timeout(UNPACK_MS),
          }),
      )
      .finally(() => this.#unpacking.delete(sha256))
    this.#unpacking.set(sha256, unpacked)
    return unpacked
  }
}

const AS_IT_IS = 'Add it again with the format it has.'
const short = (sha256: string) => sha256.slice(0, 12)
const notFound = (sha256: string, cause?: unknown): Fault =>
  new Fault('image/not-found', 'transient', { image: `image ${short(sha256)}` }, { cause })

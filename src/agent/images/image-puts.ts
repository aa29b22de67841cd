import { Fault } from '../../ipc/faults.ts'
import { LIMITS } from '../../ipc/units.ts'
import { type ImageStore, invalid } from './image-store.ts'
import { PartialImage } from './partial-image.ts'

/** Deadline of hashing again what an earlier push left. */
const REHASH_MS = 600_000

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

/** Pushes, one at a time per digest: a newer one ends the older and goes on behind it. */
export class ImagePuts {
  readonly #store: ImageStore
  readonly #puts = new Map<string, Promise<OpenPut>>()

  constructor(store: ImageStore) {
    this.#store = store
  }

  has(sha256: string): boolean {
    return this.#puts.has(sha256)
  }

  /** Raises `input/invalid` when `offset` is not what is held, `host/disk-full` when the rest does not fit. */
  async open(sha256: string, sizeBytes: number, offset: number): Promise<ImagePut> {
    const opened = this.end(sha256).then(() => this.#open(sha256, sizeBytes, offset))
    this.#puts.set(sha256, opened)
    const over = () => {
      if (this.#puts.get(sha256) === opened) this.#puts.delete(sha256)
    }
    opened.then(({ ended }) => ended.then(over), over)
    return await opened
  }

  /** Ends the push of a digest, one still being opened too; its file is closed when this resolves. Never rejects. */
  async end(sha256: string): Promise<void> {
    await this.#puts.get(sha256)?.then(
      (put) => put.abort(),
      () => {},
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.#puts.keys()].map((sha256) => this.end(sha256)))
  }

  async #open(sha256: string, sizeBytes: number, offset: number): Promise<OpenPut> {
    const store = this.#store
    await store.settled(sha256)
    const { haveBytes, complete } = store.stat(sha256)
    if (!complete && haveBytes > sizeBytes) {
      await store.dropPart(sha256)
      throw invalid('offset', '0 bytes are held')
    }
    if (offset !== haveBytes) throw invalid('offset', `${haveBytes} bytes are held`)
    if (complete)
      return { write: async () => {}, finish: async () => haveBytes, abort: async () => {}, ended: Promise.resolve() }
    await store.requireRoom(sizeBytes - offset)
    const partial = await store.namingFull(
      () => sizeBytes - offset,
      () => PartialImage.open(store.partFile(sha256), AbortSignal.timeout(REHASH_MS)),
    )
    return this.#put(sha256, sizeBytes, partial)
  }

  #put(sha256: string, sizeBytes: number, partial: PartialImage): OpenPut {
    const store = this.#store
    let last: Promise<unknown> = Promise.resolve()
    let open = true
    const ended = Promise.withResolvers<void>()
    const abort = async () => {
      if (open) {
        open = false
        await last.catch(() => {})
        await partial.close().catch(() => {})
        if (partial.size === 0) await store.dropEmptyPart(sha256)
        ended.resolve()
      }
      await ended.promise
    }
    return {
      ended: ended.promise,
      abort,
      write: async (chunk) => {
        if (!open) throw new Fault('image/push-failed', 'transient', { detail: 'another transfer of it took over' })
        if (chunk.length > LIMITS.imageChunkBytes || partial.size + chunk.length > sizeBytes)
          throw invalid('chunk', 'more bytes than announced')
        const written = store.namingFull(
          () => sizeBytes - partial.size,
          () => partial.append(chunk),
        )
        last = written
        await written
        store.holds(sha256, partial.size)
      },
      finish: async () => {
        if (partial.size < sizeBytes || !open) {
          await abort()
          return partial.size
        }
        open = false
        await store
          .namingFull(
            () => sizeBytes,
            () => store.publish(sha256, partial),
          )
          .finally(() => ended.resolve())
        return sizeBytes
      },
    }
  }
}

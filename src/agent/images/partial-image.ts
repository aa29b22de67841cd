import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Fault } from '../../ipc/faults.ts'
import { AppendFile, publishFile, regularFile, removeTree } from '../os/files.ts'
import { UnusableFile } from '../os/read-files.ts'

/**
 * The unfinished file of one image, appended to and hashed in the same step. Opening it hashes what an earlier try
 * left. One writer at a time; whoever opened it closes it.
 */
export class PartialImage {
  readonly #path: string
  readonly #file: AppendFile
  readonly #hash: Hash
  #size: number

  private constructor(path: string, file: AppendFile, hash: Hash, size: number) {
    this.#path = path
    this.#file = file
    this.#hash = hash
    this.#size = size
  }

  static async open(path: string, signal: AbortSignal): Promise<PartialImage> {
    const hash = createHash('sha256')
    const size = await heldIn(path)
    if (size > 0)
      for await (const chunk of createReadStream(path, { signal, highWaterMark: 1024 * 1024 })) hash.update(chunk)
    return new PartialImage(path, await AppendFile.open('image.open', path), hash, size)
  }

  get size(): number {
    return this.#size
  }

  async append(chunk: Uint8Array): Promise<void> {
    try {
      await this.#file.append('image.append', chunk)
    } catch (error) {
      // A full disk may have taken part of the chunk; a resume goes on at the bytes that are hashed. Where even this
      // fails the digest finds the surplus, and the image is fetched from its start.
      await this.#file.cut('image.cut', this.#size).catch(() => {})
      throw error
    }
    this.#hash.update(chunk)
    this.#size += chunk.length
  }

  /** Throws the bytes away; the next append starts at 0. */
  async restart(): Promise<PartialImage> {
    await this.close()
    await clear(this.#path)
    return new PartialImage(this.#path, await AppendFile.open('image.reopen', this.#path), createHash('sha256'), 0)
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  /** Closes, checks the digest and renames; on a mismatch the bytes are removed and `image/digest-mismatch` raised. */
  async publish(sha256: string, to: string): Promise<void> {
    await this.close()
    const found = this.#hash.digest('hex')
    if (found !== sha256) {
      await removeTree('image.discard', this.#path)
      const params = { image: `image ${sha256.slice(0, 12)}`, expected: sha256, found }
      throw new Fault('image/digest-mismatch', 'permanent', params)
    }
    await publishFile('image.publish', this.#path, to)
  }
}

const clear = (path: string): Promise<void> => removeTree('image.restart', path)

/** Bytes of an earlier try. What is no regular file is removed: through a link they would go into another file. */
async function heldIn(path: string): Promise<number> {
  try {
    return (await regularFile(path))?.size ?? 0
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error
    await clear(path)
    return 0
  }
}

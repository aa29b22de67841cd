import { dirname, join } from 'node:path'
import { AppendFile, moveDurable, readIfPresent, writeDurable } from '../os/files.ts'
import { agesOf, type Batch, batchBytes, decodeBatches, encodeBatch, type Moment } from './batches.ts'

/** How long it is kept, ms. */
export const KEPT_MS = 24 * 3_600_000
/** Minutes written at one time. */
export const FLUSH_MINUTES = 10
/** A file past this is written anew with what is still kept: a day in batches, and six hours before the next time. */
export const FILE_LIMIT_BYTES = 30 * 6 * batchBytes(FLUSH_MINUTES)
/** No file of ours is longer, whatever the batches in it. */
const READ_LIMIT_BYTES = 16 * FILE_LIMIT_BYTES

/** The minutes of one subject on disk. One writer; losing the last batches to a power cut is accepted. */
export class HistoryFile {
  readonly #path: string
  /** Whole batches in it; undefined = nobody looked yet, or the last write failed. */
  #bytes: number | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Whole batches in it, oldest first; none where it cannot be read. Changes nothing. */
  async read(): Promise<Batch[]> {
    const bytes = await readIfPresent(this.#path, READ_LIMIT_BYTES).catch(() => undefined)
    return bytes ? decodeBatches(bytes).batches : []
  }

  /** Adds to it: one append, or the whole file anew when it is long or damaged. Raises what the disk says. */
  async add(batches: readonly Batch[], now: Moment): Promise<void> {
    const bytes = Buffer.concat(batches.map(encodeBatch))
    const before = this.#bytes ?? (await this.#look())
    this.#bytes = undefined
    if (before === undefined || before + bytes.length > FILE_LIMIT_BYTES) {
      this.#bytes = await this.#rewrite(batches, now)
      return
    }
    const file = await AppendFile.open('history.open', this.#path)
    try {
      await file.append('history.append', bytes)
    } finally {
      await file.close()
    }
    this.#bytes = before + bytes.length
  }

  async #rewrite(added: readonly Batch[], now: Moment): Promise<number> {
    const all = [...(await this.read()), ...added]
    const ages = agesOf(all, now)
    const bytes = Buffer.concat(all.filter((_, i) => ages[i]! < KEPT_MS).map(encodeBatch))
    await writeDurable('history.rewrite', this.#path, bytes)
    return bytes.length
  }

  /** Undefined = its end is torn. What is none of ours goes aside, so that nothing is added to it. */
  async #look(): Promise<number | undefined> {
    const found = await readIfPresent(this.#path, READ_LIMIT_BYTES).catch(() => Buffer.alloc(1))
    if (!found) return 0
    const { goodBytes } = decodeBatches(found)
    if (goodBytes === found.length) return goodBytes
    if (goodBytes > 0) return undefined
    await moveDurable('history.aside', this.#path, join(dirname(this.#path), 'history.damaged'))
    return 0
  }
}

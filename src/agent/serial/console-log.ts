import { type Stats, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Fault } from '../../ipc/faults.ts'
import { LIMITS, MiB } from '../../ipc/units.ts'
import { openToRead, type ReadHandle, readHeadNow } from '../os/files.ts'
import { requireRegular } from '../os/read-files.ts'

/** What trimming needs of the disk. Both raise on failure. */
export interface LogDisk {
  /** Frees the blocks of [0, length) and keeps every offset. */
  punchHead(path: string, length: number): Promise<void>
  /** Durable before it resolves. */
  saveText(path: string, text: string): Promise<void>
}

/** Grown past the kept size by this much, the head is punched. */
export const TRIM_SLACK_BYTES = 16 * MiB
const BLOCK = 4096
/** Digits of the largest offset, and its line end. */
const HEAD_FILE_BYTES = 32

/** The serial log of one VM as QEMU appends to it. Offsets are file offsets and count every byte the guest ever wrote. */
export class ConsoleLog {
  readonly path: string
  readonly #headPath: string
  readonly #disk: LogDisk
  readonly #keepBytes: number
  readonly #slackBytes: number
  #head: number
  /** Head of the last punch; below `#head` only after a start without a head file. */
  #punched: number
  #end = 0
  #inode: number | undefined
  #file: Promise<ReadHandle> | undefined
  #gone: Fault | undefined
  #problem = ''

  constructor(path: string, disk: LogDisk, keepBytes: number = LIMITS.consoleLogBytes, slackBytes = TRIM_SLACK_BYTES) {
    this.path = path
    this.#headPath = `${path}.head`
    this.#disk = disk
    this.#keepBytes = keepBytes
    this.#slackBytes = slackBytes
    const found = this.#found(path)
    this.#end = found?.size ?? 0
    this.#inode = found?.ino
    this.#punched = readHead(this.#headPath)
    this.#head = recoverHead(this.#punched, this.#end, keepBytes + slackBytes)
  }

  /** Oldest byte that may still be read. */
  get head(): number {
    return this.#head
  }

  /** One past the newest byte seen by the last refresh. */
  get end(): number {
    return this.#end
  }

  /** Why this log can be read no more: it was removed or cut short behind our back. */
  get gone(): Fault | undefined {
    return this.#gone
  }

  /** Why the log could not be looked at the last time, in words; '' = it could. */
  get problem(): string {
    return this.#problem
  }

  /** Looks at the file again; true when something changed. Rejects with `problem`. */
  async refresh(): Promise<boolean> {
    if (this.#gone) return false
    const found = await this.#look()
    if (!found) return this.#inode === undefined ? false : this.#lose('the serial log was removed')
    if (this.#inode !== undefined && (found.ino !== this.#inode || found.size < this.#end))
      return this.#lose('the serial log was replaced; open the console again')
    this.#inode = found.ino
    if (found.size === this.#end) return false
    this.#end = found.size
    return true
  }

  /** At most `max` bytes from `offset`, fewer at the end; undefined when the head has passed `offset` meanwhile. */
  async read(offset: number, max: number): Promise<Uint8Array | undefined> {
    this.#file ??= openToRead(this.path)
    const file = await this.#file
    const length = Math.min(max, LIMITS.consoleChunkBytes, this.#end - offset)
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(length), 0, length, offset)
    return offset < this.#head ? undefined : buffer.subarray(0, bytesRead)
  }

  /** Punches the head once the log is longer than kept. The new head is durable before a byte is lost. */
  async trim(): Promise<void> {
    if (this.#gone || this.#end - this.#punched <= this.#keepBytes + this.#slackBytes) return
    const head = Math.floor((this.#end - this.#keepBytes) / BLOCK) * BLOCK
    await this.#disk.saveText(this.#headPath, `${head}\n`)
    this.#head = head
    this.#punched = head
    await this.#disk.punchHead(this.path, head)
  }

  async close(): Promise<void> {
    const file = await this.#file?.catch(() => undefined)
    this.#file = undefined
    await file?.close().catch(() => {})
  }

  /** Never raises: what cannot be looked at has recorded nothing as far as anybody knows. */
  #found(path: string): Stats | undefined {
    try {
      const found = statSync(path, { throwIfNoEntry: false })
      if (found) requireRegular(found)
      return found
    } catch (error) {
      this.#problem = wordsOf(error)
      return undefined
    }
  }

  async #look(): Promise<Stats | undefined> {
    try {
      const found = await stat(this.path).catch((e: NodeJS.ErrnoException) => {
        if (e.code === 'ENOENT') return undefined
        throw e
      })
      // Another file in its place is another log, whatever it is.
      if (found && (this.#inode === undefined || found.ino === this.#inode)) requireRegular(found)
      this.#problem = ''
      return found
    } catch (error) {
      this.#problem = wordsOf(error)
      throw error
    }
  }

  #lose(detail: string): true {
    this.#gone = new Fault('console/unavailable', 'transient', { detail })
    return true
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 200)

function readHead(path: string): number {
  try {
    const head = Number(readHeadNow(path, HEAD_FILE_BYTES).toString('latin1').trim())
    return Number.isSafeInteger(head) && head >= 0 ? head : 0
  } catch {
    return 0
  }
}

/** A lost head file must not turn punched holes into served zeros: what is surely past the kept size counts as gone. */
export function recoverHead(saved: number, end: number, mostKept: number): number {
  const floor = Math.ceil(Math.max(0, end - mostKept) / BLOCK) * BLOCK
  return Math.min(Math.max(saved, floor), end)
}

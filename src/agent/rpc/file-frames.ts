import { Fault } from '../../ipc/faults.ts'
import { LIMITS, TIMES } from '../../ipc/units.ts'
import { nextWithin } from './deadlines.ts'

/** One frame of a file that is sent: its start, then chunks of it in order. */
type FileFrame<Start> = {
  message:
    | { case: 'start'; value: Start }
    | { case: 'chunk'; value: Uint8Array }
    | { case: undefined; value?: undefined }
}

/** How people are told of the frames. */
export interface FileWords {
  /** `PutImageStart`. */
  start: string
  /** `image frame`. */
  frame: string
  /** `image chunk`. */
  chunk: string
}

/** The frames of one file as they come. Raises app/timeout when none comes any more, and input/invalid. */
export class FileFrames<Start> {
  readonly #incoming: AsyncIterator<FileFrame<Start>>
  readonly #words: FileWords

  constructor(requests: AsyncIterable<FileFrame<Start>>, words: FileWords) {
    this.#incoming = requests[Symbol.asyncIterator]()
    this.#words = words
  }

  /** The first one. */
  async start(signal: AbortSignal): Promise<Start> {
    const first = await this.#next(signal)
    if (first?.case !== 'start') throw invalidFrame(this.#words, `the first frame must be ${this.#words.start}`)
    return first.value
  }

  /** The chunks after it until the peer ends, `size` bytes at most. Raises input/too-large for a large chunk. */
  async *chunks(size: number, over: AbortSignal): AsyncGenerator<Uint8Array> {
    let left = size
    for (let message = await this.#next(over); message; message = await this.#next(over)) {
      if (message.case !== 'chunk')
        throw invalidFrame(this.#words, `${message.case ?? 'an empty frame'} between chunks`)
      const { length } = message.value
      if (length > LIMITS.imageChunkBytes)
        throw new Fault('input/too-large', 'permanent', { message: `${this.#words.chunk} of ${length} bytes` })
      if (length > left) throw invalidFrame(this.#words, 'more bytes than the size it declared')
      left -= length
      yield message.value
    }
  }

  async #next(over: AbortSignal): Promise<FileFrame<Start>['message'] | undefined> {
    const next = await nextWithin(this.#incoming, TIMES.snapshotWriteMs, stalled, over)
    return next.done === true ? undefined : next.value.message
  }
}

/** input/invalid of a frame, or of a request about the same file. */
export const invalidFrame = ({ frame }: Pick<FileWords, 'frame'>, problem: string): Fault =>
  new Fault('input/invalid', 'permanent', { field: frame, problem })

const stalled = () => new Fault('app/timeout', 'transient', { timeout: `${TIMES.snapshotWriteMs} ms` })

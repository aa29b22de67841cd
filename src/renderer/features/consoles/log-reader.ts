import { LIMITS } from '../../../ipc/units.ts'
import type { ConsoleLine } from './console-session.ts'

export interface LogProgress {
  doneBytes: bigint
  /** Of the log as it was when reading began; undefined until the host said. */
  totalBytes: bigint | undefined
  /** Trimmed by the host while it was read. */
  missedBytes: bigint
  /** The byte it began at, and the oldest its host keeps. */
  first: bigint
  head: bigint
  /** Why nothing comes now; empty = it is being read. */
  waiting: string
}

export interface LogReading {
  vmId: string
  line: ConsoleLine
  /** Absent = the whole of it. */
  page?: { from: bigint; until: bigint }
  /** Resolves when it takes more. */
  write(bytes: Uint8Array): Promise<void>
  onProgress(progress: LogProgress): void
  signal: AbortSignal
}

/**
 * Reads the whole log a host keeps of a console, from its oldest byte to the end it has now; a viewer of its own that types
 * nothing and is read no faster than `write` takes it. Goes on where it stopped when the app is lost for a moment. Rejects
 * with an Error in words, and with the reason of the signal.
 */
export function readLog({ vmId, line, page, write, onProgress, signal }: LogReading): Promise<LogProgress> {
  const { promise, resolve, reject } = Promise.withResolvers<LogProgress>()
  let next: bigint | undefined
  let end: bigint | undefined
  let first = 0n
  let head = 0n
  let missed = 0n
  let acked = 0n
  let writing: Promise<void> = Promise.resolve()
  let over = false
  let waiting = ''
  const progress = (): LogProgress => ({
    doneBytes: (next ?? first) - first,
    totalBytes: end === undefined ? undefined : end - first,
    missedBytes: missed,
    first,
    head,
    waiting,
  })
  const settle = (how: () => void) => {
    if (over) return
    over = true
    signal.removeEventListener('abort', cancelled)
    line.leave(id)
    how()
  }
  const cancelled = () => settle(() => reject(signal.reason as Error))
  const finishAt = (at: bigint) => {
    if (end === undefined || at < end) return
    void writing.then(
      () => settle(() => resolve(progress())),
      (error: unknown) => settle(() => reject(error as Error)),
    )
  }
  const wait = (why: string) => {
    waiting = why
    if (!over) onProgress(progress())
  }
  const take = (bytes: Uint8Array, upTo: bigint) => {
    // The buffer of a message may be used again by then.
    const own = bytes.slice()
    writing = writing.then(async () => {
      if (over) return
      await write(own)
      onProgress(progress())
      if (upTo - acked < BigInt(LIMITS.consoleAckBytes)) return
      acked = upTo
      line.send({ type: 'ack', id, offset: upTo })
    })
    writing.catch((error: unknown) => settle(() => reject(error as Error)))
  }
  const id = line.join({
    onUp: () => line.send({ type: 'open', id, vm: vmId, from: next ?? page?.from ?? 0n, readOnly: true }),
    onDown: () => wait('Eitri is not answering'),
    onFrame: (frame) => {
      if (over) return
      if (frame.type === 'opened') {
        if (next === undefined) {
          // `head` is where the log begins by now; a skip from 0 to there is none.
          first = frame.head > frame.start ? frame.head : frame.start
          next = first
          acked = first
          head = frame.head
          end = page && page.until < frame.end ? page.until : frame.end
        }
        wait('')
        finishAt(next)
      } else if (frame.type === 'skipped' && next !== undefined && frame.to > next) {
        missed += frame.to - next
        next = frame.to
        finishAt(next)
      } else if (frame.type === 'data' && next !== undefined && end !== undefined) {
        const from = frame.offset < next ? Number(next - frame.offset) : 0
        const room = Number(end - (frame.offset + BigInt(from)))
        const wanted = frame.bytes.subarray(from, from + Math.max(0, room))
        if (frame.offset > next) missed += frame.offset - next
        next = frame.offset + BigInt(from + wanted.length)
        if (wanted.length > 0) take(wanted, next)
        finishAt(next)
      } else if (frame.type === 'state') wait(frame.link === 'reconnecting' ? frame.detail : '')
      else if (frame.type === 'close') settle(() => reject(new Error(frame.reason)))
    },
  })
  if (signal.aborted) cancelled()
  else signal.addEventListener('abort', cancelled, { once: true })
  return promise
}

import { Fault } from '../../ipc/faults.ts'
import { TIMES } from '../../ipc/units.ts'

/** An answer waits this long for the host's facts, then goes without: its reader does not wait longer. */
export const FACTS_MS = TIMES.attachMs / 2

/**
 * Passes messages on; calls `onStall` when one was not taken off our hands within `ms`. The source is finished when the
 * signal aborts, also when nobody asks for another message: a write to a stream that is gone never comes back.
 */
export function withWriteDeadline<T>(
  source: AsyncGenerator<T>,
  ms: number,
  onStall: () => void,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const messages = timed(source, ms, onStall)
  signal.addEventListener('abort', () => void messages.return(undefined).catch(() => {}), { once: true })
  return messages
}

async function* timed<T>(source: AsyncGenerator<T>, ms: number, onStall: () => void): AsyncGenerator<T> {
  let timer: NodeJS.Timeout | undefined
  try {
    for await (const message of source) {
      timer = setTimeout(onStall, ms)
      yield message
      clearTimeout(timer)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** The next message, or the fault of `late` when none came within `ms`. The iterator stays usable only on success. */
export async function nextWithin<T>(
  iterator: AsyncIterator<T>,
  ms: number,
  late: () => Error,
  signal?: AbortSignal,
): Promise<IteratorResult<T>> {
  let timer: NodeJS.Timeout | undefined
  let stop = () => {}
  try {
    return await Promise.race([
      iterator.next(),
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(late()), ms)
        if (!signal) return
        stop = () => reject(signal.reason)
        if (signal.aborted) stop()
        signal.addEventListener('abort', stop, { once: true })
      }),
    ])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/** The result of `work`, or app/timeout after `ms`; the work itself goes on. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Fault('app/timeout', 'transient', { timeout: `${ms} ms` })), ms)
  })
  return await Promise.race([work, late]).finally(() => clearTimeout(timer))
}

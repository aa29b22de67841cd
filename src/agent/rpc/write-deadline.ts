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

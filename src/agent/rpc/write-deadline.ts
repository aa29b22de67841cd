/** Passes messages on; calls `onStall` when one was not taken off our hands within `ms`. */
export async function* withWriteDeadline<T>(source: AsyncIterable<T>, ms: number, onStall: () => void) {
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

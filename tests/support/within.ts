/** A wait of a test that goes on this long, ms, says what it saw instead of being cut off by the test's own limit. */
export const WAIT_MS = 100_000

/** What the promise resolves with, or an error in these words once it took longer than `ms`. */
export async function within<T>(ms: number, promise: Promise<T>, words: () => string): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(words())), ms)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

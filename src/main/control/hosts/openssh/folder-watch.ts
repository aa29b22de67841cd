import { watch } from 'node:fs'

/** Tells when anything in a folder changes. Whoever made it closes it. */
export interface FolderWatch {
  /** Called after each change until the returned stop is. */
  onChange(look: () => void): () => void
  /**
   * What `look` finds, now or after a change; rejects with the signal's reason. `look` may reject, which rejects this.
   */
  until<T>(look: () => Promise<T | undefined>, signal: AbortSignal): Promise<T>
  close(): void
}

/** Starts watching at once. */
export function watchFolder(dir: string): FolderWatch {
  const looks = new Set<() => void>()
  const watcher = watch(dir, () => {
    for (const look of looks) look()
  })
  watcher.on('error', () => {})
  const onChange = (look: () => void) => {
    looks.add(look)
    return () => void looks.delete(look)
  }
  return {
    onChange,
    async until<T>(look: () => Promise<T | undefined>, signal: AbortSignal) {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const once = () =>
        look().then((found) => {
          if (found !== undefined) resolve(found)
        }, reject)
      const abort = () => reject(signal.reason)
      const stop = onChange(() => void once())
      signal.addEventListener('abort', abort, { once: true })
      try {
        void once()
        return await promise
      } finally {
        stop()
        signal.removeEventListener('abort', abort)
      }
    },
    close: () => watcher.close(),
  }
}

import type { Clock } from '../../ipc/base/clock.ts'
import { Fault, findFault } from '../../ipc/faults.ts'
import { downloadInto, type OnProgress } from './download.ts'
import type { HttpRequest } from './http-request.ts'
import type { ImageStore } from './image-store.ts'
import { PartialImage } from './partial-image.ts'

/** A download nobody waits for, because the pass that did ran out of time, goes on so long: its VM asks again, ms. */
const LINGER_MS = 60_000
/** A caller joins at most so many downloads of its digest from other URLs before it gives up. */
const MAX_JOINS = 8

interface Shared {
  url: string
  done: Promise<void>
  watchers: Set<OnProgress>
  /** The newest progress, for who joins late. */
  last: Parameters<OnProgress> | undefined
  cancel: AbortController
}

export interface DownloadsDeps {
  store: ImageStore
  request: HttpRequest
  clock: Clock
  /** Ends a push of the digest; its file is free when this resolves. */
  endPut(sha256: string): Promise<void>
}

/** Downloads, one per digest whoever waits for it. They belong to the cache: a pass only waits. */
export class ImageDownloads {
  readonly #deps: DownloadsDeps
  readonly #running = new Map<string, Shared>()

  constructor(deps: DownloadsDeps) {
    this.#deps = deps
  }

  has(sha256: string): boolean {
    return this.#running.has(sha256)
  }

  /** Resolves when the image is whole. Another's download that fails from another URL is not this caller's failure. */
  async fetch(url: string, sha256: string, progress: OnProgress, signal: AbortSignal): Promise<void> {
    for (let joins = 0; ; joins++) {
      signal.throwIfAborted()
      if (this.#deps.store.stat(sha256).complete) return
      const shared = this.#join(url, sha256)
      try {
        return await this.#wait(shared, progress, signal)
      } catch (error) {
        if (signal.aborted || shared.url === url || joins === MAX_JOINS) throw error
      }
    }
  }

  /** Ends them all; what came is kept. */
  async close(): Promise<void> {
    const all = [...this.#running.values()]
    for (const { cancel } of all) cancel.abort(new Fault('app/cancelled', 'cancelled'))
    await Promise.allSettled(all.map(({ done }) => done))
  }

  #join(url: string, sha256: string): Shared {
    const running = this.#running.get(sha256)
    return running && !running.cancel.signal.aborted ? running : this.#start(url, sha256, running?.done)
  }

  async #wait(shared: Shared, progress: OnProgress, signal: AbortSignal): Promise<void> {
    shared.watchers.add(progress)
    if (shared.last) progress(...shared.last)
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([shared.done, aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
      shared.watchers.delete(progress)
      this.#left(shared, signal)
    }
  }

  #left({ watchers, cancel, done }: Shared, { aborted, reason }: AbortSignal): void {
    if (watchers.size > 0) return
    if (!aborted || findFault(reason)?.code !== 'app/timeout') {
      cancel.abort(reason)
      return
    }
    const over = new AbortController()
    void done.catch(() => {}).then(() => over.abort())
    this.#deps.clock.sleep(LINGER_MS, over.signal).then(
      () => {
        if (watchers.size === 0) cancel.abort(reason)
      },
      () => {},
    )
  }

  #start(url: string, sha256: string, previous: Promise<void> | undefined): Shared {
    const shared: Shared = {
      url,
      done: Promise.resolve(),
      watchers: new Set(),
      last: undefined,
      cancel: new AbortController(),
    }
    const run = async () => {
      await previous?.catch(() => {})
      await this.#deps.endPut(sha256)
      await this.#deps.store.settled(sha256)
      await this.#download(sha256, shared)
    }
    shared.done = run().finally(() => {
      if (this.#running.get(sha256) === shared) this.#running.delete(sha256)
    })
    shared.done.catch(() => {})
    this.#running.set(sha256, shared)
    return shared
  }

  /** Bytes with another digest are fetched once more from their start: a resume may have mixed two versions. */
  async #download(sha256: string, shared: Shared): Promise<void> {
    const { store } = this.#deps
    for (let again = false; ; again = true) {
      if (store.stat(sha256).complete) return
      try {
        return await this.#once(sha256, shared)
      } catch (error) {
        if (again || findFault(error)?.code !== 'image/digest-mismatch') throw error
      }
    }
  }

  async #once(sha256: string, shared: Shared): Promise<void> {
    const { store, request, clock } = this.#deps
    const { signal } = shared.cancel
    let left = 0
    const progress: OnProgress = (done, total) => {
      left = total === undefined ? 0 : total - done
      store.holds(sha256, done)
      shared.last = [done, total]
      for (const watch of shared.watchers) watch(done, total)
    }
    const originFile = store.originFile(sha256)
    const requireRoom = (bytes: number) => store.requireRoom(bytes)
    try {
      await store.namingFull(
        () => left,
        async () => {
          const part = await PartialImage.open(store.partFile(sha256), signal)
          const options = { signal, request, clock, originFile, requireRoom, progress }
          await store.publish(sha256, await downloadInto(shared.url, part, options))
        },
      )
    } catch (error) {
      await store.dropEmptyPart(sha256)
      throw error
    }
  }
}

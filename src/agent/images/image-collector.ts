import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import { type CacheItem, type CollectionPlan, lowBytes, planCollection } from './gc-plan.ts'
import type { ImageUsage } from './image-usage.ts'

/** The cache is looked over this often, ms. */
export const SWEEP_MS = 10 * 60_000

/** What refers to images. */
export interface ImageUses {
  /** Names of the VMs per digest. */
  users: ReadonlyMap<string, readonly string[]>
  /** Why more may be in use than is known; '' = all is known. */
  unknown: string
}

/** The cache as its collector uses it. */
export interface CollectableCache {
  contents(): Promise<Pick<CacheItem, 'sha256' | 'whole' | 'bytes' | 'busy'>[]>
  space(): Promise<{ free: number; total: number }>
  /** Changes each time somebody is given the image. */
  givenOut(sha256: string): number
  /** False when a transfer began or the image was given out since `givenOut` was asked: then nothing is removed. */
  drop(sha256: string, whole: boolean, givenOut: number): Promise<boolean>
}

export interface CollectorDeps {
  cache: CollectableCache
  usage: ImageUsage
  uses(): Promise<ImageUses>
  clock: Clock
  log: Log
}

export interface CollectOptions {
  /** Says what would go and removes nothing. */
  dryRun?: boolean
  /** Whatever nothing refers to, whatever its age. */
  all?: boolean
  /** Bytes that somebody needs now beyond what is free. */
  missing?: number
}

export interface Collection extends CollectionPlan {
  /** After it, bytes. */
  free: number
  /** Bytes under which images go before their time. */
  low: number
  /** Why what is in use is not known for sure; '' = it is. */
  unknown: string
}

/** Removes images nothing refers to: by age, and before their time when the disk runs full. One run at a time. */
export class ImageCollector {
  readonly #deps: CollectorDeps
  readonly #stop = new AbortController()
  #last: number
  #turn: Promise<unknown> = Promise.resolve()

  constructor(deps: CollectorDeps) {
    this.#deps = deps
    this.#last = deps.clock.monotonic()
  }

  /** Looks the cache over now and then until `stop`. */
  start(): void {
    void this.#sweep()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#turn.catch(() => {})
  }

  /** From memory; 0 = in use or not looked at yet. */
  unusedMs(sha256: string): number {
    return this.#deps.usage.unusedMs(sha256)
  }

  /** Raises what reading the cache raises; one image that cannot be removed stays and is logged. */
  collect(options: CollectOptions = {}): Promise<Collection> {
    const turn = this.#turn.catch(() => {}).then(() => this.#collect(options))
    this.#turn = turn
    return turn
  }

  /** Frees so many bytes if it can; never rejects. */
  async makeRoom(missing: number): Promise<void> {
    await this.collect({ missing }).catch((error) => this.#failed(error))
  }

  async #collect({ dryRun = false, ...wish }: CollectOptions): Promise<Collection> {
    const { cache, uses } = this.#deps
    const contents = await cache.contents()
    const given = new Map(contents.map(({ sha256 }) => [sha256, cache.givenOut(sha256)]))
    const { users, unknown } = await uses()
    const items = contents.map((item) => ({ ...item, users: users.get(item.sha256) ?? [], unusedMs: 0 }))
    await this.#count(items, unknown === '')
    for (const item of items) item.unusedMs = this.#deps.usage.unusedMs(keyOf(item))
    const space = await cache.space()
    const plan = planCollection({ items, unknown, ...space, ...wish })
    const low = lowBytes(space.total)
    if (dryRun) return { ...plan, free: space.free, low, unknown }
    const done: CollectionPlan = { remove: [], keep: plan.keep }
    for (const item of plan.remove) {
      if (await this.#remove(item, given.get(item.sha256) ?? 0)) done.remove.push(item)
      else done.keep.push({ ...item, reason: 'transfer' })
    }
    return { ...done, free: (await cache.space()).free, low, unknown }
  }

  async #remove(item: CollectionPlan['remove'][number], givenOut: number): Promise<boolean> {
    const { cache, log } = this.#deps
    try {
      if (!(await cache.drop(item.sha256, item.whole, givenOut))) return false
      const { sha256, whole, bytes, reason } = item
      log.info('image.collected', { image: sha256, whole, bytes, reason })
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  /** Time passes for what nothing refers to, while that is known. What cannot be written down is forgotten at a restart. */
  async #count(items: readonly CacheItem[], known: boolean): Promise<void> {
    const { usage, clock } = this.#deps
    const [before, now] = [this.#last, clock.monotonic()]
    this.#last = now
    if (!known) return
    const unused = items.filter(({ users, busy }) => users.length === 0 && !busy).map(keyOf)
    usage.count(new Set(unused), now - before)
    if (unused.length > 0) await usage.save().catch((error) => this.#failed(error))
  }

  async #sweep(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#stop
    for (;;) {
      await clock.sleep(SWEEP_MS, signal).catch(() => {})
      if (signal.aborted) return
      await this.collect().catch((error) => this.#failed(error))
    }
  }

  #failed(error: unknown): void {
    this.#deps.log.warn('image.not-collected', { error: asFault(error).message })
  }
}

const keyOf = ({ sha256, whole }: { sha256: string; whole: boolean }): string => (whole ? sha256 : `${sha256}.part`)

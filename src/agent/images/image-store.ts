import { join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { isSha256 } from '../../ipc/names.ts'
import {
  type DiskSpace,
  diskSpace,
  type LookAtDisk,
  namedIfFull,
  RESERVE_BYTES,
  requireRoom,
} from '../os/disk-space.ts'
import { ensureDir, listDir, moveDurable, regularFile, removeTree, sizeIfPresent, tempBeside } from '../os/files.ts'
import { UnusableFile } from '../os/read-files.ts'
import { removeOrigin } from './part-origin.ts'
import type { PartialImage } from './partial-image.ts'

/** What is in the cache's directory, from memory: whole images under their digest, unfinished ones beside them. */
export class ImageStore {
  readonly dir: string
  readonly #look: LookAtDisk
  readonly #whole = new Map<string, number>()
  readonly #parts = new Map<string, number>()
  readonly #dropping = new Map<string, Promise<void>>()
  readonly #listeners = new Set<(sha256: string) => void>()
  readonly #skipped: string[] = []
  #makeRoom: ((bytes: number) => Promise<void>) | undefined

  private constructor(dir: string, look: LookAtDisk) {
    this.dir = dir
    this.#look = look
  }

  /** Creates the directory, removes torn leftovers and what belongs to nothing, and indexes the rest. */
  static async open(dir: string, look: LookAtDisk = diskSpace): Promise<ImageStore> {
    await ensureDir('images.dir', dir)
    const store = new ImageStore(dir, look)
    const names = await listDir(dir)
    const empty = await emptyParts(dir, names)
    for (const name of names) {
      const [sha256 = '', ...suffix] = name.split('.')
      const owner = suffix[0] === 'kernel' ? sha256 : suffix.join('.') === 'part.json' ? `${sha256}.part` : name
      const torn = name.endsWith('.tmp') || !names.includes(owner) || empty.has(owner)
      try {
        if (torn) await removeTree('images.clean', join(dir, name))
        else if (isSha256(sha256) && suffix.length === 0) store.#whole.set(sha256, await heldIn(join(dir, name)))
        else if (isSha256(sha256) && suffix.join('.') === 'part')
          store.#parts.set(sha256, await heldIn(join(dir, name)))
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error)
        store.#skipped.push(`One file in the image cache is left out (${join(dir, name)}: ${problem}).`)
      }
    }
    return store
  }

  /** A sentence for each file that was left out of the index, or could not be cleared away. */
  skipped(): readonly string[] {
    return this.#skipped
  }

  stat(sha256: string): { haveBytes: number; complete: boolean } {
    const whole = this.#whole.get(sha256)
    return { haveBytes: whole ?? this.#parts.get(sha256) ?? 0, complete: whole !== undefined }
  }

  /** Whole images and unfinished ones. */
  list(): { sha256: string; sizeBytes: number; whole: boolean }[] {
    const of = (map: Map<string, number>, whole: boolean) =>
      [...map].map(([sha256, sizeBytes]) => ({ sha256, sizeBytes, whole }))
    return [...of(this.#whole, true), ...of(this.#parts, false)]
  }

  /** Of a whole image, with what is unpacked from it. */
  async bytesOnDisk(sha256: string): Promise<number> {
    const dir = this.kernelDir(sha256)
    const unpacked = await Promise.all(['kernel', 'initrd'].map((name) => sizeOf(join(dir, name))))
    return unpacked.reduce((sum, size) => sum + size, this.stat(sha256).haveBytes)
  }

  async space(): Promise<DiskSpace> {
    return await this.#look(this.dir)
  }

  /** Absolute; raises `input/invalid` for what is no digest, so that nothing from outside becomes a path. */
  file(sha256: string): string {
    if (!isSha256(sha256)) throw invalid('sha256', 'not a SHA-256 in hex')
    return join(this.dir, sha256)
  }
  partFile = (sha256: string): string => `${this.file(sha256)}.part`
  originFile = (sha256: string): string => `${this.partFile(sha256)}.json`
  kernelDir = (sha256: string): string => `${this.file(sha256)}.kernel`

  /** An unfinished image holds so many bytes now. */
  holds(sha256: string, bytes: number): void {
    this.#parts.set(sha256, bytes)
  }

  /** Of a transfer that brought nothing no file stays. Never rejects; for who has the file to itself. */
  async dropEmptyPart(sha256: string): Promise<void> {
    if (this.stat(sha256).haveBytes === 0) await this.dropPart(sha256).catch(() => {})
  }

  /** Removes an unfinished image; who wants its file waits for `settled`. */
  async dropPart(sha256: string): Promise<void> {
    this.#parts.delete(sha256)
    const dropped = removeTree('image.drop', this.partFile(sha256)).then(() => removeOrigin(this.originFile(sha256)))
    this.#dropping.set(sha256, dropped)
    await dropped.finally(() => this.#dropping.delete(sha256))
  }

  /** Resolves when nothing removes the unfinished image any more; never rejects. */
  async settled(sha256: string): Promise<void> {
    await this.#dropping.get(sha256)?.catch(() => {})
  }

  /** Removes a whole image. It counts as absent at once; its name is free for a new one before its bytes are gone. */
  async dropWhole(sha256: string): Promise<void> {
    this.#whole.delete(sha256)
    const gone = tempBeside(this.file(sha256))
    await moveDurable('image.collect', this.file(sha256), gone)
    await removeTree('image.collect-kernel', this.kernelDir(sha256))
    await removeTree('image.collect-file', gone)
  }

  /** True while the file of a whole image is one, of the size it came with; another is removed, and counts as absent. */
  async isIntact(sha256: string): Promise<boolean> {
    const size = this.#whole.get(sha256)
    const found = await regularFile(this.file(sha256)).catch((error) => {
      if (error instanceof UnusableFile) return undefined
      throw error
    })
    if (size === undefined || found?.size === size) return size !== undefined
    // Who asked at the same time may have removed it, and a new one may be on its way.
    if (this.#whole.get(sha256) === size) await this.dropWhole(sha256).catch(() => {})
    return false
  }

  /** Its file is gone from under us. */
  lost(sha256: string): void {
    this.#whole.delete(sha256)
  }

  /** Makes it whole, or removes it and raises `image/digest-mismatch`. */
  async publish(sha256: string, partial: PartialImage): Promise<void> {
    const { size } = partial
    try {
      await partial.publish(sha256, this.file(sha256))
    } catch (error) {
      if (error instanceof Fault && error.code === 'image/digest-mismatch') {
        this.#parts.delete(sha256)
        await removeOrigin(this.originFile(sha256))
      }
      throw error
    }
    this.#parts.delete(sha256)
    this.#whole.set(sha256, size)
    await removeOrigin(this.originFile(sha256)).catch(() => {})
    for (const fn of this.#listeners) fn(sha256)
  }

  /** Called with the digest each time an image becomes whole; returns its stop function. */
  onComplete(fn: (sha256: string) => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** Who can free room when it is short, given how much is missing. */
  onShortage(makeRoom: (bytes: number) => Promise<void>): void {
    this.#makeRoom = makeRoom
  }

  /** Raises `host/disk-full` with the numbers when so many bytes and the reserve do not fit, even with room made. */
  async requireRoom(bytes: number): Promise<void> {
    const missing = bytes + RESERVE_BYTES - (await this.#look(this.dir)).free
    if (missing > 0) await this.#makeRoom?.(missing)
    await requireRoom(this.dir, bytes, this.#look)
  }

  /** Does `work`; a full disk met on the way becomes `host/disk-full` with the numbers. */
  async namingFull<T>(needed: () => number, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw await namedIfFull(error, this.dir, needed(), this.#look)
    }
  }
}

async function emptyParts(dir: string, names: readonly string[]): Promise<Set<string>> {
  const empty = new Set<string>()
  const isEmpty = async (name: string) => (await regularFile(join(dir, name)).catch(() => undefined))?.size === 0
  for (const name of names) if (name.endsWith('.part') && (await isEmpty(name))) empty.add(name)
  return empty
}

const heldIn = async (path: string): Promise<number> => (await regularFile(path))?.size ?? 0

const sizeOf = async (path: string): Promise<number> => (await sizeIfPresent(path)) ?? 0

/** `input/invalid`, permanent. */
export const invalid = (field: string, problem: string): Fault =>
  new Fault('input/invalid', 'permanent', { field, problem })

import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import type { Clock } from '../../ipc/base/clock.ts'
import { KiB, MiB } from '../../ipc/units.ts'
import { diskSpace, type LookAtDisk } from '../os/disk-space.ts'
import * as files from '../os/files.ts'

/** Size of the file whose bytes are given back when the disk is full: a thousand records of a few KiB. */
export const RESERVE_FILE_BYTES = 4 * MiB
/** Given back at a time: others on a full disk wait for room too. */
const STEP_BYTES = 128 * KiB
/** It is filled again when this much is free. */
const REFILL_FREE_BYTES = 8 * RESERVE_FILE_BYTES
const REFILL_EVERY_MS = 60_000

export type StateFiles = Pick<
  typeof files,
  | 'ensureDir'
  | 'listDir'
  | 'moveDurable'
  | 'readIfPresent'
  | 'removeAtomically'
  | 'removeTree'
  | 'sizeIfPresent'
  | 'writeDurable'
> & { diskSpace: LookAtDisk }

/**
 * Bytes set aside so that stopping, deleting and purging go on when nothing else can be written any more. They are
 * random, because a file system may store others in less room than they need.
 */
export class DiskReserve {
  readonly #path: string
  readonly #look: LookAtDisk
  readonly #stop = new AbortController()
  #size: number

  private constructor(path: string, look: LookAtDisk, size: number) {
    this.#path = path
    this.#look = look
    this.#size = size
  }

  /** Fills it if there is room; never rejects because there is none. */
  static async open(path: string, look: LookAtDisk = diskSpace): Promise<DiskReserve> {
    const reserve = new DiskReserve(path, look, (await files.sizeIfPresent(path).catch(() => 0)) ?? 0)
    await reserve.refill()
    return reserve
  }

  /** Bytes left to give. */
  get size(): number {
    return this.#size
  }

  /** Does `work`, again and again while the disk is full and there is something to give; it must bear being repeated. */
  async spend<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!files.isDiskFull(error) || !(await this.#giveBack())) throw error
      }
    }
  }

  /** The agent's own small files, written out of the reserve when there is no other room. */
  readonly files: StateFiles = {
    ...files,
    diskSpace,
    ensureDir: (...given) => this.spend(() => files.ensureDir(...given)),
    moveDurable: (...given) => this.spend(() => files.moveDurable(...given)),
    removeAtomically: (...given) => this.spend(() => files.removeAtomically(...given)),
    writeDurable: (...given) => this.spend(() => files.writeDurable(...given)),
  }

  /** Keeps it filled until `stop`. */
  start(clock: Clock): void {
    void this.#keepFilled(clock)
  }

  stop(): void {
    this.#stop.abort()
  }

  /** Takes back what was given once there is plenty of room. */
  async refill(): Promise<void> {
    if (this.#size >= RESERVE_FILE_BYTES) return
    try {
      if ((await this.#look(dirname(this.#path))).free < REFILL_FREE_BYTES) return
      await files.writeDurable('reserve.fill', this.#path, randomBytes(RESERVE_FILE_BYTES))
      this.#size = RESERVE_FILE_BYTES
    } catch {
      // It is tried again; what is there still counts.
    }
  }

  /** False = there is nothing left. */
  async #giveBack(): Promise<boolean> {
    if (this.#size === 0) return false
    this.#size = Math.max(0, this.#size - STEP_BYTES)
    try {
      const file = await files.AppendFile.open('reserve.open', this.#path)
      await file.cut('reserve.cut', this.#size).finally(() => file.close())
      return true
    } catch {
      return false
    }
  }

  async #keepFilled(clock: Clock): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await clock.sleep(REFILL_EVERY_MS, signal).catch(() => {})
      if (!signal.aborted) await this.refill()
    }
  }
}

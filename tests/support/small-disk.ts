import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MOUNT = {
  tmpfs: 'mount -t tmpfs -o "size=$2,nr_inodes=$3" tmpfs "$1"',
  ext4: 'truncate -s "$2" "$1.img" && mkfs.ext4 -q -m 0 "$1.img" && mount -o loop "$1.img" "$1" && rm "$1.img"',
}

/**
 * A real small filesystem in a mount namespace of its own: it is gone when its keeper ends, whatever happens. The test
 * itself looks into it through its keeper's root; a program run by `enter` sees it as an ordinary folder.
 */
export class SmallDisk implements AsyncDisposable {
  readonly #keeper: ChildProcess
  readonly #parent: string
  /** The mount point, as `enter` sees it. */
  readonly inside: string

  private constructor(keeper: ChildProcess, parent: string) {
    this.#keeper = keeper
    this.#parent = parent
    this.inside = join(parent, 'disk')
  }

  /** `files` = how many files a tmpfs can hold; 0 = any number. */
  static async mount(kind: keyof typeof MOUNT, bytes: number, files = 0): Promise<SmallDisk> {
    const parent = mkdtempSync(join(tmpdir(), 'eitri-small-'))
    const script = `mkdir "$1" && ${MOUNT[kind]} && echo mounted && exec cat`
    const shell = ['sh', '-ec', script, 'sh', join(parent, 'disk'), String(bytes), String(files)]
    const keeper = spawn('unshare', ['--mount', '--propagation', 'private', ...shell])
    let said = ''
    keeper.stderr.on('data', (text: Buffer) => {
      said += text
    })
    const [mounted] = await Promise.race([once(keeper.stdout, 'data'), once(keeper, 'exit')])
    if (String(mounted).trim() !== 'mounted') throw new Error(`no small disk: ${said}`)
    return new SmallDisk(keeper, parent)
  }

  /** The mount point, as this process sees it. */
  get dir(): string {
    return `/proc/${this.#keeper.pid}/root${this.inside}`
  }

  /** How to run a program that sees the disk at `inside`. */
  enter(command: string, args: readonly string[]): [string, string[]] {
    return ['nsenter', [`--mount=/proc/${this.#keeper.pid}/ns/mnt`, '--', command, ...args]]
  }

  get free(): number {
    const { bavail, bsize } = statfsSync(this.dir)
    return bavail * bsize
  }

  /** Takes all room but so many bytes, under this name. */
  async fill(leave = 0, name = 'ballast'): Promise<void> {
    const file = await open(join(this.dir, name), 'a')
    try {
      const chunk = Buffer.alloc(64 * 1024, 'x')
      while (this.free > leave) await file.appendFile(chunk.subarray(0, Math.min(chunk.length, this.free - leave)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC' || leave > 0) throw error
    } finally {
      await file.sync().catch(() => {})
      await file.close()
    }
  }

  async unfill(name = 'ballast'): Promise<void> {
    await rm(join(this.dir, name), { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#keeper, 'exit')
    this.#keeper.stdin?.end()
    await exit
    rmSync(this.#parent, { recursive: true, force: true })
  }
}

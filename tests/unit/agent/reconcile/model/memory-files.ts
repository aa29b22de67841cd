import type { DesiredFiles } from '../../../../../src/agent/records/desired-state.ts'
import type { RecordFiles } from '../../../../../src/agent/records/vm-records.ts'

const failure = (code: string): Error => Object.assign(new Error(code), { code })
const forever = () => new Promise<never>(() => {})

/** One agent's time on the host: once dead, nothing it has under way takes effect. */
export class Life {
  dead = false
  /** Durable writes it still gets done before it dies in the next; undefined = it does not die of writing. */
  writesLeft: number | undefined
  /** Whether the write it dies in is on the disk. */
  lastWriteHolds = false
}

/** A filesystem in memory that outlives agents. */
export class MemoryDisk {
  readonly files = new Map<string, string | Uint8Array>()
  readonly unreadable = new Set<string>()
  full = false
  listable = true
  /** False: what is moved aside cannot be deleted. */
  removable = true
  /** A VM's directory is about to go. */
  onRemove: (dir: string) => void = () => {}

  under(dir: string): string[] {
    return [...this.files.keys()].filter((path) => path.startsWith(`${dir}/`))
  }

  /** The functions of os/files.ts as the agent of one life has them. */
  mount(life: Life): RecordFiles & DesiredFiles {
    const alive = async () => {
      if (life.dead) await forever()
    }
    const write = async (effect: () => void) => {
      await alive()
      if (this.full) throw failure('ENOSPC')
      if (life.writesLeft !== undefined && life.writesLeft-- <= 0) life.dead = true
      if (!life.dead || life.lastWriteHolds) effect()
      await alive()
    }
    return {
      diskSpace: async () => ({ free: this.full ? 0 : 2 ** 40, total: 2 ** 40, freeFiles: 1 }),
      ensureDir: async () => {
        await alive()
        return true
      },
      listDir: async (dir) => {
        await alive()
        if (!this.listable) throw failure('EIO')
        return [...new Set(this.under(dir).map((path) => path.slice(dir.length + 1).split('/')[0]!))]
      },
      readIfPresent: async (path) => {
        await alive()
        if (this.unreadable.has(path)) throw failure('EIO')
        const data = this.files.get(path)
        return data === undefined ? undefined : Buffer.from(data as string)
      },
      sizeIfPresent: async (path) => {
        await alive()
        return this.files.get(path)?.length
      },
      writeDurable: (_point, path, data) => write(() => this.files.set(path, data)),
      moveDurable: (_point, from, to) =>
        write(() => {
          this.files.set(to, this.files.get(from)!)
          this.files.delete(from)
        }),
      removeAtomically: async (_point, path, trash) => {
        await alive()
        const paths = this.under(path)
        if (paths.length > 0) this.onRemove(path)
        const gone = `${trash}/${path.slice(-32)}`
        for (const name of paths) {
          this.files.set(gone + name.slice(path.length), this.files.get(name)!)
          this.files.delete(name)
        }
        if (!this.removable) throw failure('EIO')
        for (const name of this.under(gone)) this.files.delete(name)
        await alive()
      },
    }
  }
}

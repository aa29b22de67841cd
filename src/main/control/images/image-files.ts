import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isSha256 } from '../../../ipc/names.ts'
import { synced } from '../synced.ts'

/** A file nobody names stays this long: a store that was put back may name it again. */
const UNNAMED_MS = 7 * 24 * 3600_000
/** Work of a former process, moved aside. */
const LEFT = 'left-'

/** The files of images kept in this store, named by their digest. */
export class ImageFiles {
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Where builds happen: on the same file system. */
  get workDir(): string {
    return join(this.#dir, 'work')
  }

  /** Makes the folders and removes what builds of a former process left, and files nobody names that are a week old. */
  async prepare(wanted: { has(sha256: string): boolean }, now: number): Promise<void> {
    await rename(this.workDir, join(this.#dir, `${LEFT}${Date.now()}`)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    await mkdir(this.workDir, { recursive: true, mode: 0o700 })
    for (const name of await readdir(this.#dir)) {
      if (isSha256(name) && !wanted.has(name)) await removeOld(join(this.#dir, name), now - UNNAMED_MS)
      // Programs of a build whose control plane was killed may still write there; then the next start removes it.
      if (name.startsWith(LEFT)) await rm(join(this.#dir, name), { recursive: true, force: true }).catch(() => {})
    }
  }

  /** Moves a whole file of these bytes into the store, durably. Idempotent for equal digests. */
  async adopt(file: string, sha256: string): Promise<void> {
    const target = join(this.#dir, sha256)
    await chmod(file, 0o400)
    await synced(file)
    await rename(file, target)
    await synced(dirname(target))
  }

  async has(sha256: string): Promise<boolean> {
    return await stat(join(this.#dir, sha256)).then(
      (found) => found.isFile(),
      () => false,
    )
  }

  /** Idempotent. */
  async remove(sha256: string): Promise<void> {
    await rm(join(this.#dir, sha256), { force: true })
  }
}

async function removeOld(path: string, before: number): Promise<void> {
  const { ctimeMs } = await stat(path)
  if (ctimeMs < before) await rm(path, { force: true })
}

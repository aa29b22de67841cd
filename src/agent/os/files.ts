import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  createWriteStream,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  writeSync,
} from 'node:fs'
import * as fs from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ReadStream } from 'node:tty'
import { type Failpoint, hit, around as step, type TwoStepPoint } from './failpoints.ts'
import { codeOf, isAbsent, requireRegular } from './read-files.ts'
import { isTraced, trace } from './write-trace.ts'

export {
  allocatedIfPresent,
  freeBytes,
  isAbsent,
  listDir,
  openToRead,
  type ReadHandle,
  readHeadNow,
  readIfPresent,
  readRange,
  readTail,
  regularFile,
  sizeIfPresent,
} from './read-files.ts'

export const isDiskFull = (error: unknown): boolean => codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'

/** Opening a pipe nobody reads, a socket or a directory for writing fails in its own words. */
const IRREGULAR = new Set(['ENXIO', 'EISDIR', 'ELOOP', 'ENODEV'])

async function openToAppend(path: string): Promise<fs.FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants
  const handle = await fs.open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)
  try {
    requireRegular(await handle.stat())
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** A name beside `path` that no other writer uses; leftovers end in `.tmp`. */
export const tempBeside = (path: string): string => `${path}.${randomBytes(6).toString('hex')}.tmp`

/** A name tempBeside gave to a writer. */
export const isTemp = (name: string): boolean => /\.[0-9a-f]{12}\.tmp$/.test(name)

/** Makes creations, renames and removals in `dir` durable. */
async function syncDir(path: string): Promise<void> {
  await syncPath(path)
  trace({ op: 'sync-dir', path })
}

async function syncPath(path: string): Promise<void> {
  const handle = await fs.open(path, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function rename(from: string, to: string): Promise<void> {
  await fs.rename(from, to)
  trace({ op: 'rename', from, to })
}

async function remove(path: string): Promise<void> {
  await fs.rm(path, { recursive: true, force: true })
  trace({ op: 'remove', path })
}

/** Creates the directory and its parents with exactly this mode, durable when it resolves. False = it was there. */
export async function ensureDir(point: Failpoint, dir: string, mode = 0o700): Promise<boolean> {
  return await step(point, async () => {
    const wanted = resolve(dir)
    const before = process.umask(0)
    let first: string | undefined
    try {
      first = mkdirSync(wanted, { recursive: true, mode })
    } finally {
      process.umask(before)
    }
    if (first === undefined) return false
    const made = [wanted]
    while (made[0]!.length > first.length) made.unshift(dirname(made[0]!))
    for (const path of made) trace({ op: 'mkdir', path })
    for (const path of made)
      await syncDir(dirname(path)).catch((error) => {
        // One may create in a directory one may not list.
        if (codeOf(error) !== 'EACCES') throw error
      })
    return true
  })
}

/** Fills a temporary file and gives it its name: a reader sees the old bytes or the new, whatever happens. */
async function publish(point: TwoStepPoint, path: string, fill: (temp: string) => Promise<void>): Promise<void> {
  hit(point, 'before')
  const temp = tempBeside(path)
  try {
    await fill(temp)
    hit(point, 'between')
    await rename(temp, path)
    await syncDir(dirname(path))
  } catch (error) {
    await remove(temp).catch(() => {})
    throw error
  }
  hit(point, 'after')
}

/** Replaces `path` by temp + fsync + rename + fsync of the directory. */
export async function writeDurable(
  point: TwoStepPoint,
  path: string,
  data: string | Uint8Array,
  mode = 0o600,
): Promise<void> {
  await publish(point, path, async (temp) => {
    const handle = await fs.open(temp, 'wx', mode)
    trace({ op: 'create', path: temp })
    try {
      await handle.chmod(mode)
      await handle.writeFile(data)
      if (isTraced()) trace({ op: 'write', path: temp, data: Buffer.from(data as string) })
      await handle.sync()
      trace({ op: 'sync', path: temp })
    } finally {
      await handle.close()
    }
  })
}

/** As writeDurable, with the bytes of another file. */
export async function copyDurable(point: TwoStepPoint, from: string, path: string, mode: number): Promise<void> {
  await publish(point, path, async (temp) => {
    await fs.copyFile(from, temp, constants.COPYFILE_EXCL)
    await fs.chmod(temp, mode)
    await syncPath(temp)
  })
}

/** Makes `path` a symbolic link with this text, replacing what was there. */
export async function linkDurable(point: TwoStepPoint, text: string, path: string): Promise<void> {
  await publish(point, path, (temp) => fs.symlink(text, temp))
}

/** Gives a file somebody else filled its name: fsync of the file, rename, fsync of the directory. */
export async function publishFile(point: TwoStepPoint, temp: string, path: string): Promise<void> {
  hit(point, 'before')
  await syncPath(temp)
  trace({ op: 'sync', path: temp })
  hit(point, 'between')
  await rename(temp, path)
  await syncDir(dirname(path))
  hit(point, 'after')
}

/** Gives a setting of the kernel a value; the file must be there. */
export const writeSetting = (point: Failpoint, path: string, value: string): Promise<void> =>
  step(point, () => fs.writeFile(path, value, { flag: 'r+' }))

/** Makes a symbolic link; false when something has that name already. */
export async function makeLink(point: Failpoint, text: string, path: string): Promise<boolean> {
  return await step(point, async () => {
    try {
      await fs.symlink(text, path)
      trace({ op: 'link', path, text })
      return true
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    }
  })
}

async function move(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncDir(dirname(to))
  if (dirname(from) !== dirname(to)) await syncDir(dirname(from))
}

/** Renames within one filesystem; durable on both sides when it resolves. */
export async function moveDurable(point: Failpoint, from: string, to: string): Promise<void> {
  await step(point, () => move(from, to))
}

/** Removes a file or tree; idempotent. */
export async function removeTree(point: Failpoint, path: string): Promise<void> {
  await step(point, () => remove(path))
}

/** Removes a directory with nothing in it; false when there is none or it holds something. */
export async function removeEmptyDir(point: Failpoint, path: string): Promise<boolean> {
  return await step(point, async () => {
    try {
      await fs.rmdir(path)
      trace({ op: 'remove', path })
      return true
    } catch (error) {
      if (isAbsent(error) || codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST') return false
      throw error
    }
  })
}

/**
 * Moves the tree out of sight in one step, then deletes it. A crash leaves only something of its name in `trash`, which
 * must exist; the next call for the same path deletes that too, whether or not there is something at `path`.
 */
export async function removeAtomically(point: TwoStepPoint, path: string, trash: string): Promise<void> {
  hit(point, 'before')
  const gone = join(trash, basename(path))
  await remove(gone)
  try {
    await move(path, gone)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  hit(point, 'between')
  await remove(gone)
  hit(point, 'after')
}

export const setMode = (point: Failpoint, path: string, mode: number): Promise<void> =>
  step(point, () => fs.chmod(path, mode))
export const setOwner = (point: Failpoint, path: string, uid: number, gid: number): Promise<void> =>
  step(point, () => fs.chown(path, uid, gid))

/** A file that only grows, or is cut back. Whoever opened it closes it. */
export class AppendFile {
  readonly #path: string
  readonly #handle: fs.FileHandle

  private constructor(path: string, handle: fs.FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  static async open(point: Failpoint, path: string): Promise<AppendFile> {
    return await step(point, async () => {
      const handle = await openToAppend(path)
      trace({ op: 'create', path })
      return new AppendFile(path, handle)
    })
  }

  async append(point: Failpoint, chunk: Uint8Array): Promise<void> {
    hit(point, 'before')
    for (let at = 0; at < chunk.length; ) at += (await this.#handle.write(chunk, at)).bytesWritten
    if (isTraced()) trace({ op: 'write', path: this.#path, data: Buffer.from(chunk) })
    hit(point, 'after')
  }

  async cut(point: Failpoint, size: number): Promise<void> {
    await step(point, () => this.#handle.truncate(size))
    trace({ op: 'cut', path: this.#path, size })
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

/** A new file with the bytes of another, sharing its blocks where the filesystem can; not durable. */
export const cloneFile = (point: Failpoint, from: string, to: string): Promise<void> =>
  step(point, () => fs.copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE))

/** Errors of a filesystem that cannot share blocks, or of two filesystems. */
const NO_SHARING = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'ENOTTY'])

/** A new file that shares its blocks with another; false where the filesystem cannot, and then there is no file. */
export async function shareFile(point: Failpoint, from: string, to: string): Promise<boolean> {
  return await step(point, async () => {
    try {
      await fs.copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
      await fs.chmod(to, 0o600)
      return true
    } catch (error) {
      await remove(to)
      if (NO_SHARING.has(codeOf(error))) return false
      throw error
    }
  })
}

/** Makes a file at least `size` bytes long, the new ones a hole; never shorter. Makes the file when there is none. */
export async function growFile(point: Failpoint, path: string, size: number): Promise<void> {
  await step(point, async () => {
    const handle = await openToAppend(path)
    try {
      if ((await handle.stat()).size < size) await handle.truncate(size)
    } finally {
      await handle.close()
    }
  })
}

/** Writes `size` bytes of `from` into a new file, which is on the disk when it resolves. */
export async function extractRange(
  point: Failpoint,
  from: string,
  { offset, size }: { offset: number; size: number },
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const source = createReadStream(from, { start: offset, end: offset + size - 1, highWaterMark: 1024 * 1024 })
  const target = { mode: 0o600, flags: 'wx', flush: true }
  await step(point, () => pipeline(source, createWriteStream(to, target), { signal }))
}

/** Writes to an open file and answers how many bytes it took. Blocks. */
export function writeOpen(point: Failpoint, fd: number, text: string): number {
  hit(point, 'before')
  const written = writeSync(fd, text)
  hit(point, 'after')
  return written
}

/** Makes an open file empty. Blocks. */
export function cutOpen(point: Failpoint, fd: number): void {
  hit(point, 'before')
  ftruncateSync(fd)
  hit(point, 'after')
}

/** Copies over the file that is there. Blocks, and is not durable. */
export function copyNow(point: Failpoint, from: string, to: string): void {
  hit(point, 'before')
  const there = lstatSync(to, { throwIfNoEntry: false })
  if (there) requireRegular(there)
  copyFileSync(from, to)
  hit(point, 'after')
}

/** The failpoints' own notes: the one write that is none itself. */
export const noteHit = (path: string, line: string): void => appendFileSync(path, line)

/**
 * A descriptor that appends to a log, for a child to write to. `fresh` = what the log held is dropped, and what is no
 * regular file is replaced unless it is a directory; else UnusableFile. Blocks; the caller closes it.
 */
export function openLogNow(path: string, fresh: boolean): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK, O_NOFOLLOW } = constants
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | (fresh ? O_NOFOLLOW : 0)
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (fresh && there && !there.isFile() && !there.isDirectory()) rmSync(path)
  let fd: number
  try {
    fd = openSync(path, flags, 0o600)
  } catch (error) {
    if (there && IRREGULAR.has(codeOf(error))) requireRegular(there)
    throw error
  }
  try {
    requireRegular(fstatSync(fd))
    if (fresh) ftruncateSync(fd)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/**
 * The far end of a pseudo-terminal, to read from and write to without ever blocking; whoever opened it destroys it. Its
 * line settings stay as they are.
 */
export function openTerminal(path: string): ReadStream {
  const fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY)
  const stream = new ReadStream(fd)
  // libuv opens a terminal once more for itself; only then is the first descriptor still ours to close.
  const own = (stream as unknown as { _handle?: { fd?: number } })._handle?.fd
  if (own !== undefined && own !== fd) closeSync(fd)
  return stream
}

import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | undefined)?.code ?? ''

/** True for "there is no such file or directory", the only read error that means absent. */
export const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'
export const isDiskFull = (error: unknown): boolean => codeOf(error) === 'ENOSPC' || codeOf(error) === 'EDQUOT'

/** A name beside `path` that no other writer uses; leftovers end in `.tmp`. */
export const tempBeside = (path: string): string => `${path}.${randomBytes(6).toString('hex')}.tmp`

/** Makes creations, renames and removals in `dir` durable. */
export async function syncDir(dir: string): Promise<void> {
  const handle = await fs.open(dir, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Creates the directory and its parents; idempotent. */
export async function ensureDir(dir: string, mode = 0o700): Promise<void> {
  await fs.mkdir(dir, { recursive: true, mode })
}

/** fsync of the file, rename, fsync of the directory: after it `path` is whole whatever happens. */
export async function publishFile(temp: string, path: string): Promise<void> {
  const handle = await fs.open(temp, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
  await fs.rename(temp, path)
  await syncDir(dirname(path))
}

/** Replaces `path` by temp + fsync + rename + fsync of the directory; a reader sees the old bytes or the new. */
export async function writeDurable(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  const temp = tempBeside(path)
  try {
    await fs.writeFile(temp, data, { mode, flag: 'wx' })
    await publishFile(temp, path)
  } catch (error) {
    await fs.rm(temp, { force: true })
    throw error
  }
}

/** The bytes, or undefined when there is no such file; any other failure is thrown. */
export async function readIfPresent(path: string): Promise<Buffer | undefined> {
  try {
    return await fs.readFile(path)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Names in a directory; none when it does not exist. */
export async function listDir(dir: string): Promise<string[]> {
  try {
    return await fs.readdir(dir)
  } catch (error) {
    if (isAbsent(error)) return []
    throw error
  }
}

/** Size in bytes, or undefined when there is no such file. */
export async function sizeIfPresent(path: string): Promise<number | undefined> {
  try {
    return (await fs.stat(path)).size
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Up to `length` bytes from `offset`; fewer at the end of the file. */
export async function readRange(path: string, offset: number, length: number): Promise<Buffer> {
  const handle = await fs.open(path, constants.O_RDONLY)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** The last `length` bytes; empty when there is no such file. */
export async function readTail(path: string, length: number): Promise<Buffer> {
  const size = await sizeIfPresent(path)
  return size === undefined ? Buffer.alloc(0) : await readRange(path, Math.max(0, size - length), length)
}

/** Renames within one filesystem; durable on both sides when it resolves. */
export async function moveDurable(from: string, to: string): Promise<void> {
  await fs.rename(from, to)
  await syncDir(dirname(to))
  if (dirname(from) !== dirname(to)) await syncDir(dirname(from))
}

/** Removes a file or tree; idempotent. */
export async function removeTree(path: string): Promise<void> {
  await fs.rm(path, { recursive: true, force: true })
}

/** Moves the tree out of sight in one step, then deletes it; a crash leaves only something for emptyTrash. */
export async function removeAtomically(path: string, trash: string): Promise<void> {
  await ensureDir(trash)
  const gone = join(trash, randomBytes(8).toString('hex'))
  try {
    await moveDurable(path, gone)
  } catch (error) {
    if (isAbsent(error)) return
    throw error
  }
  await removeTree(gone)
}

/** Bytes an ordinary writer may still use on the filesystem of `path`. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await fs.statfs(path)
  return bavail * bsize
}

import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import * as fs from 'node:fs/promises'

/** The system's name for what failed; '' = it was not the system. */
export const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException | undefined)?.code ?? ''

/** True for "there is no such file or directory", the only read error that means absent. */
export const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'

/** The largest file that is read whole, bytes: a snapshot may be 16 MiB, all others are far smaller. */
export const READ_LIMIT_BYTES = 64 * 1024 * 1024

/** What is at this place is no file of ours to read or write; the message says what it is. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
}

/** Raises UnusableFile for all but a regular file. */
export function requireRegular(found: Stats): void {
  if (found.isFile()) return
  const kind = found.isDirectory()
    ? 'a directory'
    : found.isFIFO()
      ? 'a named pipe'
      : found.isSymbolicLink()
        ? 'a symbolic link'
        : found.isSocket()
          ? 'a socket'
          : 'a device'
  throw new UnusableFile(`it is ${kind}, not a regular file`)
}

/** A file that is only read; whoever opened it closes it. */
export type ReadHandle = Pick<fs.FileHandle, 'read' | 'stat' | 'close' | 'fd'>

/** Never waits, as the open of a pipe would; what is no regular file is UnusableFile, unless O_DIRECTORY is asked for. */
export async function openToRead(path: string, flags = 0): Promise<ReadHandle> {
  const handle = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK | flags)
  try {
    if (!(flags & constants.O_DIRECTORY)) requireRegular(await handle.stat())
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The first `limit` bytes of a regular file. Blocks for the disk alone. */
export function readHeadNow(path: string, limit: number): Buffer {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    requireRegular(fstatSync(fd))
    const buffer = Buffer.alloc(limit)
    return buffer.subarray(0, readSync(fd, buffer, 0, limit, 0))
  } finally {
    closeSync(fd)
  }
}

/** The bytes, or undefined when there is no such file; any other failure is thrown, and UnusableFile above `limit` bytes. */
export async function readIfPresent(path: string, limit = READ_LIMIT_BYTES): Promise<Buffer | undefined> {
  try {
    return await readWhole(path, limit)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

async function readWhole(path: string, limit: number): Promise<Buffer> {
  const handle = await openToRead(path)
  try {
    const { size } = await handle.stat()
    if (size > limit) throw new UnusableFile(`it is larger than ${limit} bytes`)
    return await readFully(handle, 0, size)
  } finally {
    await handle.close()
  }
}

async function readFully(handle: ReadHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, offset + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return buffer.subarray(0, done)
}

/** The regular file of exactly this name, or undefined when there is none; UnusableFile for a link or anything else. */
export async function regularFile(path: string): Promise<{ size: number } | undefined> {
  try {
    const found = await fs.lstat(path)
    requireRegular(found)
    return { size: found.size }
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

/** Bytes a file takes on its disk, holes not counted; undefined when there is no such file. */
export async function allocatedIfPresent(path: string): Promise<number | undefined> {
  try {
    return (await fs.stat(path)).blocks * 512
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

/** Up to `length` bytes from `offset`; fewer at the end of the file. */
export async function readRange(path: string, offset: number, length: number): Promise<Buffer> {
  const handle = await openToRead(path)
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

/** Bytes an ordinary writer may still use on the filesystem of `path`. */
export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await fs.statfs(path)
  return bavail * bsize
}

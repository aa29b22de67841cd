import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Fault } from '../../../../ipc/faults.ts'

const CHUNK = 1024 * 1024

/** A file of this computer that is only read; whoever opened it closes it. */
export interface SourceFile {
  size: number
  handle: FileHandle
}

/** Never waits, as the open of a pipe would. Raises image/import-impossible for what cannot be read or is no file. */
export async function openSource(path: string, file: string): Promise<SourceFile> {
  const refuse = (detail: string, cause?: unknown) =>
    new Fault('image/import-impossible', 'permanent', { file, detail }, { cause })
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw refuse(error.code === 'ENOENT' ? 'there is no such file' : `it cannot be read: ${error.code}`, error)
  })
  const found = await handle.stat()
  if (found.isFile() && found.size > 0) return { handle, size: found.size }
  await handle.close()
  throw refuse(found.isFile() ? 'it is empty' : 'it is not a file')
}

/** Up to `length` bytes from `offset`. */
export async function readAt({ handle }: SourceFile, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset)
  return buffer.subarray(0, bytesRead)
}

export interface CopyOptions {
  /** Hash algorithms besides SHA-256. */
  also?: string
  progress(done: number, total: number): void
  signal: AbortSignal
}

/** A part of the file as a new one, zeros as holes; the hex digests of its bytes. Raises image/import-failed. */
export async function copyPart(
  source: SourceFile,
  { offset, size }: { offset: number; size: number },
  to: string,
  { also, progress, signal }: CopyOptions,
): Promise<{ sha256: string; also: string }> {
  const hash = createHash('sha256')
  const other = also === undefined ? undefined : createHash(also)
  const target = await open(to, 'wx', 0o600)
  const chunk = Buffer.alloc(CHUNK)
  const zeros = Buffer.alloc(CHUNK)
  try {
    for (let at = 0; at < size; ) {
      signal.throwIfAborted()
      const { bytesRead } = await source.handle.read(chunk, 0, Math.min(CHUNK, size - at), offset + at)
      if (bytesRead === 0)
        throw new Fault('image/import-failed', 'transient', { detail: 'it was cut while it was read' })
      const bytes = chunk.subarray(0, bytesRead)
      hash.update(bytes)
      other?.update(bytes)
      if (!bytes.equals(zeros.subarray(0, bytesRead))) await target.write(bytes, 0, bytesRead, at)
      at += bytesRead
      progress(at, size)
    }
    await target.truncate(size)
    await target.sync()
  } finally {
    await target.close()
  }
  return { sha256: hash.digest('hex'), also: other?.digest('hex') ?? '' }
}

/** Hex SHA-256 of the whole file. */
export async function digestOf({ handle }: SourceFile, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  const bytes = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: CHUNK, signal })
  for await (const chunk of bytes) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

import { createHash } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Fault } from '../../../ipc/faults.ts'
import { writeTrouble } from '../../file-words.ts'
import { tarHeader } from '../images/tiny/image-tar.ts'

const BLOCK_BYTES = 512
const MAX_PATH = 1_000

/** A .tar.gz of plain files in the order given. */
export async function archiveOf(files: readonly { name: string; text: string }[]): Promise<Buffer> {
  const blocks = files.flatMap(({ name, text }) => {
    const content = Buffer.from(text)
    const padding = (BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES
    return [tarHeader(`eitri-support/${name}`, content.length), content, Buffer.alloc(padding)]
  })
  return await promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]))
}

/**
 * Writes a file that did not exist, 0600, on disk when it resolves; its digest. Raises support/not-written; then nothing
 * is left of it, and what was there is as it was.
 */
export async function writeNew(path: string, bytes: Buffer): Promise<string> {
  if (!isAbsolute(path) || path.length > MAX_PATH || path.includes('\0'))
    throw notWritten(path, 'use an absolute path on the computer that Eitri runs on')
  let handle: FileHandle
  try {
    handle = await open(path, 'wx', 0o600)
  } catch (cause) {
    throw notWritten(path, writeTrouble(cause, path), cause)
  }
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } catch (cause) {
    await unlink(path).catch(() => {})
    throw notWritten(path, writeTrouble(cause, path), cause)
  } finally {
    await handle.close()
  }
  return createHash('sha256').update(bytes).digest('hex')
}

const notWritten = (path: string, detail: string, cause?: unknown) =>
  new Fault('support/not-written', 'permanent', { path: path.slice(0, 200), detail }, { cause })

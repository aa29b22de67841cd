import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

const BLOCK_BYTES = 512

/** One file of a `kernel` image, in the order given. */
export interface TarFile {
  name: string
  content: Buffer
}

/** A ustar header of a plain file with mode 0644 and time zero. Pure. */
export function tarHeader(name: string, sizeBytes: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  header.write(name, 0)
  header.write(octal(0o644, 7) + octal(0, 7) + octal(0, 7), 100)
  header.write(octal(sizeBytes, 11) + octal(0, 11), 124)
  header.write('        0', 148)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

/** Writes the archive, synced, and tells its digest and size. */
export async function writeTar(
  path: string,
  files: readonly TarFile[],
): Promise<{ sha256: string; sizeBytes: number }> {
  const hash = createHash('sha256')
  let sizeBytes = 0
  const handle = await open(path, 'wx', 0o644)
  const put = async (chunk: Buffer) => {
    hash.update(chunk)
    sizeBytes += chunk.length
    await handle.writeFile(chunk)
  }
  try {
    for (const { name, content } of files) {
      await put(tarHeader(name, content.length))
      await put(content)
      await put(Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES))
    }
    await put(Buffer.alloc(2 * BLOCK_BYTES))
    await handle.sync()
  } finally {
    await handle.close()
  }
  return { sha256: hash.digest('hex'), sizeBytes }
}

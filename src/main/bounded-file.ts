import { createReadStream } from 'node:fs'
import { constants, type FileHandle, open } from 'node:fs/promises'

/**
 * A whole file of at most `maxBytes`, whatever its size claims: a device claims none and never ends. A pipe is waited
 * for only with `waits`; else one without a writer is an empty file.
 */
export async function readBounded(
  path: string,
  maxBytes: number,
  { waits = false } = {},
): Promise<Buffer<ArrayBuffer>> {
  const handle: FileHandle = await open(path, constants.O_RDONLY | (waits ? 0 : constants.O_NONBLOCK))
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream('', { fd: handle, end: maxBytes })) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  if (bytes.length > maxBytes) throw new Error(`larger than ${maxBytes} bytes`)
  return bytes
}

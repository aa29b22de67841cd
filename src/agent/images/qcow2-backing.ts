import { KiB } from '../../ipc/units.ts'
import { readRange } from '../os/files.ts'

const MAGIC = 0x514649fb

/** The file a qcow2 disk is an overlay of, as written in its header; '' = of none. Rejects when it cannot be read. */
export async function backingFileOf(path: string): Promise<string> {
  const head = await readRange(path, 0, 4 * KiB)
  if (head.length < 20 || head.readUInt32BE(0) !== MAGIC) return ''
  const offset = Number(head.readBigUInt64BE(8))
  const length = head.readUInt32BE(16)
  if (offset === 0 || length === 0 || length > KiB) return ''
  return (await readRange(path, offset, length)).toString('utf8')
}

/** Bytes the guest sees of a qcow2 disk, as written in its header. Rejects when it is none, or cannot be read. */
export async function virtualBytesOf(path: string): Promise<number> {
  const head = await readRange(path, 0, 32)
  if (head.length < 32 || head.readUInt32BE(0) !== MAGIC) throw new Error(`${path} is no qcow2 disk`)
  return Number(head.readBigUInt64BE(24))
}

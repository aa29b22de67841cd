const MAGIC = Buffer.from('SSHKRL\n\0', 'latin1')
/** Format version, version of the list, time, flags. */
const HEAD_BYTES = MAGIC.length + 4 + 8 + 8 + 8
const SIGNATURE = 4

/**
 * Whether sshd takes the bytes for a list of revoked keys; none at all are one too. A guest with anything else in that
 * place lets nobody in by key.
 */
export function isKrl(bytes: Uint8Array): boolean {
  if (bytes.length === 0) return true
  const list = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (list.length < HEAD_BYTES || !list.subarray(0, MAGIC.length).equals(MAGIC)) return false
  if (list.readUInt32BE(MAGIC.length) !== 1) return false
  let at: number | undefined = HEAD_BYTES
  // A reserved text and a comment.
  for (let i = 0; i < 2 && at !== undefined; i++) at = afterString(list, at)
  while (at !== undefined && at < list.length) {
    const kind: number = list[at]!
    if (kind < 1 || kind > 5 || kind === SIGNATURE) return false
    at = afterString(list, at + 1)
  }
  return at === list.length
}

function afterString(list: Buffer, at: number): number | undefined {
  if (at + 4 > list.length) return undefined
  const end = at + 4 + list.readUInt32BE(at)
  return end <= list.length ? end : undefined
}

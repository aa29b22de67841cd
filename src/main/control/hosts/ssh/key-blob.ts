const TYPE_BYTES = 64

/** The name inside a key blob; undefined when it is not one. */
export function keyTypeOf(blob: Buffer): string | undefined {
  if (blob.length < 4) return undefined
  const length = blob.readUInt32BE(0)
  if (length === 0 || length > TYPE_BYTES || blob.length < 4 + length) return undefined
  return blob.toString('latin1', 4, 4 + length)
}

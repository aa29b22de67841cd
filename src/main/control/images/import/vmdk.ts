/** Up to and with the largest description that is read. */
export const VMDK_HEAD_BYTES = 1024 * 1024
/** With the footer that streamed disks have. */
export const VMDK_TAIL_BYTES = 1024

const SECTOR = 512
const MAX_VIRTUAL_BYTES = 64 * 1024 ** 4
/** Readers take so much of a description, however long the header calls it. */
const DESCRIPTION_BYTES = 20 * SECTOR
const AT_END = 0xffffffffffffffffn
/** From the version to the redundant tables: all that leads a reader anywhere but to the tables themselves. */
const LEADS = { from: 4, to: 56 }

export const isVmdk = (head: Buffer): boolean => head.subarray(0, 4).toString('latin1') === 'KDMV'

/**
 * Throws Error unless it is a sparse VMDK in one file with its description in it: a description can name any file of this
 * computer as the disk's content, or as the disk it builds on, in its head or in its footer. Answers the bytes a guest sees.
 */
export function checkVmdk({ head, tail, size }: { head: Buffer; tail: Buffer; size: number }): number {
  if (!isVmdk(head) || head.length < SECTOR) throw new Error('its disk is no sparse VMDK')
  const version = head.readUInt32LE(4)
  if (version < 1 || version > 3) throw new Error(`its disk is a VMDK of version ${version}`)
  const sectors = head.readBigUInt64LE(12)
  const virtualBytes = Number(sectors) * SECTOR
  if (sectors === 0n || virtualBytes > MAX_VIRTUAL_BYTES) throw new Error('its disk is a VMDK of no sensible size')
  const start = Number(head.readBigUInt64LE(28)) * SECTOR
  const length = Number(head.readBigUInt64LE(36)) * SECTOR
  if (start < SECTOR || length < SECTOR || start + length > Math.min(size, head.length))
    throw new Error('its disk is a VMDK without a description')
  if (head.readBigUInt64LE(56) === AT_END) requireSameFooter(head, tail)
  checkDescription(
    head
      .subarray(start, start + Math.max(length, DESCRIPTION_BYTES))
      .toString('latin1')
      .replace(/\0[\s\S]*$/, ''),
  )
  return virtualBytes
}

/** Readers go by the footer. */
function requireSameFooter(head: Buffer, tail: Buffer): void {
  const footer = tail.subarray(0, SECTOR)
  const leads = (part: Buffer) => part.subarray(LEADS.from, LEADS.to)
  if (tail.length < VMDK_TAIL_BYTES || !isVmdk(footer)) throw new Error('its disk is a VMDK that is cut off')
  if (!leads(footer).equals(leads(head))) throw new Error('its disk is a VMDK whose two headers differ')
}

function checkDescription(text: string): void {
  // By lines, each read once: a pattern over the whole text could take hours over one that is made for it.
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const value = (key: string) => {
    const line = lines.find((line) => line.slice(0, line.indexOf('=')).trim().toLowerCase() === key)
    return line && unquoted(line.slice(line.indexOf('=') + 1).trim()).toLowerCase()
  }
  if (!/^# ?Disk DescriptorFile/i.test(lines.find((line) => line !== '') ?? ''))
    throw new Error('its disk is a VMDK without a description')
  if (/parentFileNameHint/i.test(text) || value('parentcid') !== 'ffffffff')
    throw new Error('its disk is a VMDK that needs another disk')
  if (!['monolithicsparse', 'streamoptimized'].includes(value('createtype') ?? ''))
    throw new Error('its disk is a VMDK that is not in one file')
  const extents = lines.filter((line) => /^(RW|RDONLY|NOACCESS)\b/i.test(line))
  if (extents.length !== 1 || !/^RW\s+\d+\s+SPARSE\s/i.test(extents[0]!))
    throw new Error('its disk is a VMDK that is not in one file')
}

const unquoted = (text: string): string => text.replace(/^"/, '').replace(/"$/, '').trim()

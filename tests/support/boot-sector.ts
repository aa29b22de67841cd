/** What the guest prints on COM1 when it starts; after that it echoes every byte. */
export const SECTOR_BANNER = 'sector up\r\n'

const ORIGIN = 0x7c00
const CODE = [
  ...[0xfa, 0xfc, 0x31, 0xc0, 0x8e, 0xd8, 0xfb], // cli; cld; ds = 0; sti
  ...[0xbe, 0, 0], // si = banner, patched below
  ...[0xac, 0x84, 0xc0, 0x74, 0x05, 0xe8, 0x14, 0x00, 0xeb, 0xf6], // print until 0
  ...[0xf4, 0xba, 0xfd, 0x03, 0xec, 0xa8, 0x01, 0x74, 0xf7], // halt until a byte came
  ...[0xba, 0xf8, 0x03, 0xec, 0xe8, 0x02, 0x00, 0xeb, 0xee], // read it, put it, again
  ...[0xba, 0xf8, 0x03, 0xee, 0xc3], // put al
]

/** A whole guest of 512 bytes, without ACPI: it never answers the power button. */
export function bootSector(): Buffer {
  const sector = Buffer.alloc(512)
  sector.set(CODE)
  sector.writeUInt16LE(ORIGIN + CODE.length, 8)
  sector.write(`${SECTOR_BANNER}\0`, CODE.length, 'latin1')
  sector.set([0x55, 0xaa], 510)
  return sector
}

const POLITE = [
  ...[0xfa, 0xfc, 0x31, 0xc0, 0x8e, 0xd8, 0xfb], // cli; cld; ds = 0; sti
  ...[0xba, 0x02, 0x06, 0xb8, 0x00, 0x01, 0xef], // q35's PM1 enable: the power button
  ...[0xf4, 0xba, 0x00, 0x06, 0xed, 0xf6, 0xc4, 0x01, 0x74, 0xf6], // halt until it is pressed
  ...[0xba, 0x04, 0x06, 0xb8, 0x00, 0x20, 0xef, 0xf4, 0xeb, 0xfd], // PM1 control: power off
]

/** A guest that powers itself off when its power button is pressed. `mark` makes its bytes its own. */
export function politeSector(mark: string): Buffer {
  const sector = Buffer.alloc(512)
  sector.set(POLITE)
  sector.write(mark, 256, 'latin1')
  sector.set([0x55, 0xaa], 510)
  return sector
}

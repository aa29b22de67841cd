import { crc32, deflateSync, inflateSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { palettePng } from '../../../scripts/palette-png.ts'

const AMBER = 0x8a5200
const RED = 0xb4231c

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** One line of pixels, as Chromium writes pictures. */
function pngOf(colours: readonly number[]): Buffer {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 1, 8, 2, 0, 0, 0])
  head.writeUInt32BE(colours.length)
  const line = Buffer.alloc(1 + colours.length * 3)
  for (const [i, colour] of colours.entries()) line.writeUIntBE(colour, 1 + i * 3, 3)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const parts = [chunk('IHDR', head), chunk('IDAT', deflateSync(line)), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([signature, ...parts])
}

/** The pixels of a line that a palette names. */
function pixelsOf(png: Buffer): number[] {
  const dataOf = (type: string) => {
    const at = png.indexOf(type, 0, 'latin1')
    return png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4))
  }
  const table = dataOf('PLTE')
  return [...inflateSync(dataOf('IDAT')).subarray(1)].map((i) => table.readUIntBE(i * 3, 3))
}

it('keeps the colour of a small sign among many greys', () => {
  const greys = Array.from({ length: 400 }, (_, i) => 0x404040 + (i % 100) * 0x010101 + ((i / 100) | 0))
  const picture = [...greys, ...greys, ...greys, ...greys, AMBER, AMBER, RED, RED]
  expect(pixelsOf(palettePng(pngOf(picture))).slice(-4)).toEqual([AMBER, AMBER, RED, RED])
})

it('changes nothing of a picture with few colours', () => {
  const picture = [0xffffff, 0x000000, 0xffffff, RED, AMBER]
  expect(pixelsOf(palettePng(pngOf(picture)))).toEqual(picture)
})

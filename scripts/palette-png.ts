import { crc32, deflateSync, inflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS = 256
const CHANNELS: Record<number, number> = { 2: 3, 6: 4 }

function* chunksOf(png: Buffer) {
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) }
    at += length + 12
  }
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

function paeth(a: number, b: number, c: number): number {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)]
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c
}

/** Undoes the filter of each line, in place; each line keeps its leading byte. */
function unfilter(lines: Buffer, stride: number, step: number): void {
  for (let start = 0; start < lines.length; start += stride + 1) {
    const filter = lines[start] as number
    for (let i = 1; i <= stride; i++) {
      const at = start + i
      const left = i > step ? (lines[at - step] as number) : 0
      const up = start > 0 ? (lines[at - stride - 1] as number) : 0
      const corner = start > 0 && i > step ? (lines[at - stride - 1 - step] as number) : 0
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] as number
      lines[at] = ((lines[at] as number) + guess) & 0xff
    }
  }
}

function distance(one: number, other: number): number {
  const r = (one >> 16) - (other >> 16)
  const g = ((one >> 8) & 0xff) - ((other >> 8) & 0xff)
  const b = (one & 0xff) - (other & 0xff)
  return r * r + g * g + b * b
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0
  let least = Number.POSITIVE_INFINITY
  for (const [i, one] of palette.entries()) {
    const far = distance(one, colour)
    if (far < least) [best, least] = [i, far]
  }
  return best
}

/** One after the other the colour that is missed most: a small amber sign counts as much as many greys close to others. */
function paletteOf(seen: ReadonlyMap<number, number>): number[] {
  const left = [...seen].map(([colour, pixels]) => ({ colour, pixels, far: Number.MAX_SAFE_INTEGER }))
  const palette: number[] = []
  while (palette.length < Math.min(COLOURS, left.length)) {
    let next = left[0] as (typeof left)[number]
    for (const one of left) if (one.pixels * one.far > next.pixels * next.far) next = one
    palette.push(next.colour)
    for (const one of left) one.far = Math.min(one.far, distance(one.colour, next.colour))
  }
  return palette
}

/** The same opaque picture in the 256 colours that tell most of it: pages have few, so a third of the bytes shows the same. */
export function palettePng(png: Buffer): Buffer {
  const chunks = [...chunksOf(png)]
  const head = chunks[0]?.data as Buffer
  const [width, height, depth, kind] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9] as number]
  const step = CHANNELS[kind]
  if (depth !== 8 || step === undefined || head[12] !== 0) return png
  const lines = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)))
  unfilter(lines, width * step, step)

  const pixels = new Uint32Array(width * height)
  const seen = new Map<number, number>()
  for (let y = 0, to = 0; y < height; y++)
    for (let x = 0, at = y * (width * step + 1) + 1; x < width; x++, at += step, to++) {
      const colour = lines.readUIntBE(at, 3)
      pixels[to] = colour
      seen.set(colour, (seen.get(colour) ?? 0) + 1)
    }
  const palette = paletteOf(seen)
  const indexOf = new Map(palette.map((colour, i) => [colour, i]))
  const packed = Buffer.alloc((width + 1) * height)
  for (const [i, colour] of pixels.entries()) {
    if (!indexOf.has(colour)) indexOf.set(colour, nearest(palette, colour))
    packed[Math.floor(i / width) + i + 1] = indexOf.get(colour) as number
  }
  const table = Buffer.alloc(palette.length * 3)
  for (const [i, colour] of palette.entries()) table.writeUIntBE(colour, i * 3, 3)
  const header = Buffer.from(head)
  header[9] = 3
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', table),
    chunk('IDAT', deflateSync(packed, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

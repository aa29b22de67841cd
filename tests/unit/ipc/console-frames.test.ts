import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ConsoleFrame, cutUtf8, decodeConsoleFrame, encodeConsoleFrame } from '../../../src/ipc/console-frames.ts'
import { findFault } from '../../../src/ipc/faults.ts'

const id = fc.integer({ min: 0, max: 0xffff_ffff })
const offset = fc.bigInt({ min: 0n, max: 2n ** 62n })
const bytes = fc.uint8Array({ maxLength: 4096 })
const frame: fc.Arbitrary<ConsoleFrame> = fc.oneof(
  fc.record({
    type: fc.constant('open' as const),
    id,
    vm: fc.string({ maxLength: 64 }),
    from: offset,
    readOnly: fc.constant(true),
  }),
  fc.record({ type: fc.constant('open' as const), id, vm: fc.constant('web'), tailBytes: fc.nat() }),
  fc.record({ type: fc.constant('opened' as const), id, start: offset, end: offset, head: offset, title: fc.string() }),
  fc.record({ type: fc.constant('data' as const), id, offset, bytes }),
  fc.record({ type: fc.constant('ack' as const), id, offset }),
  fc.record({ type: fc.constant('input' as const), id, bytes }),
  fc.record({ type: fc.constant('take-keyboard' as const), id }),
  fc.record({ type: fc.constant('keyboard' as const), id, holder: fc.boolean() }),
  fc.record({ type: fc.constant('skipped' as const), id, from: offset, to: offset }),
  fc.record({
    type: fc.constant('state' as const),
    id,
    link: fc.constantFrom('live' as const, 'reconnecting' as const, 'stopped' as const),
    detail: fc.string(),
  }),
  fc.record({
    type: fc.constant('opened' as const),
    id,
    start: offset,
    end: offset,
    head: offset,
    title: fc.string(),
    resizes: fc.constant(true),
  }),
  fc.record({
    type: fc.constant('open-shell' as const),
    id,
    kind: fc.constantFrom('vm' as const, 'host' as const),
    ref: fc.string({ maxLength: 64 }),
    login: fc.string({ maxLength: 64 }),
    rows: fc.integer({ min: 1, max: 1000 }),
    cols: fc.integer({ min: 1, max: 1000 }),
  }),
  fc.record({
    type: fc.constant('resize' as const),
    id,
    rows: fc.integer({ min: 1, max: 1000 }),
    cols: fc.integer({ min: 1, max: 1000 }),
  }),
  fc.record({ type: fc.constant('close' as const), id, reason: fc.string({ maxLength: 30, unit: 'grapheme-ascii' }) }),
)

describe('console frames', () => {
  it('come back as they went', () => {
    fc.assert(
      fc.property(frame, (f) => {
        expect(decodeConsoleFrame(encodeConsoleFrame(f))).toEqual(f)
      }),
    )
  })

  it('decode from a view into a larger buffer', () => {
    const plain = encodeConsoleFrame({ type: 'data', id: 7, offset: 2n ** 40n, bytes: Uint8Array.of(1, 2, 3) })
    const padded = new Uint8Array(plain.length + 10)
    padded.set(plain, 5)
    expect(decodeConsoleFrame(padded.subarray(5, 5 + plain.length))).toEqual({
      type: 'data',
      id: 7,
      offset: 2n ** 40n,
      bytes: Uint8Array.of(1, 2, 3),
    })
  })

  it('end in one fault, never a crash, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (raw) => {
        try {
          decodeConsoleFrame(raw)
        } catch (error) {
          expect(findFault(error)?.code).toBe('input/invalid')
        }
      }),
    )
  })

  it('refuse a message over the largest frame', () => {
    expect(() => decodeConsoleFrame(new Uint8Array(70_000).fill(5))).toThrow('input/invalid')
  })

  it('cut a reason at 120 bytes without bisecting a character', () => {
    const cut = cutUtf8('ü'.repeat(100))
    expect(cut).toBe('ü'.repeat(60))
    expect(new TextEncoder().encode(cutUtf8(`${'a'.repeat(119)}€`)).length).toBe(119)
  })
})

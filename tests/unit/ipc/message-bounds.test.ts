import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ReportSchema, SyncRequestSchema, SyncResponseSchema } from '../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { boundedEnvelopes, boundedMessage, isBearable } from '../../../src/ipc/message-bounds.ts'
import { LIMITS, MiB } from '../../../src/ipc/units.ts'

const repeated = (bytes: number[], times: number) =>
  new Uint8Array(times * bytes.length).map((_, i) => bytes[i % bytes.length]!)
const envelope = (message: Uint8Array, flags = 0) => {
  const out = new Uint8Array(5 + message.length)
  out[0] = flags
  new DataView(out.buffer).setUint32(1, message.length)
  out.set(message, 5)
  return out
}
const refuse = () => new Error('too many parts')
async function* pieces(bytes: Uint8Array, cuts: readonly number[]) {
  let at = 0
  for (const cut of [...new Set(cuts.map((c) => c % (bytes.length + 1)))].sort((a, b) => a - b)) {
    yield bytes.slice(at, cut)
    at = cut
  }
  yield bytes.slice(at)
}
async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of source) all.push(piece)
  return Buffer.concat(all)
}

describe('what a message may make us build', () => {
  it('counts messages and fields it does not know, at every depth, and neither numbers nor text', () => {
    const report = create(ReportSchema, {
      vms: [
        { vmId: 'a', progress: { step: 1 } },
        { vmId: 'b', spec: { sshAuthorizedKeys: ['x', 'y', 'z'] } },
      ],
      destroyed: ['1', '2', '3', '4'],
    })
    const bytes = toBinary(ReportSchema, report)
    expect(isBearable(ReportSchema, bytes, 5)).toBe(true)
    expect(isBearable(ReportSchema, bytes, 4)).toBe(false)
    const unknown = Buffer.concat([bytes, repeated([0xf8, 0x7f, 0x01], 10)])
    expect(isBearable(ReportSchema, unknown, 15)).toBe(true)
    expect(isBearable(ReportSchema, unknown, 14)).toBe(false)
  })

  it('has room for a report of 10,000 VMs with everything said of each', () => {
    const spec = { vmId: 'a'.repeat(32), name: 'web', tombstone: { graceS: 1n } }
    const vm = { vmId: 'a', progress: { step: 1 }, startedAt: { seconds: 1n }, spec }
    const report = create(ReportSchema, { vms: Array(10_000).fill(vm) })
    expect(isBearable(ReportSchema, toBinary(ReportSchema, report))).toBe(true)
  })

  it.each([
    ['2 million empty rows', SyncResponseSchema, [0x1a, 0x00]],
    ['2 million fields of a later version', SyncResponseSchema, [0xf8, 0x7f]],
  ])('refuses 4 MB of %s without building them', (_, schema, unit) => {
    const inner = repeated(unit, 2_000_000)
    const message = Buffer.concat([Buffer.from([0x12, 0x80, 0x92, 0xf4, 0x01]), inner])
    const before = process.memoryUsage().heapUsed
    expect(isBearable(schema, message)).toBe(false)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * MiB)
  })

  it.each([
    ['a message as a number', [0x08, 0x01]],
    ['a number as text', [0x0a, 0x02, 0x0a, 0x00]],
    ['text as a number', [0x0a, 0x02, 0x10, 0x01]],
    ['a message longer than the one around it', [0x12, 0x02, 0x1a, 0x7f]],
  ])('refuses %s, which decodes as something else than was counted', (_, bytes) => {
    expect(isBearable(SyncRequestSchema, new Uint8Array(bytes))).toBe(false)
  })

  it('counts as many messages as decoding makes, whatever the bytes', () => {
    const built = (value: unknown): number => {
      if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 0
      const own = '$typeName' in value ? 1 + ((value as { $unknown?: unknown[] }).$unknown?.length ?? 0) : 0
      const inner = Object.entries(value).filter(([key]) => key !== '$unknown')
      return own + inner.reduce((sum, [, v]) => sum + built(v), 0)
    }
    const decoded = (bytes: Uint8Array) => {
      try {
        return fromBinary(SyncRequestSchema, bytes)
      } catch {
        return undefined
      }
    }
    const tag = fc.constantFrom(0x0a, 0x12, 0x1a, 0x08, 0x10, 0x22, 0x62, 0x78)
    const small = fc.integer({ min: 0, max: 12 })
    const bytes = fc.array(fc.oneof(tag, small, fc.nat(255)), { maxLength: 24 }).map((list) => new Uint8Array(list))
    fc.assert(
      fc.property(bytes, (some) => {
        const message = decoded(some)
        if (message) fc.pre(isBearable(SyncRequestSchema, some, 1_000))
        if (message) expect(isBearable(SyncRequestSchema, some, built(message) - 1)).toBe(false)
      }),
      { numRuns: 3_000 },
    )
  })

  it('leaves bytes that are no message to the decoder, which refuses them', () => {
    for (const bytes of [new Uint8Array([0x12, 0xff]), repeated([0x73], 10_000), new Uint8Array([0x78])]) {
      expect(isBearable(SyncRequestSchema, bytes)).toBe(true)
      expect(() => fromBinary(SyncRequestSchema, bytes)).toThrow()
    }
  })
})

describe('a stream of enveloped messages', () => {
  it('comes through byte for byte, however it was cut', async () => {
    const message = fc
      .array(fc.string(), { maxLength: 5 })
      .map((destroyed) => toBinary(ReportSchema, create(ReportSchema, { destroyed })))
    const stream = fc.tuple(fc.array(message, { maxLength: 6 }), fc.array(fc.nat(500)), fc.uint8Array({ maxLength: 4 }))
    await fc.assert(
      fc.asyncProperty(stream, async ([messages, cuts, torn]) => {
        const bytes = Buffer.concat([...messages.map((m) => envelope(m)), torn])
        const out = await collect(boundedEnvelopes(pieces(bytes, cuts), ReportSchema, refuse))
        expect(out.equals(bytes)).toBe(true)
        const [one = new Uint8Array()] = messages
        const single = await collect(boundedMessage(pieces(one, cuts), ReportSchema, refuse))
        expect(single.equals(one)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('hands each message on as soon as it is whole', async () => {
    const source = (async function* () {
      yield Buffer.concat([envelope(new Uint8Array(3)), envelope(new Uint8Array(9)).subarray(0, 8)])
      await new Promise(() => {})
    })()
    const { value } = await boundedEnvelopes(source, ReportSchema, refuse).next()
    expect(value).toHaveLength(8)
  })

  it.each([
    ['a stream', boundedEnvelopes, (m: Uint8Array) => envelope(m)],
    ['a single message', boundedMessage, (m: Uint8Array) => m],
  ])('of too many parts is refused in %s, before it is decoded', async (_, bounded, framed) => {
    const rows = repeated([0x1a, 0x00], LIMITS.messageParts)
    await expect(collect(bounded(pieces(framed(rows), [9, 70_000]), ReportSchema, refuse))).rejects.toThrow('too many')
  })

  it.each([
    ['longer than any message', new Uint8Array([0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3])],
    ['said to be compressed', envelope(repeated([0x1a, 0x00], LIMITS.messageParts), 1)],
  ])('%s is left to the reader behind, unheld', async (_, bytes) => {
    const out = await collect(boundedEnvelopes(pieces(bytes, [2, 6]), ReportSchema, refuse))
    expect(out.equals(bytes)).toBe(true)
  })
})

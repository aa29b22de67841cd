import { create, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { SyncRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { AgentProcess } from '../support/agent-process.ts'
import { attached, attachFrame, snapshotFrame, VM, wireClient } from '../support/agent-wire.ts'
import { answerOf, closedOf, enveloped, PREFACE, rawCall, rawSession, rawSocket } from '../support/raw-wire.ts'
import { atOnce, attack, attackFromInside, held, insiderFrames, outsiderAttack, Witness } from '../support/wire-fuzz.ts'

const GROWTH_MB = 32
/** One message of the largest size, held a few times over until it is collected. */
const BURST_MB = 128
const FUZZ_MS = 4_000
/** A peer that left with much unsaid is noticed by the ping it does not answer, not by its end. */
const GONE_MS = 30_000
const SEEDS = [20_240_229, 1_060_137_942]

const repeated = (bytes: number[], times: number) => Buffer.alloc(bytes.length * times, Buffer.from(bytes))
const tagged = (tag: number, bytes: Uint8Array): Buffer => {
  const length: number[] = []
  for (let n = bytes.length; ; n >>>= 7) {
    length.push(n > 127 ? (n & 127) | 128 : n)
    if (n <= 127) break
  }
  return Buffer.concat([Buffer.from([tag, ...length]), bytes])
}
const encoded = (frame: Parameters<typeof toBinary<typeof SyncRequestSchema>>[1]) => toBinary(SyncRequestSchema, frame)

describe('a real agent whose socket is abused', () => {
  const agent = new AgentProcess()
  let witness: Witness
  let before: ReturnType<typeof held>

  const call = async (method: string, ...frames: Uint8Array[]) => {
    const session = rawSession(agent.socketPath)
    const stream = rawCall(session, method)
    for (const frame of frames) stream.write(frame)
    if (method === 'StatImage') stream.end()
    const answer = await answerOf(stream)
    session.destroy()
    return answer.body
  }

  beforeAll(async () => {
    await agent.start()
    witness = await Witness.attach(agent.socketPath)
    await witness.seesItself()
  })
  afterAll(async () => {
    witness?.[Symbol.dispose]()
    await agent[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    before = held(agent.pid)
  })

  /** What it holds open beyond as many as before; sockets have another number each time. */
  const added = (fds: string[]) => {
    const now = held(agent.pid).fds
    return now.length <= fds.length ? [] : now.filter((fd) => !fds.includes(fd))
  }
  const reattach = async () => {
    witness[Symbol.dispose]()
    witness = await Witness.attach(agent.socketPath)
  }

  /** Another session is as it was, and nothing is left of what was done. */
  const unharmed = async () => {
    await witness.seesItself()
    expect(held(agent.pid).rssMb - before.rssMb).toBeLessThan(BURST_MB)
    await expect.poll(() => added(before.fds), { timeout: GONE_MS }).toEqual([])
  }

  it.each([
    ['HTTP/1', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['a preface that goes wrong at its end', Buffer.concat([PREFACE.subarray(0, 22), Buffer.from('xx')])],
    ['64 KiB of nothing', Buffer.alloc(65_536)],
    ['a frame of 16 MB', Buffer.concat([PREFACE, Buffer.from([0xff, 0xff, 0xff, 4, 0, 0, 0, 0, 0])])],
  ])('ends a connection that speaks %s, and that one only', async (_, bytes) => {
    const socket = await rawSocket(agent.socketPath)
    socket.write(bytes)
    await closedOf(socket)
    await unharmed()
  })

  const deep = repeated([0x73], 1_000_000)
  it.each([
    ['compressed', enveloped(encoded(attachFrame()), { flags: 1 })],
    ['said to be the end of the stream', enveloped(encoded(attachFrame()), { flags: 2 })],
    ['of 4 GB', enveloped(new Uint8Array(), { length: 2 ** 32 - 1 })],
    ['that is cut short', enveloped(encoded(attachFrame()).subarray(0, 9))],
    ['nested a million deep', enveloped(deep)],
    ['of two million empty VMs', enveloped(tagged(0x12, tagged(0x1a, repeated([0x0a, 0x00], 2_000_000))))],
    ['of two million unknown fields', enveloped(repeated([0x78, 0x00], 2_000_000))],
    ['with a name that is no UTF-8', enveloped(tagged(0x0a, Buffer.from([0x08, 1, 0x12, 2, 0xff, 0xfe])))],
    ['of an enum or kind it does not know', enveloped(Buffer.from([0x78, 0x7f]))],
    [
      'with both kinds at once, Attach first',
      enveloped(Buffer.concat([encoded(attachFrame()), encoded(snapshotFrame(9n))])),
    ],
    ['of a later protocol', enveloped(encoded(attachFrame({ protocolVersion: 2 })))],
    ['of another fleet', enveloped(encoded(attachFrame({ fleetId: 'e'.repeat(32) })))],
  ])('ends a session whose first frame is one %s, and that one only', async (_, frame) => {
    expect(await call('Sync', frame)).toMatch(/auth_rejected|foreign_controller|error/)
    await unharmed()
  })

  it.each(['StatImage', 'PutImage', 'Console'])('refuses %s to whoever is not attached', async (method) => {
    const frame = method === 'StatImage' ? new Uint8Array() : enveloped(new Uint8Array())
    expect(await call(method, frame)).toMatch(/failed_precondition|invalid_argument/)
    await unharmed()
  })

  it('refuses most of a thousand connections at once, keeps the attached one, and holds none of them after', async () => {
    const many = await Promise.all(Array.from({ length: 1_000 }, () => rawSocket(agent.socketPath)))
    await expect.poll(() => many.filter((socket) => !socket.destroyed).length, { timeout: 10_000 }).toBeLessThan(64)
    await witness.seesItself()
    for (const socket of many) socket.destroy()
    await unharmed()
  })

  it.each([
    ['Attach again', [encoded(attachFrame())]],
    ['a snapshot without a state', [Buffer.from([0x12, 2, 0x08, 99])]],
    [
      'a snapshot with a short digest',
      [
        tagged(
          0x12,
          Buffer.concat([Buffer.from([0x08, 99]), tagged(0x12, Buffer.alloc(31)), tagged(0x1a, Buffer.alloc(0))]),
        ),
      ],
    ],
    ['a snapshot of an epoch no fleet has had', [encoded(snapshotFrame(2n ** 63n))]],
    ['a snapshot larger than 4 MiB', [tagged(0x12, tagged(0x1a, tagged(0x0a, tagged(0x32, Buffer.alloc(5_000_000)))))]],
  ])('ends the session that sends %s', async (_, frames) => {
    const body = await call('Sync', ...[encoded(attachFrame()), ...frames].map((frame) => enveloped(frame)))
    expect(body).toMatch(/invalid|resource_exhausted/)
    await reattach()
    await unharmed()
  })

  it('takes a snapshot again for nothing new, and fences an older one', async () => {
    {
      using link = wireClient(agent.socketPath)
      const { sync, hello } = await attached(link.client)
      const now = hello.lastSeenEpoch + 1n
      for (const epoch of [now, now]) sync.requests.push(snapshotFrame(epoch))
      await sync.until('report', (report) => report.lastSeenEpoch === now && !report.fenced)
      sync.requests.push(snapshotFrame(1n))
      await sync.until('report', (report) => report.lastSeenEpoch === now && report.fenced)
      const vms = [{ vmId: VM }]
      const value = { epoch: now, contentSha256: new Uint8Array(32), state: { vms } }
      sync.requests.push(create(SyncRequestSchema, { message: { case: 'snapshot', value } }))
      await sync.until('report', (report) => report.fenced && report.vms.length === 0)
    }
    await reattach()
    await unharmed()
  })

  it.each(SEEDS)('goes on whatever it is sent (seed %i)', { timeout: 60_000 }, async (seed) => {
    const bounds = { seed, numRuns: 100_000, interruptAfterTimeLimit: FUZZ_MS / 2, endOnFailure: true }
    let runs = 0
    const round = async () => {
      await fc.assert(
        fc.asyncProperty(atOnce(outsiderAttack(witness.sessionId)), async (many) => {
          await Promise.all(many.map((how) => attack(agent.socketPath, how)))
          runs += many.length
          await witness.seesItself()
        }),
        bounds,
      )
      await fc.assert(
        fc.asyncProperty(insiderFrames, (frames) => attackFromInside(agent.socketPath, frames)),
        bounds,
      )
      await reattach()
    }
    await round()
    const { rssMb, fds } = held(agent.pid)
    await round()
    const after = held(agent.pid)
    console.log(
      `seed ${seed}: ${runs} attacks, ${Math.round(after.rssMb - rssMb)} MB more, at ${Math.round(after.rssMb)} MB`,
    )
    expect(after.rssMb - rssMb).toBeLessThan(GROWTH_MB)
    await expect.poll(() => added(fds), { timeout: GONE_MS }).toEqual([])
  })
})

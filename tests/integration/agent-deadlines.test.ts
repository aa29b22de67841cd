import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { create, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import { ConsoleRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/console_pb.js'
import { PutImageRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/image_pb.js'
import { SyncRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { attached, attachFrame, ConsoleStream, Pushed, VM, wireClient, wireRig } from '../support/agent-wire.ts'
import {
  answerOf,
  closedOf,
  enveloped,
  PREFACE,
  rawCall,
  rawSession,
  rawSocket,
  SETTINGS,
} from '../support/raw-wire.ts'

const SHA = '0'.repeat(64)

describe('a connection to an agent', () => {
  it.each([
    ['says nothing', async () => {}],
    ['speaks HTTP/2 a byte at a time', async (write: (byte: number) => void) => PREFACE.forEach(write)],
  ])('that %s is closed at the handshake deadline', async (_, speak) => {
    await using rig = await wireRig({ handshakeMs: 100, pingMs: 60_000 })
    const socket = await rawSocket(rig.socketPath)
    await speak((byte) => socket.write(Buffer.from([byte])))
    await closedOf(socket)
  })

  it('that has spoken HTTP/2 stays past the handshake deadline', async () => {
    await using rig = await wireRig({ handshakeMs: 50, pingMs: 60_000 })
    const [silent, polite] = await Promise.all([rawSocket(rig.socketPath), rawSocket(rig.socketPath)])
    polite.write(Buffer.concat([PREFACE, SETTINGS]))
    await closedOf(silent)
    expect(polite.destroyed).toBe(false)
    polite.destroy()
  })

  it('beyond the 64th is refused, and the attached one goes on', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sync } = await attached(link.client)
    const many = await Promise.all(Array.from({ length: 100 }, () => rawSocket(rig.socketPath)))
    await expect.poll(() => many.filter((socket) => socket.destroyed).length).toBe(100 - 63)
    rig.engine.change()
    await sync.until('report')
    for (const socket of many) socket.destroy()
    await expect
      .poll(() =>
        wireClient(rig.socketPath)
          .client.getStatus({})
          .catch(() => undefined),
      )
      .toBeDefined()
  })
})

describe('a call to an agent', () => {
  it('whose request never ends is ended at the deadline, and the connection serves others', async () => {
    await using rig = await wireRig({ writeDeadlineMs: 100 })
    const session = rawSession(rig.socketPath)
    const stuck = rawCall(session, 'GetStatus')
    stuck.write(Buffer.from([0x0a]))
    await closedOf(stuck)
    const next = rawCall(session, 'GetStatus')
    next.end()
    expect((await answerOf(next)).status).toBe(200)
    session.destroy()
  })

  it('that is answered is over, also while its request goes on', { timeout: 5_000 }, async () => {
    await using rig = await wireRig()
    const session = rawSession(rig.socketPath)
    const stream = rawCall(session, 'Sync')
    stream.write(enveloped(new Uint8Array()))
    expect((await answerOf(stream)).body).toContain('first frame must be Attach')
    session.destroy()
  })

  it.each([
    ['JSON', 'application/json'],
    ['streamed JSON', 'application/connect+json'],
    ['gRPC', 'application/grpc+proto'],
    ['nothing', ''],
  ])('of content type %s is refused', async (_, type) => {
    await using rig = await wireRig()
    const session = rawSession(rig.socketPath)
    for (const method of ['Sync', 'GetStatus']) {
      const stream = rawCall(session, method, { 'content-type': type })
      stream.end()
      expect((await answerOf(stream)).status).toBe(415)
    }
    session.destroy()
  })
})

describe('a peer that stops reading', () => {
  it('loses its connection at the write deadline when it is the control plane, and its session is free', async () => {
    await using rig = await wireRig({ writeDeadlineMs: 150, pingMs: 60_000 })
    rig.engine.rows.push(...Array.from({ length: 3_000 }, () => ({ vmId: VM, detail: 'x'.repeat(200) }) as never))
    const session = rawSession(rig.socketPath)
    const stream = rawCall(session, 'Sync')
    stream.write(enveloped(toBinary(SyncRequestSchema, attachFrame())))
    await once(stream, 'data')
    session.stopReading()
    using link = wireClient(rig.socketPath)
    const attachedNow = async () => (await link.client.getStatus({})).attached
    await expect.poll(attachedNow).toBe(true)
    for (let i = 0; i < 20; i++) rig.engine.change()
    await expect.poll(attachedNow, { timeout: 5_000 }).toBe(false)
    expect(rig.engine.listeners).toBe(0)
    session.destroy()
  })

  it('of a console loses that console, and its session goes on', async () => {
    await using rig = await wireRig({ writeDeadlineMs: 150, pingMs: 60_000 })
    writeFileSync(rig.logPath, '')
    using link = wireClient(rig.socketPath)
    const { sync, sessionId } = await attached(link.client)
    const viewer = rawSession(rig.socketPath, { initialWindowSize: 1_000 })
    const stream = rawCall(viewer, 'Console')
    const open = create(ConsoleRequestSchema, { message: { case: 'open', value: { sessionId, vmId: VM } } })
    stream.write(enveloped(toBinary(ConsoleRequestSchema, open)))
    await once(stream, 'response')
    appendFileSync(rig.logPath, 'x'.repeat(100_000))
    await closedOf(stream)
    rig.engine.change()
    await sync.until('report')
    viewer.destroy()
  })
})

describe('a session that was displaced', () => {
  it('has no console and no push left, whatever its peer goes on to send', async () => {
    await using rig = await wireRig()
    writeFileSync(rig.logPath, 'hello')
    using old = wireClient(rig.socketPath)
    const { sessionId } = await attached(old.client)
    let typed = 0
    rig.hub.input = async () => void typed++
    const console = new ConsoleStream(old.client, { sessionId, fromOffset: 0n })
    expect((await console.next())?.case).toBe('opened')
    console.type(Buffer.from('x'))
    await expect.poll(() => typed).toBe(1)
    const chunks = new Pushed<never>()
    const frame = (message: object) =>
      chunks.push(create(PutImageRequestSchema, { message: message as never }) as never)
    const push = old.client.putImage(chunks).catch((error: unknown) => fromConnectError(error))
    frame({ case: 'start', value: { sessionId, sha256: SHA, sizeBytes: 100n, offset: 0n } })
    frame({ case: 'chunk', value: new Uint8Array(10) })
    await expect.poll(() => rig.images.writes).toBe(1)

    using now = wireClient(rig.socketPath)
    await attached(now.client)
    expect(await push).toMatchObject({ code: 'agent/superseded' })
    frame({ case: 'chunk', value: new Uint8Array(10) })
    const over = async () => {
      for (;;) if ((await console.next()) === undefined) return
    }
    await expect(over()).rejects.toSatisfy((error: unknown) => fromConnectError(error).code === 'agent/superseded')
    console.type(Buffer.from('rm -rf /'))
    expect(
      await old.client.statImage({ sessionId, sha256: SHA }).catch((e: unknown) => fromConnectError(e)),
    ).toMatchObject({
      code: 'agent/auth-rejected',
    })
    expect([rig.images.writes, typed]).toEqual([1, 1])
  })
})

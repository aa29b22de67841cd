import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it, vi } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { ConsoleData } from '../../src/ipc/gen/eitri/agent/v1/console_pb.js'
import { KiB, LIMITS, MiB } from '../../src/ipc/units.ts'
import { attached, ConsoleStream, VM, type WireRig, wireClient, wireRig } from '../support/agent-wire.ts'

/** A guest's serial socket as QEMU offers it: one client, bytes both ways. */
async function serialSocket(rig: WireRig): Promise<{ path: string; server: Server; client: Promise<Socket> }> {
  const path = join(rig.dir, 'serial.sock')
  const server = createServer()
  const client = once(server, 'connection').then(([socket]) => socket as Socket)
  server.listen(path)
  await once(server, 'listening')
  return { path, server, client }
}

const powerOn = (rig: WireRig, path: string) =>
  rig.hub.ensure({
    id: VM,
    logPath: rig.logPath,
    connect: async () => {
      const socket = connect(path)
      await once(socket, 'connect')
      return socket
    },
  })

/** Reads data frames until `end`, acking what came; fails on anything that is not contiguous. */
async function readUntil(stream: ConsoleStream, from: bigint, end: bigint): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let next = from
  while (next < end) {
    const message = await stream.next()
    if (message === undefined) throw new Error(`the stream ended at ${next}`)
    if (message.case !== 'data') continue
    expect(message.value.offset).toBe(next)
    expect(message.value.data.length).toBeLessThanOrEqual(LIMITS.consoleChunkBytes)
    chunks.push(message.value.data)
    next += BigInt(message.value.data.length)
    stream.ack(next)
  }
  return Buffer.concat(chunks)
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

describe('a console over the wire', () => {
  it('is byte-exact and contiguous over a log of several megabytes that grows while it is read', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const whole = randomBytes(8 * MiB)
    writeFileSync(rig.logPath, whole.subarray(0, 3 * MiB))
    const stream = new ConsoleStream(link.client, { sessionId, fromOffset: 0n })
    expect(await stream.next()).toMatchObject({ case: 'opened', value: { startOffset: 0n, headOffset: 0n } })
    const got = readUntil(stream, 0n, BigInt(whole.length))
    for (let at = 3 * MiB; at < whole.length; at += 100_003)
      appendFileSync(rig.logPath, whole.subarray(at, Math.min(whole.length, at + 100_003)))
    expect(sha256(await got)).toBe(sha256(whole))
  })

  it('begins so many bytes before the end when no offset is given', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    writeFileSync(rig.logPath, 'login: root\n')
    const stream = new ConsoleStream(link.client, { sessionId, tailBytes: 5n })
    expect(await stream.next()).toMatchObject({ case: 'opened', value: { startOffset: 7n, endOffset: 12n } })
    expect((await readUntil(stream, 7n, 12n)).toString()).toBe('root\n')
    const over = new ConsoleStream(link.client, { sessionId, fromOffset: 1_000n })
    expect(await over.next()).toMatchObject({ case: 'opened', value: { startOffset: 12n } })
  })

  it('a viewer that acks nothing gets one window and goes on where it stood, skipping nothing', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const whole = randomBytes(2 * MiB)
    writeFileSync(rig.logPath, whole)
    const stream = new ConsoleStream(link.client, { sessionId, fromOffset: 0n })
    await stream.next()
    const first: ConsoleData[] = []
    while (first.reduce((n, d) => n + d.data.length, 0) < LIMITS.consoleWindowBytes) {
      const message = await stream.next()
      if (message?.case === 'data') first.push(message.value)
    }
    const sent = first.reduce((n, d) => n + d.data.length, 0)
    expect(sent).toBe(LIMITS.consoleWindowBytes)
    const more = stream.next()
    const fast = new ConsoleStream(link.client, { sessionId, fromOffset: 0n })
    expect(sha256(await readUntil(fast, 0n, BigInt(whole.length)))).toBe(sha256(whole))
    let came = false
    void more.then(() => {
      came = true
    })
    stream.ack(BigInt(sent - LIMITS.consoleWindowLowBytes - 1))
    await link.client.getStatus({})
    expect(came).toBe(false)
    stream.ack(BigInt(sent))
    const next = await more
    expect(next).toMatchObject({ case: 'data', value: { offset: BigInt(sent) } })
    const lead = next?.case === 'data' ? next.value.data : new Uint8Array()
    stream.ack(BigInt(sent + lead.length))
    const rest = await readUntil(stream, BigInt(sent + lead.length), BigInt(whole.length))
    expect(sha256(Buffer.concat([...first.map((d) => d.data), lead, rest]))).toBe(sha256(whole))
  })

  it('skips only what lies before the punched head, says so once, and serves no zeros for it', async () => {
    await using rig = await wireRig({ keepBytes: 256 * KiB, slackBytes: 64 * KiB })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const whole = Buffer.from(randomBytes(2 * MiB).map((byte) => byte | 1))
    const head = whole.length - 256 * KiB
    const slow = new ConsoleStream(link.client, { sessionId, fromOffset: 0n })
    await slow.next()
    const step = 128 * KiB
    for (let at = 0; at < LIMITS.consoleWindowBytes; at += step) {
      appendFileSync(rig.logPath, whole.subarray(at, at + step))
      for (let got = 0; got < step; ) {
        const message = await slow.next()
        if (message?.case === 'data') got += message.value.data.length
        else expect(message?.case).toBe('data')
      }
    }
    appendFileSync(rig.logPath, whole.subarray(LIMITS.consoleWindowBytes))
    await vi.waitFor(() => expect(readFileSync(`${rig.logPath}.head`, 'utf8')).toBe(`${head}\n`), 5_000)
    await vi.waitFor(() => expect(statSync(rig.logPath).blocks * 512).toBeLessThan(400 * KiB), 5_000)
    expect(statSync(rig.logPath).size).toBe(whole.length)

    slow.ack(BigInt(LIMITS.consoleWindowBytes))
    expect(await slow.next()).toMatchObject({
      case: 'skipped',
      value: { fromOffset: BigInt(LIMITS.consoleWindowBytes), toOffset: BigInt(head) },
    })
    const kept = await readUntil(slow, BigInt(head), BigInt(whole.length))
    expect(sha256(kept)).toBe(sha256(whole.subarray(head)))

    const again = new ConsoleStream(link.client, { sessionId, fromOffset: 1n })
    const from = { startOffset: BigInt(head), headOffset: BigInt(head) }
    expect(await again.next()).toMatchObject({ case: 'opened', value: from })
    expect(await again.next()).toMatchObject({ case: 'skipped', value: { fromOffset: 1n, toOffset: BigInt(head) } })
    expect(sha256(await readUntil(again, BigInt(head), BigInt(whole.length)))).toBe(sha256(kept))
  })

  it('typing reaches the guest byte for byte, and what the guest echoes there never blocks it', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const serial = await serialSocket(rig)
    powerOn(rig, serial.path)
    const stream = new ConsoleStream(link.client, { sessionId })
    expect(await stream.next()).toMatchObject({ case: 'opened', value: { running: true } })
    const typed = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    stream.type(typed)
    const guest = await serial.client
    const got: Buffer[] = []
    await new Promise<void>((resolve) => {
      guest.on('data', (chunk: Buffer) => {
        got.push(chunk)
        if (Buffer.concat(got).length >= typed.length) resolve()
      })
    })
    expect(Buffer.concat(got).equals(typed)).toBe(true)
    const echo = Buffer.alloc(8 * MiB, 'x')
    await new Promise<void>((resolve) => guest.write(echo, () => resolve()))
    serial.server.close()
  })

  it('stays open over power changes, announces them, and refuses typing into a VM that is off in words', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const serial = await serialSocket(rig)
    const stream = new ConsoleStream(link.client, { sessionId, fromOffset: 0n })
    expect(await stream.next()).toMatchObject({ case: 'opened', value: { running: false } })
    stream.type(Buffer.from('hello'))
    expect(await stream.next()).toMatchObject({
      case: 'refused',
      value: { detail: 'the VM is off; nothing was typed' },
    })
    writeFileSync(rig.logPath, 'boot\n')
    powerOn(rig, serial.path)
    expect(await stream.next()).toMatchObject({ case: 'power', value: { running: true } })
    expect((await readUntil(stream, 0n, 5n)).toString()).toBe('boot\n')
    appendFileSync(rig.logPath, 'bye\n')
    rig.hub.stop(VM)
    expect((await readUntil(stream, 5n, 9n)).toString()).toBe('bye\n')
    expect(await stream.next()).toMatchObject({ case: 'power', value: { running: false } })
    serial.server.close()
  })

  it('opens the serial socket again for what is typed after it was lost', async () => {
    await using rig = await wireRig()
    const serial = await serialSocket(rig)
    powerOn(rig, serial.path)
    expect(await rig.hub.input(VM, Buffer.from('hi'))).toBeUndefined()
    const first = await serial.client
    let second: Socket | undefined
    serial.server.once('connection', (socket) => {
      second = socket
    })
    first.destroy()
    while (!second) {
      await rig.hub.input(VM, Buffer.from('hi'))
      await nextTurn()
    }
    expect(String((await once(second, 'data'))[0])).toMatch(/^(hi)+$/)
    serial.server.close()
  })

  it('of an unknown VM, a removed log, or a superseded session ends with words', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    using other = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const unknown = new ConsoleStream(link.client, { sessionId, vmId: '0'.repeat(32) })
    expect(fromConnectError(await unknown.next().catch((e: unknown) => e)).code).toBe('vm/not-found')
    writeFileSync(rig.logPath, 'abc')
    const cut = new ConsoleStream(link.client, { sessionId, fromOffset: 3n })
    await cut.next()
    rmSync(rig.logPath)
    expect(fromConnectError(await cut.next().catch((e: unknown) => e)).code).toBe('console/unavailable')
    const old = new ConsoleStream(link.client, { sessionId, fromOffset: 0n })
    await old.next()
    await attached(other.client)
    const ended = await old.next().catch((e: unknown) => e)
    expect(fromConnectError(ended).code).toBe('agent/superseded')
    expect(ConnectError.from(ended).code).toBe(Code.Unavailable)
  })

  it('input above 64 KiB ends that console and nothing else', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const stream = new ConsoleStream(link.client, { sessionId })
    await stream.next()
    stream.type(new Uint8Array(LIMITS.consoleInputBytes + 1))
    expect(fromConnectError(await stream.next().catch((e: unknown) => e)).code).toBe('input/too-large')
    const next = new ConsoleStream(link.client, { sessionId })
    expect((await next.next())?.case).toBe('opened')
  })

  it('frees its place when the viewer just goes', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    writeFileSync(rig.logPath, randomBytes(MiB))
    for (let i = 0; i < 80; i++) {
      const gone = new AbortController()
      const stream = new ConsoleStream(link.client, { sessionId, fromOffset: 0n }, gone.signal)
      expect((await stream.next())?.case).toBe('opened')
      gone.abort()
      await stream.next().catch(() => {})
    }
  })
})

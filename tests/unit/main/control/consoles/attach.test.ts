import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { type ConsoleFrame, decodeConsoleFrame, encodeConsoleFrame } from '../../../../../src/ipc/console-frames.ts'
import { LIMITS } from '../../../../../src/ipc/units.ts'
import { attachConsole, CONSOLES_PER_WINDOW, consoleEndpoint } from '../../../../../src/main/control/consoles/attach.ts'
import type { ConsoleBroker } from '../../../../../src/main/control/consoles/broker.ts'
import type { ConsoleSink, ConsoleViewer } from '../../../../../src/main/control/consoles/viewer.ts'

/** A broker that remembers what it was told and whose viewers do as they are told. */
class FakeBroker implements ConsoleBroker {
  readonly told: string[] = []
  readonly sinks = new Map<number, ConsoleSink>()
  takesInput = true

  open(_: string, frame: Extract<ConsoleFrame, { type: 'open' }>, sink: ConsoleSink): ConsoleViewer | undefined {
    this.told.push(`open ${frame.id} ${frame.vm}`)
    this.sinks.set(frame.id, sink)
    const viewer = {
      ack: (offset: bigint) => this.told.push(`ack ${frame.id} ${offset}`),
      input: (bytes: Uint8Array) => {
        this.told.push(`input ${frame.id} ${Buffer.from(bytes)}`)
        return this.takesInput
      },
      takeKeyboard: () => this.told.push(`take ${frame.id}`),
      close: () => {
        this.told.push(`close ${frame.id}`)
        sink.ended()
      },
    }
    return viewer as unknown as ConsoleViewer
  }

  openShell(): undefined {
    return undefined
  }

  close(): void {}
}

let dir: string
let server: http.Server
let broker: FakeBroker
let allowed: boolean
let stop: () => void
const sockets: WebSocket[] = []

async function connect(options: WebSocket.ClientOptions = {}): Promise<WebSocket> {
  const ws = new WebSocket(`ws+unix:${dir}/s:/console`, options)
  sockets.push(ws)
  await once(ws, 'open')
  return ws
}

const send = (ws: WebSocket, frame: ConsoleFrame) => ws.send(encodeConsoleFrame(frame))
const received = async (ws: WebSocket) => decodeConsoleFrame((await once(ws, 'message'))[0] as Buffer)

async function told(line: string): Promise<void> {
  while (!broker.told.includes(line)) await new Promise((resolve) => setImmediate(resolve))
}

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-ws-'))
  server = http.createServer()
  broker = new FakeBroker()
  allowed = true
  stop = attachConsole(server, broker, () => allowed, silentLog)
  await new Promise<void>((resolve) => server.listen(join(dir, 's'), resolve))
})

afterEach(async () => {
  stop()
  for (const ws of sockets.splice(0)) ws.terminate()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await rm(dir, { recursive: true, force: true })
})

describe('the /console socket', () => {
  it('carries every frame of every console of a window, both ways', async () => {
    const ws = await connect()
    send(ws, { type: 'open', id: 7, vm: 'web-1' })
    send(ws, { type: 'input', id: 7, bytes: Buffer.from('ls\r') })
    send(ws, { type: 'ack', id: 7, offset: 12n })
    send(ws, { type: 'take-keyboard', id: 7 })
    send(ws, { type: 'close', id: 7, reason: '' })
    await told('close 7')
    expect(broker.told).toEqual(['open 7 web-1', 'input 7 ls\r', 'ack 7 12', 'take 7', 'close 7'])
    const frame = received(ws)
    void broker.sinks.get(7)!.send({ type: 'data', id: 7, offset: 3n, bytes: Buffer.from('hi') })
    expect(await frame).toMatchObject({ type: 'data', id: 7, offset: 3n })
  })

  it('is not opened for a request that is not authorised', async () => {
    allowed = false
    const ws = new WebSocket(`ws+unix:${dir}/s:/console`)
    const [error] = (await once(ws, 'error')) as [Error]
    expect(error.message).toContain('403')
  })

  it('is closed when a window sends text, half a frame or a frame only the broker may send', async () => {
    for (const bad of ['words', Buffer.from([1, 0]), encodeConsoleFrame({ type: 'keyboard', id: 1, holder: true })]) {
      const ws = await connect()
      send(ws, { type: 'open', id: 1, vm: 'web-1' })
      ws.send(bad)
      expect((await once(ws, 'close'))[0]).toBe(1002)
    }
  })

  it('is closed when a message is longer than the longest frame', async () => {
    const ws = await connect()
    ws.send(new Uint8Array(LIMITS.consoleInputBytes + 100))
    expect((await once(ws, 'close'))[0]).toBe(1009)
  })

  it('ends every viewer of a window that goes away', async () => {
    const ws = await connect()
    send(ws, { type: 'open', id: 1, vm: 'a' })
    send(ws, { type: 'open', id: 2, vm: 'b' })
    await told('open 2 b')
    ws.terminate()
    await told('close 1')
    await told('close 2')
  })

  it('shows at most 64 consoles in one window', async () => {
    const ws = await connect()
    for (let id = 1; id <= CONSOLES_PER_WINDOW + 1; id++) send(ws, { type: 'open', id, vm: 'a' })
    expect(await received(ws)).toEqual({
      type: 'close',
      id: CONSOLES_PER_WINDOW + 1,
      reason: 'console unavailable: a window shows at most 64',
    })
    expect(broker.told).toHaveLength(CONSOLES_PER_WINDOW)
  })

  it('opens a console anew when its id is opened again', async () => {
    const ws = await connect()
    send(ws, { type: 'open', id: 1, vm: 'a' })
    send(ws, { type: 'open', id: 1, vm: 'b' })
    await told('open 1 b')
    expect(broker.told).toEqual(['open 1 a', 'close 1', 'open 1 b'])
  })

  it('lets a lone console wait for its guest, and reads on when the guest does', async () => {
    broker.takesInput = false
    const ws = await connect()
    send(ws, { type: 'open', id: 1, vm: 'a' })
    send(ws, { type: 'input', id: 1, bytes: Buffer.from('1') })
    await told('input 1 1')
    send(ws, { type: 'input', id: 1, bytes: Buffer.alloc(LIMITS.consoleInputBytes, 'x') })
    send(ws, { type: 'ack', id: 1, offset: 5n })
    broker.takesInput = true
    await new Promise((resolve) => setImmediate(resolve))
    expect(broker.told).not.toContain('ack 1 5')
    broker.sinks.get(1)!.inputDrained()
    await told('ack 1 5')
  })

  it('holds data back while the window reads nothing', async () => {
    const ws = await connect()
    send(ws, { type: 'open', id: 1, vm: 'a' })
    await told('open 1 a')
    ws.pause()
    const sink = broker.sinks.get(1)!
    const bytes = new Uint8Array(LIMITS.consoleChunkBytes)
    let waiting: Promise<void> | undefined
    for (let i = 0; i < 64 && !waiting; i++) {
      const sent = sink.send({ type: 'data', id: 1, offset: 0n, bytes })
      const done = await Promise.race([sent.then(() => true), new Promise((resolve) => setImmediate(resolve, false))])
      if (!done) waiting = sent
    }
    expect(waiting).toBeDefined()
    ws.resume()
    await waiting
  })

  it('drops a window that does not answer pings', async () => {
    const own = http.createServer()
    const endpoint = consoleEndpoint(broker, silentLog, 20)
    own.on('upgrade', (req, socket, head) => endpoint.upgrade(req, socket, head, 'default'))
    await new Promise<void>((resolve) => own.listen(join(dir, 'p'), resolve))
    const ws = new WebSocket(`ws+unix:${dir}/p:/console`, { autoPong: false })
    expect((await once(ws, 'close'))[0]).toBe(1006)
    endpoint.close()
    await new Promise((resolve) => own.close(resolve))
  })

  it('tells windows to come again when the control plane stops', async () => {
    const ws = await connect()
    const closed = once(ws, 'close')
    stop()
    expect((await closed)[0]).toBe(1012)
  })
})

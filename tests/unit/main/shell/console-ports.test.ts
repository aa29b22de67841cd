import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { joinConsole } from '../../../../src/main/shell/console-ports.ts'

class FakePort extends EventEmitter {
  readonly got: unknown[] = []
  started = false
  closed = false

  postMessage(message: unknown): void {
    this.got.push(message)
    this.emit('got')
  }

  start(): void {
    this.started = true
    this.emit('started')
  }

  close(): void {
    this.closed = true
    this.emit('closed')
  }
}

let dir: string
let server: http.Server
let sockets: WebSocketServer
const path = () => join(dir, 's')

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-port-'))
  server = http.createServer()
  sockets = new WebSocketServer({ server, path: '/console' })
  await new Promise<void>((resolve) => server.listen(path(), resolve))
})

afterEach(async () => {
  for (const ws of sockets.clients) ws.terminate()
  sockets.close()
  await new Promise((resolve) => server.close(resolve))
  await rm(dir, { recursive: true, force: true })
})

async function joined() {
  const port = new FakePort()
  const accepted = once(sockets, 'connection')
  joinConsole(port, path())
  const [ws] = (await accepted) as [WebSocket]
  if (!port.started) await once(port, 'started')
  return { port, ws }
}

describe('a console port of a window', () => {
  it('carries frames to the socket and back, byte for byte', async () => {
    const { port, ws } = await joined()
    const message = once(ws, 'message')
    port.emit('message', { data: Uint8Array.of(1, 2, 3) })
    expect([...((await message)[0] as Buffer)]).toEqual([1, 2, 3])
    ws.send(Uint8Array.of(4, 5))
    await once(port, 'got')
    expect(port.got).toEqual([Uint8Array.of(4, 5)])
  })

  it('passes on nothing that is not bytes', async () => {
    const { port, ws } = await joined()
    const message = once(ws, 'message')
    port.emit('message', { data: 'words' })
    port.emit('message', { data: { type: 'open' } })
    port.emit('message', { data: Uint8Array.of(9) })
    expect([...((await message)[0] as Buffer)]).toEqual([9])
  })

  it('tells the window why it ended when the control plane goes away', async () => {
    const { port, ws } = await joined()
    ws.terminate()
    await once(port, 'closed')
    expect(port.got).toEqual(['the control plane went away'])
  })

  it('ends the socket when the window closes the port', async () => {
    const { port, ws } = await joined()
    const closed = once(ws, 'close')
    port.emit('close')
    await closed
    expect(port.got).toEqual([])
  })

  it('ends when nobody listens', async () => {
    const port = new FakePort()
    joinConsole(port, `${path()}-none`)
    await once(port, 'closed')
    expect(port.got).toEqual(['the control plane went away'])
  })
})

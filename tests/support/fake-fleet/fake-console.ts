import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type ConsoleFrame, decodeConsoleFrame, encodeConsoleFrame } from '../../../src/ipc/console-frames.ts'

/** A serial log for every VM, replayed from where a viewer asks; what is typed is echoed like a shell would. */
export class FakeConsole {
  readonly acks: bigint[] = []
  readonly input: string[] = []
  log: Uint8Array
  /** Whether the VM behind it is on. */
  link: 'live' | 'stopped' = 'live'
  readonly #server = new WebSocketServer({ noServer: true })
  readonly #sockets = new Set<WebSocket>()

  constructor(text: string) {
    this.log = new TextEncoder().encode(text)
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      this.#sockets.add(ws)
      ws.on('close', () => this.#sockets.delete(ws))
      ws.on('message', (data: Buffer) => this.#onFrame(ws, decodeConsoleFrame(new Uint8Array(data))))
    })
  }

  /** Cuts every viewer, as a crash would. */
  cut(): void {
    for (const ws of this.#sockets) ws.terminate()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #onFrame(ws: WebSocket, frame: ConsoleFrame): void {
    const send = (f: ConsoleFrame) => ws.send(encodeConsoleFrame(f))
    const { id } = frame
    switch (frame.type) {
      case 'open': {
        const end = BigInt(this.log.length)
        const start = frame.from ?? 0n
        send({ type: 'opened', id, start, end, head: 0n, title: '' })
        send({ type: 'keyboard', id, holder: true })
        if (start < end) send({ type: 'data', id, offset: start, bytes: this.log.subarray(Number(start)) })
        send({ type: 'state', id, link: this.link, detail: '' })
        return
      }
      case 'ack':
        this.acks.push(frame.offset)
        return
      case 'input': {
        const text = new TextDecoder().decode(frame.bytes)
        this.input.push(text)
        const bytes = new TextEncoder().encode(text.replace(/\r/g, '\r\n'))
        const offset = BigInt(this.log.length)
        this.log = Uint8Array.from([...this.log, ...bytes])
        send({ type: 'data', id, offset, bytes })
        return
      }
      default:
        return
    }
  }
}

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type ConsoleFrame, decodeConsoleFrame, encodeConsoleFrame } from '../../../src/ipc/console-frames.ts'

/** How one VM's console is, where it is not as all others. */
interface FakeLine {
  text?: string
  /** Another viewer has the keyboard. */
  readOnly?: boolean
  /** Its host does not answer, in these words. */
  reconnecting?: string
}

/** A serial log for every VM, replayed from where a viewer asks; what is typed is echoed like a shell would. */
export class FakeConsole {
  readonly acks: bigint[] = []
  readonly input: string[] = []
  /** Whether the VM behind it is on. */
  link: 'live' | 'stopped' = 'live'
  /** By id of the VM. */
  readonly lines = new Map<string, FakeLine>()
  readonly #text: string
  readonly #logs = new Map<string, Uint8Array>()
  readonly #server = new WebSocketServer({ noServer: true })
  readonly #sockets = new Set<WebSocket>()

  constructor(text: string) {
    this.#text = text
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (ws) => {
      const opened = new Map<number, string>()
      this.#sockets.add(ws)
      ws.on('close', () => this.#sockets.delete(ws))
      ws.on('message', (data: Buffer) => this.#onFrame(ws, opened, decodeConsoleFrame(new Uint8Array(data))))
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

  #log(vm: string): Uint8Array {
    return this.#logs.get(vm) ?? new TextEncoder().encode(this.lines.get(vm)?.text ?? this.#text)
  }

  #onFrame(ws: WebSocket, opened: Map<number, string>, frame: ConsoleFrame): void {
    const send = (f: ConsoleFrame) => ws.send(encodeConsoleFrame(f))
    const { id } = frame
    switch (frame.type) {
      case 'open': {
        const log = this.#log(frame.vm)
        const line = this.lines.get(frame.vm)
        opened.set(id, frame.vm)
        const end = BigInt(log.length)
        const start = frame.from ?? 0n
        send({ type: 'opened', id, start, end, head: 0n, title: '' })
        send({ type: 'keyboard', id, holder: line?.readOnly !== true })
        if (start < end) send({ type: 'data', id, offset: start, bytes: log.subarray(Number(start)) })
        if (line?.reconnecting) send({ type: 'state', id, link: 'reconnecting', detail: line.reconnecting })
        else send({ type: 'state', id, link: this.link, detail: '' })
        return
      }
      case 'open-shell': {
        const bytes = new TextEncoder().encode(`\x1b[1;32m${frame.login || 'ops'}@shell\x1b[0m:~$ `)
        opened.set(id, `shell ${id}`)
        this.#logs.set(`shell ${id}`, bytes)
        send({ type: 'opened', id, start: 0n, end: 0n, head: 0n, title: '', resizes: true })
        send({ type: 'keyboard', id, holder: true })
        send({ type: 'data', id, offset: 0n, bytes })
        return
      }
      case 'ack':
        this.acks.push(frame.offset)
        return
      case 'close':
        opened.delete(id)
        return
      case 'input': {
        const text = new TextDecoder().decode(frame.bytes)
        this.input.push(text)
        const vm = opened.get(id) ?? ''
        const log = this.#log(vm)
        const bytes = new TextEncoder().encode(text.replace(/\r/g, '\r\n'))
        this.#logs.set(vm, Uint8Array.from([...log, ...bytes]))
        for (const [other, of] of opened)
          if (of === vm) send({ type: 'data', id: other, offset: BigInt(log.length), bytes })
        return
      }
      default:
        return
    }
  }
}

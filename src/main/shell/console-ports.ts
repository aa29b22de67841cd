import { WebSocket } from 'ws'
import { LIMITS, MiB } from '../../ipc/units.ts'
import { askingHeaders } from '../fleet-client.ts'

/** A port as Electron gives it to its main process. */
export interface WindowPort {
  postMessage(message: unknown): void
  on(event: 'message', listener: (event: { data: unknown }) => void): unknown
  on(event: 'close', listener: () => void): unknown
  start(): void
  close(): void
}

const FRAME_BYTES = 5 + 8 + LIMITS.consoleChunkBytes
/** What a window may send before the socket takes it. */
const UNSENT_BYTES = MiB

/** Joins a window's message port to the control plane's /console, frame by frame; either end closes the other, with a reason for the window. */
export function joinConsole(port: WindowPort, socketPath: string): void {
  const socket = new WebSocket(`ws+unix:${socketPath}:/console`, {
    headers: askingHeaders({ client: 'app' }),
    perMessageDeflate: false,
    maxPayload: FRAME_BYTES,
  })
  let over = false
  const end = (reason: string) => {
    if (over) return
    over = true
    socket.terminate()
    port.postMessage(reason)
    port.close()
  }
  socket.on('open', () => {
    port.on('message', ({ data }) => {
      if (over || !(data instanceof Uint8Array)) return
      socket.send(data)
      if (socket.bufferedAmount > UNSENT_BYTES) end('the window sends faster than the control plane reads')
    })
    // Messages wait in the port until now.
    port.start()
  })
  socket.on('message', (data: Buffer) => {
    if (!over) port.postMessage(new Uint8Array(data))
  })
  // 'close' follows.
  socket.on('error', () => {})
  socket.on('close', () => end('the control plane went away'))
  port.on('close', () => {
    over = true
    socket.terminate()
  })
}

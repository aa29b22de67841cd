import { desktopShell } from './bridge.ts'

/** One open byte pipe for all consoles of this window; a frame per message. */
export interface ConsoleDuplex {
  send(frame: Uint8Array<ArrayBuffer>): void
  close(): void
}

export interface DuplexEvents {
  onOpen: () => void
  onFrame: (frame: Uint8Array) => void
  /** Called once, whether it ever opened or not. */
  onClose: (reason: string) => void
}

export const openConsoleDuplex = (events: DuplexEvents): ConsoleDuplex => {
  const { openConsolePort } = desktopShell()
  return openConsolePort ? openPort(openConsolePort, events) : openSocket(events)
}

function openSocket({ onOpen, onFrame, onClose }: DuplexEvents): ConsoleDuplex {
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/console`)
  socket.binaryType = 'arraybuffer'
  socket.onopen = onOpen
  socket.onmessage = (event: MessageEvent<ArrayBuffer | string>) => {
    if (typeof event.data !== 'string') onFrame(new Uint8Array(event.data))
  }
  socket.onclose = (event) => onClose(event.reason)
  return {
    send: (frame) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(frame)
    },
    close: () => socket.close(),
  }
}

const PORT_TIMEOUT_MS = 10_000

function openPort(ask: (nonce: string) => void, { onOpen, onFrame, onClose }: DuplexEvents): ConsoleDuplex {
  const nonce = crypto.randomUUID()
  let port: MessagePort | undefined
  let closed = false
  const end = (reason: string) => {
    if (closed) return
    closed = true
    clearTimeout(timer)
    removeEventListener('message', onGiven)
    port?.close()
    onClose(reason)
  }
  const onGiven = (event: MessageEvent<{ eitri?: string; nonce?: string } | null>) => {
    const [given] = event.ports
    if (event.source !== window || event.data?.eitri !== 'console-port' || event.data.nonce !== nonce || !given) return
    removeEventListener('message', onGiven)
    clearTimeout(timer)
    port = given
    given.onmessage = ({ data }: MessageEvent<Uint8Array | string>) =>
      typeof data === 'string' ? end(data) : onFrame(data)
    given.addEventListener('close', () => end(''))
    onOpen()
  }
  const timer = setTimeout(() => end('the app did not answer'), PORT_TIMEOUT_MS)
  addEventListener('message', onGiven)
  ask(nonce)
  return { send: (frame) => port?.postMessage(frame), close: () => end('') }
}

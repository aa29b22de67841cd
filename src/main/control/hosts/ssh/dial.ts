import net from 'node:net'
import { Fault } from '../../../../ipc/faults.ts'
import type { SshTarget } from './config.ts'

export const DIAL_TIMEOUT_MS = 10_000

/** A TCP connection to the host. Raises host/unreachable. */
export function dial(target: SshTarget, signal: AbortSignal): Promise<net.Socket> {
  const address = `${target.address}:${target.port}`
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: target.address, port: target.port, noDelay: true })
    const fail = (detail: string, cause?: unknown) => {
      socket.destroy()
      reject(new Fault('host/unreachable', 'transient', { host: target.host, address, detail }, { cause }))
    }
    const timer = setTimeout(() => fail('timed out'), DIAL_TIMEOUT_MS)
    const abort = () => {
      socket.destroy()
      reject(signal.reason)
    }
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    socket.once('error', (error) => fail(dialWords(error), error))
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      socket.on('error', () => {})
      resolve(socket)
    })
    socket.once('close', () => clearTimeout(timer))
    socket.once('connect', () => clearTimeout(timer))
    socket.once('close', () => signal.removeEventListener('abort', abort))
    socket.once('connect', () => signal.removeEventListener('abort', abort))
  })
}

function dialWords(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'connection refused'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name is not known'
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'no route to it'
    case 'ETIMEDOUT':
      return 'timed out'
    default:
      return (error.code ?? error.message).slice(0, 100)
  }
}

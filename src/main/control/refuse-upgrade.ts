import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Answers an upgrade request with "no" and ends its connection. A peer that is gone by then is no error of ours: once upgraded, nobody else listens for it. */
export function refuseUpgrade(socket: Duplex, status: 403 | 404 | 503): void {
  socket.on('error', () => {})
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`
  socket.end(head, () => socket.destroy())
}

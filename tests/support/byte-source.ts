import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/**
 * Sends as many bytes as its first argument says to whoever connects, and tells its parent their digest; with `plain`
 * it is as fast as it can, and tells none.
 */
const size = Number(process.argv[2])
const plain = process.argv[3] === 'plain'
const chunk = randomBytes(1024 * 1024)

const server = createServer(async (socket) => {
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const hash = createHash('sha256')
  for (let sent = 0; sent < size && !socket.destroyed; ) {
    const length = Math.min(chunk.length, size - sent)
    const part = plain ? chunk.subarray(0, length) : numbered(sent, length)
    if (!plain) hash.update(part)
    sent += length
    if (!socket.write(part)) await Promise.race([once(socket, 'drain'), closed])
  }
  socket.end()
  if (!plain) process.send?.({ sha256: hash.digest('hex') })
})

/** Each is another, so that bytes lost or swapped show. */
function numbered(at: number, length: number): Buffer {
  const part = Buffer.from(chunk.subarray(0, length))
  part.writeUInt32BE(at / chunk.length, 0)
  return part
}

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

import { once } from 'node:events'
import net from 'node:net'

/** A TCP way to a port that passes only so many bytes a second in each direction, in order, holding little. */
export async function startSlowLine(port: number, bytesPerSecond: number) {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    const far = net.connect(port, '127.0.0.1')
    for (const socket of [client, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    void crawl(client, far, bytesPerSecond)
    void crawl(far, client, bytesPerSecond)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port: (server.address() as net.AddressInfo).port, close, [Symbol.asyncDispose]: close }
}

/** A line is slow in time: each chunk takes what it takes. */
async function crawl(from: net.Socket, to: net.Socket, bytesPerSecond: number): Promise<void> {
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      await new Promise((resolve) => setTimeout(resolve, (chunk.length * 1000) / bytesPerSecond))
      if (!to.write(chunk)) await once(to, 'drain')
    }
  } catch {
    // The other end is gone.
  }
  to.destroy()
}

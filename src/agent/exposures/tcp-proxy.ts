import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Counters, Places, PortLimits } from './limits.ts'
import type { Target } from './reach.ts'

export interface ProxyParts {
  /** Where a new client is led; a rejection turns it away. */
  target(): Promise<Target>
  /** Outlive the listener: they are the port's. */
  counters: Counters
  places: Places
  limits: PortLimits
  monotonic(): number
}

/** An open port of this host. */
export interface PortListener {
  /** Ends the listener and all it serves at once, which counts them dropped; resolves when the port is free. Idempotent. */
  close(): Promise<void>
}

/** A hypervisor that ends takes its own side of the connections along before anybody hears of its end, ms. */
const GONE_WITH_GUEST_MS = 2_000
const KEEPALIVE_MS = 60_000

interface Pair {
  client: Socket
  guest?: Socket
}

/** Carries the TCP connections of one published port. */
export class TcpProxy implements PortListener {
  readonly #parts: ProxyParts
  readonly #servers: Server[] = []
  readonly #pairs = new Set<Pair>()
  /** When the guest's side broke connections, newest last; what is older than GONE_WITH_GUEST_MS is let go of. */
  #broken: number[] = []
  #closed: Promise<void> | undefined

  constructor(parts: ProxyParts) {
    this.#parts = parts
  }

  /** Listens on one more address. Raises what `listen` does; whoever made the proxy closes it then. */
  async listen(host: string, port: number): Promise<void> {
    const server = createServer({
      allowHalfOpen: true,
      pauseOnConnect: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEPALIVE_MS,
    })
    server.on('connection', (client) => this.#take(client))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, () => {
        server.removeListener('error', reject)
        server.on('error', () => {})
        resolve()
      })
    })
    this.#servers.push(server)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { counters, monotonic } = this.#parts
    const closed = this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())))
    counters.dropped += this.#broken.filter((at) => monotonic() - at < GONE_WITH_GUEST_MS).length
    for (const pair of this.#pairs) this.#drop(pair)
    await Promise.all(closed)
  }

  #take(client: Socket): void {
    const { counters, places, limits } = this.#parts
    client.on('error', () => {})
    if (this.#closed || this.#pairs.size >= limits.perPort || !places.take()) {
      counters.refused++
      client.resetAndDestroy()
      return
    }
    const pair: Pair = { client }
    this.#pairs.add(pair)
    counters.active++
    client.once('close', (failed) => this.#clientClosed(pair, failed))
    void this.#dial(pair)
  }

  async #dial(pair: Pair): Promise<void> {
    const { target, limits } = this.#parts
    try {
      const { host, port } = await target()
      if (!this.#pairs.has(pair)) return
      pair.guest = connect({
        host,
        port,
        allowHalfOpen: true,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: KEEPALIVE_MS,
      })
      pair.guest.on('error', () => {})
      await taken(pair.guest, limits.connectMs)
    } catch {
      if (!this.#pairs.has(pair)) return
      this.#parts.counters.refused++
      this.#end(pair)
      return
    }
    if (this.#pairs.has(pair)) this.#join(pair, pair.guest)
  }

  #join(pair: Pair, guest: Socket): void {
    const { client } = pair
    const { tcpIdleMs, halfClosedIdleMs } = this.#parts.limits
    client.setNoDelay(true)
    for (const socket of [client, guest]) {
      socket.setTimeout(tcpIdleMs, () => this.#drop(pair))
      socket.once('end', () => {
        for (const side of [client, guest]) side.setTimeout(halfClosedIdleMs)
      })
    }
    guest.on('error', () => this.#noteBroken(pair))
    guest.once('end', () => {
      if (!client.readableEnded) this.#noteBroken(pair)
    })
    guest.once('close', (failed) => this.#guestClosed(pair, guest, failed))
    client.pipe(guest)
    guest.pipe(client)
    client.resume()
  }

  /** All that a client said before its orderly end still goes to the guest. */
  #clientClosed(pair: Pair, failed: boolean): void {
    const { client, guest } = pair
    if (failed || !client.readableEnded || !guest || guest.destroyed) this.#end(pair)
  }

  #guestClosed(pair: Pair, guest: Socket, failed: boolean): void {
    const { client } = pair
    if (client.destroyed || !guest.readableEnded) this.#end(pair)
    else if (failed) client.destroySoon()
  }

  #noteBroken(pair: Pair): void {
    if (!this.#pairs.has(pair)) return
    const now = this.#parts.monotonic()
    this.#broken = this.#broken.filter((at) => now - at < GONE_WITH_GUEST_MS).slice(-this.#parts.limits.perPort)
    this.#broken.push(now)
  }

  /** The host's doing: idle too long, or the port is closed. */
  #drop(pair: Pair): void {
    if (this.#pairs.has(pair)) this.#parts.counters.dropped++
    this.#end(pair)
  }

  #end(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return
    this.#parts.counters.active--
    this.#parts.places.giveBack()
    for (const socket of [pair.client, pair.guest]) {
      if (socket?.connecting) socket.destroy()
      else if (socket && !socket.destroyed) socket.resetAndDestroy()
    }
  }
}

/** Resolves once the other side took the connection; raises when it did not within `ms`, and ends the socket. */
export function taken(socket: Socket, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => {
      clearTimeout(timer)
      socket.removeListener('connect', joined)
      socket.removeListener('error', failed)
      done()
    }
    const joined = () => settle(resolve)
    const failed = (error: Error) => {
      settle(() => reject(error))
      socket.on('error', () => {})
      socket.destroy()
    }
    const timer = setTimeout(() => failed(new Error(`no answer within ${ms} ms`)), ms)
    socket.once('connect', joined)
    socket.once('error', failed)
    socket.once('close', () => settle(() => reject(new Error('it was ended'))))
  })
}

import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { PortListener, ProxyParts } from './tcp-proxy.ts'

/** Datagrams of a new client kept while its way to the guest is looked for. */
const MAX_WAITING = 8
/** What the kernel has not taken yet of one socket; more is lost, as on any full link, bytes. */
const MAX_QUEUED_BYTES = 1024 * 1024

interface Client {
  key: string
  waiting: Buffer[]
  answered: boolean
  usedAt: number
  guest?: Socket
}

/** Carries the datagrams of one published port: one socket towards the guest for each client, so that answers find back. */
export class UdpProxy implements PortListener {
  readonly #parts: ProxyParts
  readonly #sockets: Socket[] = []
  readonly #clients = new Map<string, Client>()
  #sweep: NodeJS.Timeout | undefined
  #closed: Promise<void> | undefined

  constructor(parts: ProxyParts) {
    this.#parts = parts
  }

  /** Listens on one more address. Raises what `bind` does; whoever made the proxy closes it then. */
  async listen(host: string, port: number): Promise<void> {
    const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4' })
    this.#sockets.push(socket)
    socket.on('message', (message, from) => this.#take(socket, message, from))
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.bind({ address: host, port }, () => {
        socket.removeListener('error', reject)
        socket.on('error', () => {})
        resolve()
      })
    })
    const { udpUnansweredMs, udpIdleMs } = this.#parts.limits
    this.#sweep ??= setInterval(() => this.#forgetIdle(), Math.min(udpUnansweredMs, udpIdleMs) / 4).unref()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweep)
    for (const client of this.#clients.values()) this.#drop(client)
    await Promise.all(this.#sockets.map((socket) => closed(socket)))
  }

  #take(socket: Socket, message: Buffer, from: RemoteInfo): void {
    const key = `${from.port} ${from.address}`
    const client = this.#clients.get(key) ?? this.#welcome(key, socket, from)
    if (!client) return
    client.usedAt = this.#parts.monotonic()
    if (client.guest) send(client.guest, message)
    else if (client.waiting.length < MAX_WAITING) client.waiting.push(message)
  }

  #welcome(key: string, socket: Socket, from: RemoteInfo): Client | undefined {
    const { counters, places, limits, monotonic } = this.#parts
    if (this.#closed || this.#clients.size >= limits.perPort || !places.take()) {
      counters.refused++
      return undefined
    }
    const client: Client = { key, waiting: [], answered: false, usedAt: monotonic() }
    this.#clients.set(key, client)
    counters.active++
    void this.#lead(client, socket, from)
    return client
  }

  async #lead(client: Client, socket: Socket, from: RemoteInfo): Promise<void> {
    let guest: Socket | undefined
    try {
      const { host, port } = await this.#parts.target()
      guest = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4' })
      await connected(guest, host, port)
    } catch {
      guest?.close()
      if (this.#forget(client)) this.#parts.counters.refused++
      return
    }
    if (this.#clients.get(client.key) !== client) return void guest.close()
    client.guest = guest
    // "Port unreachable", said by the guest.
    guest.on('error', () => {
      if (this.#forget(client)) this.#parts.counters.refused++
    })
    guest.on('message', (answer) => {
      client.answered = true
      client.usedAt = this.#parts.monotonic()
      if (socket.getSendQueueSize() < MAX_QUEUED_BYTES) socket.send(answer, from.port, from.address, () => {})
    })
    for (const message of client.waiting.splice(0)) send(guest, message)
  }

  #forgetIdle(): void {
    const { udpIdleMs, udpUnansweredMs } = this.#parts.limits
    const now = this.#parts.monotonic()
    for (const client of this.#clients.values())
      if (now - client.usedAt > (client.answered ? udpIdleMs : udpUnansweredMs)) this.#drop(client)
  }

  #drop(client: Client): void {
    if (this.#forget(client)) this.#parts.counters.dropped++
  }

  #forget(client: Client): boolean {
    if (this.#clients.get(client.key) !== client) return false
    this.#clients.delete(client.key)
    this.#parts.counters.active--
    this.#parts.places.giveBack()
    client.guest?.close()
    return true
  }
}

function send(guest: Socket, message: Buffer): void {
  if (guest.getSendQueueSize() < MAX_QUEUED_BYTES) guest.send(message, () => {})
}

function connected(socket: Socket, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.connect(port, host, () => {
      socket.removeListener('error', reject)
      resolve()
    })
  })
}

/** One that never came to be bound is closed too. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    try {
      socket.close(() => resolve())
    } catch {
      resolve()
    }
  })
}

import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { Exposures } from '../../src/agent/exposures/exposures.ts'
import { Places, PORT_LIMITS, type PortLimits } from '../../src/agent/exposures/limits.ts'
import { findPortHolder } from '../../src/agent/exposures/port-holder.ts'
import { Reach } from '../../src/agent/exposures/reach.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { type Exposure, ExposureSchema, type ExposureStatus } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'

export const VM = 'a'.repeat(32)

/** The published ports of an agent over a guest that is a program here. */
export class PortsRig implements AsyncDisposable {
  wanted: Exposure[] = []
  deleted = false
  run = '1'
  address = '127.0.0.1'
  readonly ports: Exposures

  constructor(limits: Partial<PortLimits> = {}) {
    this.ports = new Exposures({
      wanted: () => this.wanted,
      isWanted: () => !this.deleted,
      reach: new Reach({ run: () => this.run, address: () => this.address }),
      holder: findPortHolder,
      places: new Places(limits.inAll ?? PORT_LIMITS.inAll),
      limits: { ...PORT_LIMITS, ...limits },
      clock: systemClock,
      log: silentLog,
    })
  }

  /** Publishes these alone. */
  publish(...exposures: MessageInitShape<typeof ExposureSchema>[]): void {
    this.wanted = exposures.map((given, i) =>
      create(ExposureSchema, { id: `e${i}`, vmId: VM, protocol: 'tcp', scope: 'loopback', ...given }),
    )
    this.ports.look()
  }

  /** The status of a port once it is as wanted. */
  async status(want: (status: ExposureStatus) => boolean, id = 'e0'): Promise<ExposureStatus> {
    const find = () => this.ports.statuses().find((status) => status.id === id && want(status))
    return await until(
      find,
      () =>
        `${id}: ${this.ports.statuses().map(({ state, reason, sessions }) => `${state} ${reason} ${sessions?.active}/${sessions?.refused}/${sessions?.dropped}`)}`,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ports.close()
  }
}

/** Looks until there is something, for 10 s. */
export async function until<T>(find: () => T | undefined, what: () => string): Promise<T> {
  for (const deadline = performance.now() + 10_000; ; ) {
    const found = find()
    if (found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`not in time: ${what()}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

export interface TestServer extends AsyncDisposable {
  port: number
  sockets: Set<Socket>
}

/** A TCP server as a guest's program would be; `serve` gets each connection, which may be half open. */
export async function tcpServer(serve: (socket: Socket) => void, host = '127.0.0.1', at = 0): Promise<TestServer> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(at, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A UDP server that answers each datagram with what `answer` makes of it; undefined = silence. */
export async function udpServer(
  answer: (message: Buffer) => Buffer | undefined,
): Promise<AsyncDisposable & { port: number }> {
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    const reply = answer(message)
    if (reply) socket.send(reply, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    port: socket.address().port,
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

/** A client's connection; rejects when nobody takes it. */
export async function dial(port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host, allowHalfOpen: true })
  await once(socket, 'connect')
  socket.on('error', () => {})
  return socket
}

/** Says `text`, ends its own side and reads all that comes. */
export async function ask(port: number, text: string, host?: string): Promise<string> {
  const socket = await dial(port, host)
  socket.end(text)
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** A port of loopback that nothing uses now. */
export async function freePort(): Promise<number> {
  await using server = await tcpServer(() => {})
  return server.port
}

export const digestOf = async (stream: AsyncIterable<Buffer>): Promise<{ bytes: number; sha256: string }> => {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const part of stream) {
    bytes += part.length
    hash.update(part)
  }
  return { bytes, sha256: hash.digest('hex') }
}

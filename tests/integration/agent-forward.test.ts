import { randomBytes } from 'node:crypto'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { PORT_LIMITS } from '../../src/agent/exposures/limits.ts'
import { Reach } from '../../src/agent/exposures/reach.ts'
import { type GuestReach, MAX_FORWARDS } from '../../src/agent/rpc/forward-handler.ts'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import {
  type ForwardRequest,
  ForwardRequestSchema,
  type ForwardResponse,
} from '../../src/ipc/gen/eitri/agent/v1/network_pb.js'
import { attached, Pushed, VM, type WireClient, wireClient, wireRig } from '../support/agent-wire.ts'
import { digestOf, freePort, tcpServer, until } from '../support/ports-rig.ts'

const aReach = (address = '127.0.0.1', run = '1', limits = PORT_LIMITS): GuestReach => {
  const reach = new Reach({ run: () => run, address: () => address })
  return { target: reach.target.bind(reach), limits }
}

/** A Forward stream driven frame by frame. */
class Forwarded {
  readonly requests = new Pushed<ForwardRequest>()
  readonly responses: AsyncIterator<ForwardResponse>

  constructor(
    { client }: WireClient,
    open?: { sessionId: string; guestPort: number; vmId?: string },
    signal?: AbortSignal,
  ) {
    if (open) this.say({ case: 'open', value: { vmId: VM, ...open } })
    this.responses = client.forward(this.requests, signal ? { signal } : {})[Symbol.asyncIterator]()
  }

  say(message: NonNullable<MessageInitShape<typeof ForwardRequestSchema>['message']>): void {
    this.requests.push(create(ForwardRequestSchema, { message }))
  }

  send(data: Uint8Array): void {
    this.say({ case: 'data', value: data })
  }

  end(): void {
    this.say({ case: 'end', value: {} })
  }

  async next(): Promise<ForwardResponse['message'] | undefined> {
    const next = await this.responses.next()
    return next.done === true ? undefined : next.value.message
  }

  /** All data up to the guest's end. */
  async *data(): AsyncGenerator<Buffer> {
    for (let message = await this.next(); message; message = await this.next()) {
      if (message.case === 'end') return
      if (message.case === 'data') yield Buffer.from(message.value)
    }
  }
}

async function textOf(forward: Forwarded): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of forward.data()) parts.push(part)
  return Buffer.concat(parts).toString()
}

async function faultOf(forward: Forwarded) {
  try {
    for (let message = await forward.next(); message; message = await forward.next()) if (message.case === 'end') break
  } catch (error) {
    return fromConnectError(error)
  }
  throw new Error('it was not refused')
}

describe('a connection forwarded to a guest', () => {
  it('carries both directions, each of which may end first', async () => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    await using shouter = await tcpServer((socket) => {
      let said = ''
      socket.on('data', (part) => {
        said += part
      })
      socket.on('end', () => socket.end(said.toUpperCase()))
    })
    const forward = new Forwarded(link, { sessionId, guestPort: shouter.port })
    expect((await forward.next())?.case).toBe('opened')
    forward.send(Buffer.from('hel'))
    forward.send(Buffer.from('lo'))
    forward.end()
    expect(await textOf(forward)).toBe('HELLO')
    expect(await forward.next()).toBeUndefined()

    const heard = Promise.withResolvers<string>()
    await using first = await tcpServer((socket) => {
      socket.end('bye')
      let said = ''
      socket.on('data', (part) => {
        said += part
      })
      socket.on('end', () => heard.resolve(said))
    })
    const later = new Forwarded(link, { sessionId, guestPort: first.port })
    expect(await textOf(later)).toBe('bye')
    later.send(Buffer.from('still here'))
    later.end()
    expect(await heard.promise).toBe('still here')
    expect(await later.next()).toBeUndefined()
  })

  it('brings many bytes whole, in messages of at most 64 KiB', async () => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const bytes = randomBytes(8 * 1024 * 1024)
    await using guest = await tcpServer((socket) => socket.end(bytes))
    const forward = new Forwarded(link, { sessionId, guestPort: guest.port })
    const sizes: number[] = []
    async function* sized() {
      for await (const part of forward.data()) {
        sizes.push(part.length)
        yield part
      }
    }
    const got = await digestOf(sized())
    expect(got).toEqual(
      await digestOf(
        (async function* () {
          yield bytes
        })(),
      ),
    )
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024)
    forward.end()
  })

  it('holds the guest back while its reader does not read', async () => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    let sent = 0
    await using guest = await tcpServer((socket) => {
      const chunk = Buffer.alloc(1024 * 1024)
      const fill = () => {
        while (sent < 256 && socket.write(chunk)) sent++
      }
      socket.on('drain', fill)
      fill()
    })
    const forward = new Forwarded(link, { sessionId, guestPort: guest.port })
    expect((await forward.next())?.case).toBe('opened')
    for (let still = 0, seen = sent; still < 20_000 && sent < 256; still = sent === seen ? still + 1 : 0) {
      seen = sent
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(sent).toBeLessThan(64)
  })

  it.each([
    ['an address nobody knows yet', aReach(''), 'its address is not known yet'],
    ['a VM that does not run', aReach('127.0.0.1', ''), 'it is not running'],
  ])('is refused for %s', async (_, guests, detail) => {
    await using rig = await wireRig({ guests })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const fault = await faultOf(new Forwarded(link, { sessionId, guestPort: 22 }))
    expect([fault.code, fault.params['detail']]).toEqual(['port/no-way', detail])
  })

  it('is refused when the guest does not take it', async () => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const guestPort = await freePort()
    const fault = await faultOf(new Forwarded(link, { sessionId, guestPort }))
    expect([fault.code, fault.params['port']]).toEqual(['port/not-taken', String(guestPort)])
  })

  it.each([
    ['no session', { sessionId: 'none', guestPort: 22 }, 'agent/auth-rejected'],
    ['no port', { guestPort: 0 }, 'input/invalid'],
    ['no VM id', { guestPort: 22, vmId: '../etc' }, 'input/invalid'],
  ])('is refused with %s', async (_, open, code) => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    expect((await faultOf(new Forwarded(link, { sessionId, ...open }))).code).toBe(code)
  })

  it('is refused when its first frame is another, or a later one too large', async () => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const wrong = new Forwarded(link)
    wrong.end()
    expect((await faultOf(wrong)).code).toBe('input/invalid')
    await using guest = await tcpServer(() => {})
    const large = new Forwarded(link, { sessionId, guestPort: guest.port })
    large.send(Buffer.alloc(64 * 1024 + 1))
    expect((await faultOf(large)).code).toBe('input/too-large')
  })

  it('ends with its session', async () => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    await using guest = await tcpServer(() => {})
    const forward = new Forwarded(link, { sessionId, guestPort: guest.port })
    expect((await forward.next())?.case).toBe('opened')
    using newer = wireClient(rig.socketPath)
    await attached(newer.client)
    expect((await faultOf(forward)).code).toBe('agent/superseded')
  })

  it('is one of a bounded number, and gives its place back', async () => {
    await using rig = await wireRig({ guests: aReach() })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    await using guest = await tcpServer(() => {})
    const open = () => new Forwarded(link, { sessionId, guestPort: guest.port })
    const all = Array.from({ length: MAX_FORWARDS }, open)
    for (const forward of all) expect((await forward.next())?.case).toBe('opened')
    expect((await faultOf(open())).code).toBe('port/no-way')
    await until(
      () => (guest.sockets.size === MAX_FORWARDS ? true : undefined),
      () => `${guest.sockets.size} connections`,
    )
    for (const socket of guest.sockets) socket.resetAndDestroy()
    for (const forward of all) expect((await faultOf(forward)).code).toBe('port/no-way')
    expect((await open().next())?.case).toBe('opened')
  })

  it('ends when nothing is said for as long as one may be idle', async () => {
    await using rig = await wireRig({ guests: aReach('127.0.0.1', '1', { ...PORT_LIMITS, tcpIdleMs: 200 }) })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    await using guest = await tcpServer(() => {})
    expect((await faultOf(new Forwarded(link, { sessionId, guestPort: guest.port }))).code).toBe('app/timeout')
  })
})

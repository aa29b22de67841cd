import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { ask, dial, freePort, PortsRig, tcpServer, udpServer, until } from '../support/ports-rig.ts'

const listening = { state: 'listening' }
const isListening = (status: { state: string }) => status.state === 'listening'

/** Answers once the peer has ended its side. */
const shout = (socket: Socket) => {
  let said = ''
  socket.on('data', (part) => {
    said += part
  })
  socket.on('end', () => socket.end(said.toUpperCase()))
}

/** However it ends. */
const ended = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('error', () => {})
    socket.once('close', () => resolve())
    if (socket.closed) resolve()
  })

async function datagrams(port: number, messages: string[], host = '127.0.0.1'): Promise<string[]> {
  const socket = createSocket('udp4')
  const answers: string[] = []
  socket.on('message', (answer) => answers.push(answer.toString()))
  socket.connect(port, host)
  await once(socket, 'connect')
  for (const message of messages) socket.send(message)
  await until(
    () => (answers.length >= messages.length ? true : undefined),
    () => `${answers.length} answers`,
  )
  socket.close()
  return answers
}

describe('a published TCP port', () => {
  it('leads to the guest, and either side may end its half first', async () => {
    await using guest = await tcpServer(shout)
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    expect(await rig.status(isListening)).toMatchObject({ ...listening, reason: '' })
    expect(await ask(hostPort, 'hello')).toBe('HELLO')
    await rig.status(({ sessions }) => sessions?.active === 0n && sessions.dropped === 0n && sessions.refused === 0n)
  })

  it('is on both loopback addresses and no other, or on every address of the host', async () => {
    await using guest = await tcpServer(shout)
    await using rig = new PortsRig()
    const hostPort = await freePort()
    const outer = Object.values(networkInterfaces())
      .flat()
      .find((face) => face && !face.internal && face.family === 'IPv4')?.address
    rig.publish({ guestPort: guest.port, hostPort, scope: 'loopback' })
    await rig.status(isListening)
    expect(await ask(hostPort, 'a', '::1')).toBe('A')
    if (outer) await expect(dial(hostPort, outer)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    rig.publish({ guestPort: guest.port, hostPort, scope: 'lan' })
    await until(
      () => (rig.ports.statuses()[0]?.state === 'listening' ? true : undefined),
      () => 'listening again',
    )
    expect(await ask(hostPort, 'a', '127.0.0.1')).toBe('A')
    expect(await ask(hostPort, 'b', '::1')).toBe('B')
    if (outer) expect(await ask(hostPort, 'c', outer)).toBe('C')
  })

  it('turns clients away when the guest does not take them, and counts them', async () => {
    await using rig = new PortsRig()
    const [hostPort, guestPort] = [await freePort(), await freePort()]
    rig.publish({ guestPort, hostPort })
    await rig.status(isListening)
    await ended(connect(hostPort, '127.0.0.1'))
    await rig.status(({ sessions }) => sessions?.refused === 1n && sessions.active === 0n)
  })

  it('serves as many at once as its limit, and counts those past it', async () => {
    await using guest = await tcpServer((socket) => socket.write('hi'))
    await using rig = new PortsRig({ perPort: 3 })
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const clients = [await dial(hostPort), await dial(hostPort), await dial(hostPort)]
    for (const client of clients) await once(client, 'data')
    await ended(connect(hostPort, '127.0.0.1'))
    await rig.status(({ sessions }) => sessions?.active === 3n && sessions.refused === 1n)
    clients[0]!.resetAndDestroy()
    await rig.status(({ sessions }) => sessions?.active === 2n)
    const fifth = await dial(hostPort)
    await once(fifth, 'data')
    for (const client of [...clients, fifth]) client.destroy()
  })

  it('shares one bound with all other ports', async () => {
    await using guest = await tcpServer((socket) => socket.write('hi'))
    await using rig = new PortsRig({ inAll: 1 })
    const [one, two] = [await freePort(), await freePort()]
    rig.publish({ guestPort: guest.port, hostPort: one }, { guestPort: guest.port, hostPort: two })
    await rig.status(isListening, 'e0')
    await rig.status(isListening, 'e1')
    const client = await dial(one)
    await once(client, 'data')
    await ended(connect(two, '127.0.0.1'))
    await rig.status(({ sessions }) => sessions?.refused === 1n, 'e1')
    client.destroy()
  })

  it('ends a connection nobody uses, and counts it dropped', async () => {
    await using guest = await tcpServer((socket) => socket.write('hi'))
    await using rig = new PortsRig({ tcpIdleMs: 100 })
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const client = await dial(hostPort)
    client.resume()
    await ended(client)
    await rig.status(({ sessions }) => sessions?.dropped === 1n && sessions.active === 0n)
  })

  it('waits less long for the other side once one has ended', async () => {
    await using guest = await tcpServer((socket) => socket.write('hi'))
    await using rig = new PortsRig({ halfClosedIdleMs: 100 })
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const client = await dial(hostPort)
    client.resume()
    client.end()
    await ended(client)
    await rig.status(({ sessions }) => sessions?.dropped === 1n)
  })

  it('holds a fast sender back to what the other side reads', async () => {
    await using guest = await tcpServer((socket) => socket.pause())
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const client = await dial(hostPort)
    const chunk = Buffer.alloc(1024 * 1024)
    let sent = 0
    const fill = () => {
      while (sent < 256 && client.write(chunk)) sent++
    }
    client.on('drain', fill)
    fill()
    // A proxy that read on would take all 256 MiB; what the kernel and the proxy hold is a few.
    for (let still = 0, seen = sent; still < 20_000 && sent < 256; still = sent === seen ? still + 1 : 0) {
      seen = sent
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(sent).toBeLessThan(64)
    client.destroy()
  })

  it('delivers all a client said before it ended, to a guest that reads late', async () => {
    const size = 8 * 1024 * 1024
    const got = Promise.withResolvers<number>()
    await using guest = await tcpServer((socket) => {
      socket.end()
      let bytes = 0
      setTimeout(() => {
        socket.on('data', (part) => {
          bytes += part.length
        })
        socket.on('end', () => got.resolve(bytes))
      }, 100)
    })
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const client = await dial(hostPort)
    client.resume()
    client.end(Buffer.alloc(size))
    expect(await got.promise).toBe(size)
    await rig.status(({ sessions }) => sessions?.active === 0n)
  })
})

describe('the listener of a published port', () => {
  it.each(['tcp', 'udp'] as const)(
    'says which program has its %s port, and takes it once that is gone',
    async (protocol) => {
      await using rig = new PortsRig()
      const hostPort = await freePort()
      const other = protocol === 'tcp' ? await tcpServer(() => {}, '0.0.0.0', hostPort) : await bound(hostPort)
      rig.publish({ guestPort: 80, hostPort, protocol, scope: 'lan' })
      const name = protocol === 'tcp' ? 'Port' : 'UDP port'
      const { reason } = await rig.status(({ reason }) => reason.includes('pid'))
      expect(reason).toMatch(new RegExp(`^${name} ${hostPort} is used by \\S.* \\(pid ${process.pid}\\)\\.$`))
      await other[Symbol.asyncDispose]()
      rig.ports.look()
      await rig.status(isListening)
    },
  )

  it('ends with its connections the moment its VM is not wanted, and is back with it', async () => {
    await using guest = await tcpServer((socket) => socket.write('hi'))
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const client = await dial(hostPort)
    await once(client, 'data')
    rig.deleted = true
    rig.ports.look()
    await ended(client)
    expect(rig.ports.statuses()).toEqual([])
    await expect(dial(hostPort)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    rig.deleted = false
    rig.ports.look()
    await rig.status(isListening)
    const again = await dial(hostPort)
    await once(again, 'data')
    again.destroy()
  })

  it('waits while the guest is off, counts what that cut off, and begins anew with each run of it', async () => {
    await using guest = await tcpServer((socket) => socket.write('hi'))
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const client = await dial(hostPort)
    await once(client, 'data')
    rig.run = ''
    rig.ports.look()
    await ended(client)
    expect(await rig.status(({ sessions }) => sessions?.dropped === 1n)).toMatchObject({
      state: 'waiting',
      reason: 'The VM is not running.',
      sessions: { active: 0n },
    })
    await expect(dial(hostPort)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    rig.run = '2'
    rig.ports.look()
    await rig.status(isListening)
    const second = await dial(hostPort)
    await once(second, 'data')
    rig.run = '3'
    rig.ports.look()
    await ended(second)
    await rig.status((status) => isListening(status) && status.sessions?.dropped === 2n)
  })

  it('counts what went with a guest whose own end was faster', async () => {
    await using guest = await tcpServer((socket) => socket.write('hi'))
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    const client = await dial(hostPort)
    await once(client, 'data')
    for (const socket of guest.sockets) socket.resetAndDestroy()
    await ended(client)
    await rig.status(({ sessions }) => sessions?.active === 0n && sessions.dropped === 0n)
    rig.run = ''
    rig.ports.look()
    await rig.status(({ sessions }) => sessions?.dropped === 1n)
  })

  it('waits for an address, and says so', async () => {
    await using rig = new PortsRig()
    rig.address = ''
    rig.publish({ guestPort: 80, hostPort: await freePort() })
    expect(await rig.status(({ state }) => state === 'waiting')).toMatchObject({
      reason: 'The address of the VM is not known yet.',
      sessions: { active: 0n, refused: 0n, dropped: 0n },
    })
  })

  it('goes from one VM to another at once when a state says so', async () => {
    await using one = await tcpServer((socket) => socket.end('one'))
    await using two = await tcpServer((socket) => socket.end('two'))
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: one.port, hostPort })
    await rig.status(isListening)
    rig.publish({ id: 'new', vmId: 'b'.repeat(32), guestPort: two.port, hostPort })
    await rig.status(isListening, 'new')
    expect(await ask(hostPort, '')).toBe('two')
    expect(rig.ports.statuses().map(({ id }) => id)).toEqual(['new'])
  })

  it('follows whatever order of changes to what should be', async () => {
    await using guest = await tcpServer((socket) => socket.end('hi'))
    await using rig = new PortsRig()
    const hostPort = await freePort()
    for (let i = 0; i < 50; i++) {
      rig.publish(...(i % 2 === 0 ? [{ guestPort: guest.port, hostPort }] : []))
      if (i % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await until(
      () => (rig.ports.statuses().length === 0 ? true : undefined),
      () => 'nothing',
    )
    await expect(dial(hostPort)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(isListening)
    expect(await ask(hostPort, '')).toBe('hi')
  })
})

describe('a published UDP port', () => {
  it('brings answers back to each client', async () => {
    await using guest = await udpServer((message) => Buffer.from(message.toString().toUpperCase()))
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort, protocol: 'udp', scope: 'lan' })
    await rig.status(isListening)
    const [one, two] = await Promise.all([datagrams(hostPort, ['a', 'b']), datagrams(hostPort, ['c'])])
    expect([...one!].sort()).toEqual(['A', 'B'])
    expect(two).toEqual(['C'])
    await rig.status(({ sessions }) => sessions?.active === 2n)
  })

  it('forgets clients nobody hears of, and takes no more than its limit', async () => {
    await using guest = await udpServer((message) => message)
    await using rig = new PortsRig({ perPort: 1, udpIdleMs: 200, udpUnansweredMs: 200 })
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort, protocol: 'udp' })
    await rig.status(isListening)
    await datagrams(hostPort, ['a'])
    const late = createSocket('udp4')
    late.send('b', hostPort, '127.0.0.1')
    await rig.status(({ sessions }) => sessions?.refused === 1n)
    await rig.status(({ sessions }) => sessions?.active === 0n && sessions.dropped === 1n)
    late.close()
    expect(await datagrams(hostPort, ['c'])).toEqual(['c'])
  })

  it('counts a client the guest refuses', async () => {
    await using rig = new PortsRig()
    const [hostPort, guestPort] = [await freePort(), await freePort()]
    rig.publish({ guestPort, hostPort, protocol: 'udp' })
    await rig.status(isListening)
    const client = createSocket('udp4')
    client.send('a', hostPort, '127.0.0.1')
    await rig.status(({ sessions }) => sessions?.refused === 1n && sessions.active === 0n)
    client.close()
  })
})

async function bound(port: number): Promise<AsyncDisposable> {
  const socket = createSocket('udp4')
  socket.bind(port, '0.0.0.0')
  await once(socket, 'listening')
  return {
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

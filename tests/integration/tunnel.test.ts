import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { faultLine } from '../../src/ipc/fault-text.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { digestOf, freePort, tcpServer, until } from '../support/ports-rig.ts'
import { TunnelRig } from '../support/tunnel-rig.ts'

const faultOf = async (done: Promise<void>): Promise<Fault> => {
  const error = await done.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (error instanceof Fault) return error
  throw new Error(`it did not fail: ${String(error)}`)
}

/** What an upgrade is answered with. */
function upgrade(socketPath: string, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const key = randomBytes(16).toString('base64')
  const websocket = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
  }
  const req = request({ socketPath, path, headers: { ...websocket, ...headers } })
  req.on('response', (res) => {
    res.resume()
    resolve(res.statusCode ?? 0)
  })
  req.on('upgrade', (res, socket) => {
    socket.destroy()
    resolve(res.statusCode ?? 0)
  })
  req.on('error', reject)
  req.end()
  return promise
}

describe('a tunnel to a port of a guest', () => {
  it('carries both directions, each of which may end first', async () => {
    await using rig = await TunnelRig.open()
    await using shouter = await tcpServer((socket) => {
      let said = ''
      socket.on('data', (part) => {
        said += part
      })
      socket.on('end', () => socket.end(said.toUpperCase()))
    })
    const asks = rig.tunnel(shouter.port)
    asks.input.end('hello')
    expect(await text(asks.output)).toBe('HELLO')
    await asks.done

    const heard = Promise.withResolvers<string>()
    await using first = await tcpServer((socket) => {
      socket.end('bye')
      void text(socket).then(heard.resolve)
    })
    const later = rig.tunnel(first.port)
    expect(await text(later.output)).toBe('bye')
    await later.ended
    later.input.end('still here')
    expect(await heard.promise).toBe('still here')
    await later.done
  })

  it('brings many bytes whole, both ways at once', async () => {
    await using rig = await TunnelRig.open()
    const bytes = randomBytes(16 * 1024 * 1024)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await using echo = await tcpServer((socket) => socket.pipe(socket))
    const { input, output, done } = rig.tunnel(echo.port)
    input.end(bytes)
    expect(await digestOf(output)).toEqual({ bytes: bytes.length, sha256 })
    await done
  })

  it('holds the guest back while nobody reads, and the client while the guest does not', async () => {
    await using rig = await TunnelRig.open()
    let sent = 0
    await using flood = await tcpServer((socket) => {
      const chunk = Buffer.alloc(1024 * 1024)
      const fill = () => {
        while (sent < 256 && socket.write(chunk)) sent++
      }
      socket.on('drain', fill)
      fill()
    })
    const quiet = rig.tunnel(flood.port)
    await once(quiet.output, 'readable')
    await untilStill(() => sent)
    expect(sent).toBeLessThan(64)

    await using deaf = await tcpServer((socket) => socket.pause())
    const { input } = rig.tunnel(deaf.port)
    let taken = 0
    const chunk = Buffer.alloc(1024 * 1024)
    const fill = () => {
      while (taken < 256 && input.write(chunk)) taken++
    }
    input.on('drain', () => {
      taken++
      fill()
    })
    fill()
    await untilStill(() => taken)
    expect(taken).toBeLessThan(64)
  })

  it('is slowed down by a guest that answers in pieces of one byte, and the link to its host goes on', async () => {
    await using rig = await TunnelRig.open()
    await using pieces = await tcpServer((socket) => {
      socket.setNoDelay(true)
      let left = 30_000
      const one = () => {
        if (left-- === 0) socket.end()
        else socket.write('.', () => setImmediate(one))
      }
      one()
    })
    const { input, output, done } = rig.tunnel(pieces.port)
    expect((await digestOf(output)).bytes).toBe(30_000)
    input.end()
    await done
    expect(await Promise.race([rig.link.closed, Promise.resolve('there')])).toBe('there')
  }, 60_000)

  it('says why there is none: no program, no way, no host, no VM, one of another tenant', async () => {
    await using rig = await TunnelRig.open()
    const free = await freePort()
    const refused = await faultOf(rig.tunnel(free).done)
    expect(refused).toMatchObject({ code: 'port/not-taken', params: { vm: 'web', host: 'rack', port: String(free) } })
    expect(faultLine(refused.code, refused.params)).toMatch(
      /^web takes no connection on port \d+ \(.*ECONNREFUSED.*\)\./,
    )
    rig.reachable = false
    const unreachable = await faultOf(rig.tunnel(22).done)
    expect(unreachable).toMatchObject({
      code: 'port/no-way',
      params: { vm: 'web', detail: 'its address is not known yet' },
    })
    rig.online = false
    expect(await faultOf(rig.tunnel(22).done)).toMatchObject({ code: 'host/no-answer', params: { host: 'rack' } })
    for (const asked of [{ vm: 'nobody' }, { vm: 'vault' }, { vm: 'web', tenant: 'lab' }])
      expect(await faultOf(rig.tunnel(22, asked).done)).toMatchObject({
        code: 'vm/not-found',
        params: { vm: asked.vm },
      })
  })

  it.each(['0', '65536', '22x', '', '-1'])('takes no port %j', async (port) => {
    await using rig = await TunnelRig.open()
    expect(await upgrade(rig.apiSocket, `/tunnel?vm=web&port=${port}`)).toBe(400)
  })

  it('is not for pages, nor for tenants that are not there, nor under another name', async () => {
    await using rig = await TunnelRig.open()
    await using guest = await tcpServer(() => {})
    const path = `/tunnel?vm=web&port=${guest.port}`
    expect(await upgrade(rig.apiSocket, path)).toBe(101)
    expect(await upgrade(rig.apiSocket, path, { origin: 'http://127.0.0.1:1' })).toBe(404)
    expect(await upgrade(rig.apiSocket, path, { 'eitri-tenant': 'nowhere' })).toBe(404)
    expect(await upgrade(rig.apiSocket, path.replace('tunnel', 'tunnels'))).toBe(404)
    expect(await upgrade(rig.apiSocket, '//')).toBe(404)
  })

  it('is one of so many, and the next gets words until one has ended', async () => {
    await using rig = await TunnelRig.open({ perVm: 2 })
    await using guest = await tcpServer((socket) => socket.write('hi'))
    const open = [rig.tunnel(guest.port), rig.tunnel(guest.port)]
    for (const { output } of open) await once(output, 'data')
    const third = await faultOf(rig.tunnel(guest.port).done)
    expect(faultLine(third.code, third.params)).toMatch(/^2 connections to web are open already\./)
    const abort = new AbortController()
    const fourth = rig.tunnel(guest.port, { signal: abort.signal })
    await faultOf(fourth.done)
    open[0]!.input.end()
    for (const socket of guest.sockets) socket.end()
    await open[0]!.done
    const after = rig.tunnel(guest.port)
    await once(after.output, 'data')
  })

  it('has a login ready while it is open, and is refused where there can be none', async () => {
    await using rig = await TunnelRig.open()
    await using guest = await tcpServer((socket) => socket.write('hi'))
    const abort = new AbortController()
    const { output, done } = rig.tunnel(guest.port, { login: 'root', signal: abort.signal })
    await once(output, 'data')
    expect(rig.held).toEqual(['root@web'])
    abort.abort(new Fault('app/cancelled', 'cancelled'))
    await faultOf(done)
    await until(
      () => (rig.held.length === 0 ? true : undefined),
      () => rig.held.join(),
    )
    rig.holdFails = new Fault('tenant/not-found', 'permanent', { tenant: 'x' })
    expect((await faultOf(rig.tunnel(guest.port, { login: 'root' }).done)).code).toBe('tenant/not-found')
    expect((await faultOf(rig.tunnel(guest.port, { login: 'a b' }).done)).code).toBe('input/invalid')
  })

  it('breaks with words when its host is lost or the control plane ends', async () => {
    await using rig = await TunnelRig.open()
    await using guest = await tcpServer((socket) => socket.write('hi'))
    const lost = rig.tunnel(guest.port)
    await once(lost.output, 'data')
    rig.link.close(new Fault('ssh/lost', 'transient', { host: 'rack' }))
    const fault = await faultOf(lost.done)
    expect(faultLine(fault.code, fault.params)).toMatch(
      /^The connection to port \d+ of web broke \(.*rack.*\)\. What was/,
    )

    await using other = await TunnelRig.open()
    const left = other.tunnel(guest.port)
    await once(left.output, 'data')
    other.endpoint.close()
    expect(await faultOf(left.done)).toMatchObject({
      code: 'port/broken',
      params: { detail: 'the control plane went away' },
    })
  })

  it('ends the connection to the guest when its client is gone', async () => {
    await using rig = await TunnelRig.open()
    const closed = Promise.withResolvers<void>()
    await using guest = await tcpServer((socket) => {
      socket.write('hi')
      socket.on('end', () => closed.resolve())
      socket.resume()
    })
    const abort = new AbortController()
    const { output, done } = rig.tunnel(guest.port, { signal: abort.signal })
    await once(output, 'data')
    abort.abort(new Fault('app/cancelled', 'cancelled'))
    await faultOf(done)
    await closed.promise
  })

  it('ends when what is sent to it is no tunnel', async () => {
    await using rig = await TunnelRig.open()
    await using guest = await tcpServer(() => {})
    const raw = connect(rig.apiSocket)
    raw.on('error', () => {})
    const key = randomBytes(16).toString('base64')
    raw.write(
      `GET /tunnel?vm=web&port=${guest.port} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`,
    )
    await once(raw, 'data')
    raw.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]))
    raw.resume()
    await once(raw, 'close')
  })
})

/** Until a number has not changed for a long while of turns. */
async function untilStill(now: () => number): Promise<void> {
  for (let still = 0, seen = now(); still < 5_000; still = now() === seen ? still + 1 : 0) {
    seen = now()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ApiClient } from '../../../../../src/agent/backends/cloud-hypervisor/api-client.ts'

let dir: string
let path: string
let server: Server
/** What came, per connection. */
let heard: string[]
let answer: (socket: Socket) => void

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-ch-'))
  path = join(dir, 'api.sock')
  heard = []
  server = createServer((socket) => {
    const at = heard.push('') - 1
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      heard[at] += chunk.toString()
      if (heard[at]!.includes('\r\n\r\n')) answer(socket)
    })
  })
  await new Promise<void>((done) => server.listen(path, done))
})
afterEach(async () => {
  server.close()
  await rm(dir, { recursive: true })
})

const client = (deadlineMs?: number) =>
  new ApiClient({
    connect: () =>
      new Promise((resolve, reject) => {
        const socket = connect(path)
        socket.once('connect', () => resolve(socket))
        socket.once('error', reject)
      }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  })
const reply = (status: string, body: string | Buffer) => (socket: Socket) => {
  socket.write(`HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`)
  socket.end(body)
}
const detail = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    () => expect.fail('it did not fail'),
    (e) => e,
  )
  expect(error).toMatchObject({ code: 'vmm/failed' })
  return error.params.detail
}

describe('a request to cloud-hypervisor', () => {
  it('has a connection of its own, and no body where none belongs', async () => {
    answer = reply('204 No Content', '')
    const api = client()
    await api.boot()
    await api.powerButton()
    expect(heard).toHaveLength(2)
    for (const text of heard) {
      expect(text).toMatch(/^PUT \/api\/v1\/vm\.(boot|power-button) HTTP\/1\.1\r\n/)
      expect(text).toMatch(/Connection: close\r\n/)
      expect(text.split('\r\n\r\n')[1]).toBe('')
      expect(text).not.toMatch(/chunked/i)
    }
  })

  it('carries its body as JSON', async () => {
    answer = reply('204 No Content', '')
    await client().create({ payload: { kernel: 'k' } })
    expect(heard[0]).toMatch(/Content-Type: application\/json/)
    expect(heard[0]!.split('\r\n\r\n')[1]).toBe('{"payload":{"kernel":"k"}}')
  })

  it('knows a VM by its state, and 404 as none', async () => {
    answer = reply('200 OK', '{"config":{},"state":"Paused"}')
    expect(await client().state()).toBe('Paused')
    answer = reply('404 Not Found', '["Error from API","VM is not created"]')
    expect(await client().state()).toBeUndefined()
  })

  it('takes the 500 by which older releases say that there is no VM for what it means', async () => {
    answer = reply('500 Internal Server Error', '["Error from API","VM is not created"]')
    expect(await client().state()).toBeUndefined()
    answer = reply('500 Internal Server Error', '["Error from API","disk on fire"]')
    await expect(client().state()).rejects.toMatchObject({ status: 500 })
  })
})

describe('a refusal of cloud-hypervisor', () => {
  it('names method, path, status and the body, whose last part names the device', async () => {
    answer = reply('500 Internal Server Error', '["Error from API","The VM could not boot","Cannot open disk root"]')
    expect(await detail(client().boot())).toBe(
      'PUT vm.boot: 500 Internal Server Error: Error from API: The VM could not boot: Cannot open disk root',
    )
  })

  it.each([
    ['plain text', 'it broke', 'PUT vm.boot: 500 Oops: it broke'],
    ['a JSON string', '"it broke"', 'PUT vm.boot: 500 Oops: it broke'],
    ['nothing', '', 'PUT vm.boot: 500 Oops'],
    ['an object', '{"error":"it broke"}', 'PUT vm.boot: 500 Oops: {"error":"it broke"}'],
  ])('is understood when its body is %s', async (_what, body, expected) => {
    answer = reply('500 Oops', body)
    expect(await detail(client().boot())).toBe(expected)
  })

  it('is cut to a bound and stays valid text', async () => {
    answer = reply('500 Oops', `x${'ü'.repeat(2_000_000)}`)
    const text = await detail(client().boot())
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(700)
    expect(text).toMatch(/^PUT vm\.boot: 500 Oops: xü+$/)
    answer = reply('500 Oops', Buffer.from([0x61, 0xff, 0xfe, 0x62]))
    expect(await detail(client().boot())).toBe('PUT vm.boot: 500 Oops: a��b')
  })

  it('is permanent when the request is at fault, and else may heal', async () => {
    answer = reply('400 Bad Request', '["Error from API","bad config"]')
    await expect(client().create({})).rejects.toMatchObject({ disposition: 'permanent', status: 400 })
    answer = reply('500 Internal Server Error', '')
    await expect(client().create({})).rejects.toMatchObject({ disposition: 'transient', status: 500 })
  })
})

describe('no answer of cloud-hypervisor', () => {
  it('ends at the deadline, and names what was asked', async () => {
    answer = () => {}
    expect(await detail(client(50).ping())).toBe('GET vmm.ping: no answer in time')
  })

  it('ends at the deadline too when it begins and does not go on', async () => {
    answer = (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"ver')
    expect(await detail(client(50).ping())).toBe('GET vmm.ping: no answer in time')
  })

  it('is a failure when it closes in the middle of one', async () => {
    answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"ver')
    expect(await detail(client().ping())).toMatch(/^GET vmm\.ping: /)
  })

  it('is a failure when there is no socket', async () => {
    server.close()
    await rm(path, { force: true })
    expect(await detail(client().ping())).toMatch(/^GET vmm\.ping: .*ENOENT/)
  })

  it.each([
    ['no JSON', 'hello'],
    ['JSON without what is needed', '{"pid":7}'],
    ['more than is read', `{"version":"${'x'.repeat(1024 * 1024)}"}`],
  ])('is what %s counts as', async (_what, body) => {
    answer = reply('200 OK', body)
    expect(await detail(client().ping())).toMatch(/^GET vmm\.ping: an answer /)
  })

  it('is given up when the caller gives up, with the reason of the caller', async () => {
    answer = () => {}
    const why = new Error('enough')
    await expect(client().ping(AbortSignal.abort(why))).rejects.toBe(why)
    const leaving = new AbortController()
    const asked = client().ping(leaving.signal)
    leaving.abort(why)
    await expect(asked).rejects.toBe(why)
  })
})

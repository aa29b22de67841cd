import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ImageCache } from '../../src/agent/images/image-cache.ts'
import { AppendFile } from '../../src/agent/os/files.ts'
import { MiB } from '../../src/ipc/units.ts'

const IMAGE = randomBytes(6 * MiB)
const SHA = createHash('sha256').update(IMAGE).digest('hex')
/** What the slow disk takes for each write, ms: longer than loopback needs to bring the next bytes. */
const WRITE_MS = 2

let dir: string
let server: net.Server
let cache: ImageCache
let head: string
let body: Buffer
const uncaught: Error[] = []
const note = (error: Error) => void uncaught.push(error)

beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'eitri-close-')), 'images')
  body = IMAGE
  server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(`${head}\r\n\r\n`)
      socket.end(body)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cache = await ImageCache.open(dir)
  const { append } = AppendFile.prototype
  vi.spyOn(AppendFile.prototype, 'append').mockImplementation(async function (this: AppendFile, ...args) {
    await delay(WRITE_MS)
    await append.apply(this, args)
  })
  uncaught.length = 0
  process.on('uncaughtException', note)
})
afterEach(async () => {
  process.off('uncaughtException', note)
  vi.restoreAllMocks()
  await cache.close()
  await new Promise((resolve) => server.close(resolve))
  await rm(join(dir, '..'), { recursive: true, force: true })
})

const get = () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/web.img`
  return cache.fetch(url, SHA, () => {}, AbortSignal.timeout(10_000))
}

describe('a server that ends an image by closing the connection, faster than the disk writes', () => {
  it.each([
    ['in HTTP/1.0', 'HTTP/1.0 200 OK'],
    ['in HTTP/1.0 with a length', `HTTP/1.0 200 OK\r\nContent-Length: ${IMAGE.length}`],
    ['in HTTP/1.1', 'HTTP/1.1 200 OK\r\nConnection: close'],
    ['in HTTP/1.1 with a length', `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${IMAGE.length}`],
  ])('%s, brings all of it', async (_how, answer) => {
    head = answer
    await get()
    expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
    expect(uncaught).toEqual([])
  })

  it.each(['HTTP/1.0 200 OK', 'HTTP/1.1 200 OK\r\nConnection: close'])(
    'too early, keeps what came when a length says so: %j',
    async (answer) => {
      head = `${answer}\r\nContent-Length: ${IMAGE.length}`
      body = IMAGE.subarray(0, 2 * MiB)
      await expect(get()).rejects.toMatchObject({
        code: 'image/unreachable',
        disposition: 'transient',
        params: { detail: 'the connection ended early' },
      })
      expect(cache.stat(SHA).haveBytes).toBeGreaterThan(MiB)
      expect(uncaught).toEqual([])
    },
  )
})

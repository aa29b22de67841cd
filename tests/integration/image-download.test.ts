import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ROOM_EVERY_BYTES, STALL_MS } from '../../src/agent/images/download.ts'
import { ImageCache, type ImageCacheOptions } from '../../src/agent/images/image-cache.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { GiB, MiB } from '../../src/ipc/units.ts'
import { ImageServer, type Misbehaviour, redirectTo, sendPage, stopAfter } from '../support/image-server.ts'
import { SteppedClock } from '../support/stepped-clock.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const IMAGE = randomBytes(3 * MiB)
const OTHER = randomBytes(3 * MiB)
const SHA = sha256(IMAGE)
const LONG_AGO = 'Sat, 03 Jan 2026 10:00:00 GMT'
const FULL = { free: 100 * GiB, total: 100 * GiB, freeFiles: Number.POSITIVE_INFINITY }

let dir: string
let server: ImageServer
let cache: ImageCache
let clock: SteppedClock

const part = () => join(dir, `${SHA}.part`)
const live = () => AbortSignal.timeout(30_000)
const open = async (options: Partial<ImageCacheOptions> = {}) => {
  cache = await ImageCache.open(dir, { clock, ...options })
}
const get = (progress: (done: number, total: number | undefined) => void = () => {}, signal = live()) =>
  cache.fetch(server.url, SHA, progress, signal)
const image = () => readFile(join(dir, SHA))
/** Leaves a part of the image behind, as a broken download does. */
async function leavePart(bytes = MiB): Promise<void> {
  server.next(stopAfter(server, bytes))
  const broken = get((done) => {
    if (done === bytes) server.break()
  })
  await expect(broken).rejects.toMatchObject({ code: 'image/unreachable', disposition: 'transient' })
  expect(cache.stat(SHA).haveBytes).toBe(bytes)
}
const unreachable = (disposition: string, detail: string | RegExp) => ({
  code: 'image/unreachable',
  disposition,
  params: { image: `${server.origin}/web.img`, detail: expect.stringMatching(detail) },
})

beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'eitri-download-')), 'images')
  server = await ImageServer.start(IMAGE)
  clock = new SteppedClock()
  await open()
})
afterEach(async () => {
  await cache.close()
  await server[Symbol.asyncDispose]()
  await rm(join(dir, '..'), { recursive: true, force: true })
})

describe('a download that broke', () => {
  it('goes on where it stopped while the server has the same version, after a restart of the agent too', async () => {
    server.etag = '"v1"'
    await leavePart()
    await open()
    await get()
    expect(server.asked[1]).toMatchObject({ range: `bytes=${MiB}-`, ifRange: '"v1"' })
    expect(await image()).toEqual(IMAGE)
    expect(await readdir(dir)).toEqual([SHA])
  })

  it('starts over when the server has another version now', async () => {
    server.etag = '"v1"'
    server.body = OTHER
    await leavePart()
    server.etag = '"v2"'
    server.body = IMAGE
    await get()
    expect(server.asked.map(({ ifRange }) => ifRange)).toEqual([undefined, '"v1"'])
    expect(await image()).toEqual(IMAGE)
  })

  it('starts over when a server that does not look at conditions sends the rest of another version', async () => {
    server.etag = '"v1"'
    server.body = OTHER
    await leavePart()
    server.etag = '"v2"'
    server.body = IMAGE
    server.next((_request, response) => {
      response.writeHead(206, {
        'content-range': `bytes ${MiB}-${IMAGE.length - 1}/${IMAGE.length}`,
        etag: '"v2"',
      })
      response.end(IMAGE.subarray(MiB))
    })
    await get()
    expect(server.asked.map(({ range }) => range)).toEqual([undefined, `bytes=${MiB}-`, undefined])
    expect(await image()).toEqual(IMAGE)
  })

  it('never relies on a weak entity tag', async () => {
    server.etag = 'W/"v1"'
    await leavePart()
    await get()
    expect(server.asked[1]).toMatchObject({ range: `bytes=${MiB}-`, ifRange: undefined })
    expect(await image()).toEqual(IMAGE)
  })

  it('relies on a date where there is no tag, unless the file changed within the last minute', async () => {
    server.lastModified = LONG_AGO
    await leavePart()
    await get()
    expect(server.asked[1]?.ifRange).toBe(LONG_AGO)
    await rm(join(dir, SHA))
    await open()
    server.lastModified = new Date(Date.now() - 5_000).toUTCString()
    await leavePart()
    await get()
    expect(server.asked[3]).toMatchObject({ range: `bytes=${MiB}-`, ifRange: undefined })
  })

  it('says nothing of one server’s version to another server', async () => {
    server.etag = '"v1"'
    await leavePart()
    await cache.fetch(`${server.origin}/mirror.img`, SHA, () => {}, live())
    expect(server.asked[1]).toMatchObject({ path: '/mirror.img', range: `bytes=${MiB}-`, ifRange: undefined })
    expect(await image()).toEqual(IMAGE)
  })

  it('starts over where the server knows no ranges', async () => {
    await leavePart()
    server.ranges = false
    await get()
    expect(await image()).toEqual(IMAGE)
  })

  it('is done when nothing was missing but the name', async () => {
    await writeFile(part(), IMAGE)
    await open()
    await get()
    expect(server.asked).toHaveLength(1)
    expect(await image()).toEqual(IMAGE)
  })

  it('starts over, once, when it holds more than the server has', async () => {
    await writeFile(part(), Buffer.concat([OTHER, OTHER]))
    await open()
    await get()
    expect(server.asked.map(({ range }) => range)).toEqual([`bytes=${2 * OTHER.length}-`, undefined])
    expect(await image()).toEqual(IMAGE)
  })

  it('starts over when the server begins elsewhere than asked', async () => {
    await leavePart()
    server.next((_request, response) => {
      response.writeHead(206, { 'content-range': `bytes 0-${IMAGE.length - 1}/${IMAGE.length}` }).end(IMAGE)
    })
    await get()
    expect(await image()).toEqual(IMAGE)
  })

  it('keeps what came when the rest ends early', async () => {
    await leavePart()
    server.next((_request, response) => {
      const range = `bytes ${MiB}-${IMAGE.length - 1}/${IMAGE.length}`
      response.writeHead(206, { 'content-range': range }).end(IMAGE.subarray(MiB, 2 * MiB))
    })
    await expect(get()).rejects.toMatchObject(unreachable('transient', 'ended early'))
    expect((await stat(part())).size).toBe(2 * MiB)
    await get()
    expect(await image()).toEqual(IMAGE)
  })
})

describe('a server', () => {
  it('that stops sending is given up after a minute, and what came is kept', async () => {
    server.next(stopAfter(server, MiB))
    const some = Promise.withResolvers<void>()
    const failed = get((done) => {
      if (done === MiB) some.resolve()
    })
    await some.promise
    clock.advance(STALL_MS)
    await clock.asleep(1)
    clock.advance(STALL_MS)
    await expect(failed).rejects.toMatchObject(unreachable('transient', 'nothing came for 60 s'))
    expect(cache.stat(SHA).haveBytes).toBe(MiB)
  })

  it('that never answers is given up too', async () => {
    const asked = Promise.withResolvers<void>()
    server.next(() => asked.resolve())
    const failed = get()
    await asked.promise
    clock.advance(STALL_MS)
    await expect(failed).rejects.toMatchObject(unreachable('transient', 'nothing came'))
  })

  it.each([
    ['closes early', breakLength(IMAGE.length), 'transient'],
    ['declares more than it sends', breakLength(IMAGE.length + 1), 'transient'],
    ['answers with nothing', ((_q, r) => r.destroy()) as Misbehaviour, 'transient'],
    ['speaks no HTTP', ((q) => q.socket.end('SSH-2.0-OpenSSH_9.2\r\n')) as Misbehaviour, 'transient'],
    ['answers 404', status(404), 'permanent'],
    ['answers 403', status(403), 'permanent'],
    ['answers 500', status(500), 'transient'],
    ['answers 503', status(503), 'transient'],
    ['answers 408', status(408), 'transient'],
    ['answers 204', status(204), 'transient'],
    ['sends it compressed on its own account', encoded('gzip'), 'permanent'],
  ])('that %s leaves no image, and the fault names it without its query', async (_what, misbehaviour, disposition) => {
    server.always = misbehaviour
    const failed = get()
    await expect(failed).rejects.toMatchObject(unreachable(disposition, /./))
    await expect(failed).rejects.not.toThrow('secret')
    expect(cache.stat(SHA).complete).toBe(false)
  })

  it('that is too busy is asked again when it said', async () => {
    server.next((_request, response) => response.writeHead(429, { 'retry-after': '30' }).end())
    await expect(get()).rejects.toMatchObject({ disposition: 'transient', retryAfterMs: 30_000 })
  })

  it('that ends too early without having declared a length is found out by the digest and asked once more', async () => {
    server.next((_request, response) => response.writeHead(200).end(IMAGE.subarray(0, MiB)))
    await get()
    expect(server.asked).toHaveLength(2)
    expect(await image()).toEqual(IMAGE)
  })

  it('that has other bytes is asked once more from the start, then both digests are named and nothing is kept', async () => {
    server.body = OTHER
    server.etag = '"v1"'
    await leavePart()
    await expect(get()).rejects.toMatchObject({
      code: 'image/digest-mismatch',
      disposition: 'permanent',
      params: { expected: SHA, found: sha256(OTHER) },
    })
    expect(server.asked.map(({ range }) => range)).toEqual([undefined, `bytes=${MiB}-`, undefined])
    expect(await readdir(dir)).toEqual([])
    expect(cache.stat(SHA)).toEqual({ haveBytes: 0, complete: false })
  })

  it('that swaps the file midway, without tag or date, is found out by the digest and asked from the start', async () => {
    server.body = OTHER
    await leavePart()
    server.body = IMAGE
    await get()
    expect(server.asked.map(({ range }) => range)).toEqual([undefined, `bytes=${MiB}-`, undefined])
    expect(await image()).toEqual(IMAGE)
  })

  it('that sends a web page is named so, and what is held of the image stays', async () => {
    server.next(sendPage)
    await expect(get()).rejects.toMatchObject(unreachable('transient', 'the server sent a web page'))
    await leavePart()
    server.next(sendPage)
    await expect(get()).rejects.toMatchObject(unreachable('transient', 'the server sent a web page'))
    expect((await stat(part())).size).toBe(MiB)
    await get()
    expect(await image()).toEqual(IMAGE)
  })

  it('that wants a login gets the one in the URL, which no fault shows', async () => {
    const url = server.url.replace('//', '//me:pass%20word@')
    await cache.fetch(url, SHA, () => {}, live())
    expect(server.asked[0]?.authorization).toBe(`Basic ${Buffer.from('me:pass word').toString('base64')}`)
    server.always = status(401)
    const failed = cache.fetch(url, sha256(OTHER), () => {}, live())
    await expect(failed).rejects.toMatchObject({ disposition: 'permanent' })
    await expect(failed).rejects.not.toThrow('pass')
  })
})

describe('a redirect', () => {
  it('is followed, with the range and its condition', async () => {
    server.etag = '"v1"'
    await leavePart()
    server.next(redirectTo('/elsewhere.img', 307), redirectTo(`${server.origin}/there.img`, 301))
    await get()
    expect(server.asked.slice(1)).toMatchObject(
      ['/web.img?token=secret', '/elsewhere.img', '/there.img'].map((path) => ({
        path,
        range: `bytes=${MiB}-`,
        ifRange: '"v1"',
      })),
    )
    expect(await image()).toEqual(IMAGE)
  })

  it.each(['file:///etc/shadow', 'ftp://127.0.0.1/web.img', 'data:text/plain,hello', 'javascript:alert(1)'])(
    'to %s is refused for good',
    async (location) => {
      server.next(redirectTo(location))
      await expect(get()).rejects.toMatchObject(unreachable('permanent', /redirects to \w+:, which is not fetched/))
    },
  )

  it('from https to http is refused for good', async () => {
    const headers = { location: server.url }
    const moved = async () => ({ status: 302, statusText: 'Found', headers, body: Readable.from([]) })
    await open({ request: moved })
    const failed = cache.fetch('https://images.test/web.img', SHA, () => {}, live())
    await expect(failed).rejects.toMatchObject({
      disposition: 'permanent',
      params: { detail: 'the server redirects from https to http' },
    })
    expect(server.asked).toEqual([])
  })

  it('is followed five times and no more', async () => {
    server.always = redirectTo('/again.img')
    await expect(get()).rejects.toMatchObject(unreachable('permanent', 'more than 5 times'))
    expect(server.asked).toHaveLength(6)
  })

  it('to nowhere may be mended', async () => {
    server.next(redirectTo(undefined))
    await expect(get()).rejects.toMatchObject(unreachable('transient', 'to nowhere'))
  })

  it.each(['file:///etc/shadow', 'web.img', 'ftp://x/y'])('is not needed to refuse %s itself', async (url) => {
    await expect(cache.fetch(url, SHA, () => {}, live())).rejects.toMatchObject({ code: 'input/invalid' })
  })
})

describe('room on the disk', () => {
  it('is asked for before the first byte, with the numbers in the refusal', async () => {
    await open({ look: async () => ({ ...FULL, free: 257 * MiB }) })
    await expect(get()).rejects.toMatchObject({
      code: 'host/disk-full',
      disposition: 'transient',
      params: { where: dir, free: '257 MiB', needed: '3 MiB', reserve: '256 MiB' },
    })
    expect(cache.stat(SHA).haveBytes).toBe(0)
  })

  it('is all a server that never ends and declares nothing can take', async () => {
    const chunk = Buffer.alloc(MiB)
    server.always = (_request, response) => {
      response.writeHead(200)
      const more = () => {
        while (response.writable && response.write(chunk));
      }
      response.on('drain', more)
      more()
    }
    const had = 512 * MiB
    const written = async () => (await stat(part()).catch(() => ({ size: 0 }))).size
    await open({ look: async () => ({ ...FULL, free: had - (await written()) }) })
    await expect(get()).rejects.toMatchObject({ code: 'host/disk-full', params: { reserve: '256 MiB' } })
    expect(had - (await written())).toBeGreaterThanOrEqual(256 * MiB)
    expect(await written()).toBeGreaterThanOrEqual(ROOM_EVERY_BYTES)
  })

  it('is not taken at all by what claims to be larger than any image', async () => {
    server.next((_request, response) => response.writeHead(200, { 'content-length': 2 ** 52 }).write('x'))
    await expect(get()).rejects.toMatchObject(unreachable('permanent', 'bytes long'))
  })
})

describe('who waits for a download', () => {
  const timeout = new Fault('app/timeout', 'transient', { timeout: '15 min' })

  it('may run out of time: it goes on, and who asks next joins it and sees its bytes at once', async () => {
    const rest = Promise.withResolvers<ServerResponse>()
    server.next((_request, response) => {
      response.writeHead(200, { 'content-length': IMAGE.length })
      response.write(IMAGE.subarray(0, MiB))
      rest.resolve(response)
    })
    const some = Promise.withResolvers<void>()
    const pass = new AbortController()
    const first = get((done) => {
      if (done === MiB) some.resolve()
    }, pass.signal)
    await some.promise
    pass.abort(timeout)
    await expect(first).rejects.toBe(timeout)
    clock.advance(30_000)
    const seen: (number | undefined)[][] = []
    const second = get((...progress) => seen.push(progress))
    expect(seen).toEqual([[MiB, IMAGE.length]])
    ;(await rest.promise).end(IMAGE.subarray(MiB))
    await second
    expect(server.asked).toHaveLength(1)
  })

  it('and does not come back in a minute leaves its bytes for later', async () => {
    const closed = Promise.withResolvers<void>()
    server.next(stopAfter(server, MiB, closed.resolve))
    const some = Promise.withResolvers<void>()
    const pass = new AbortController()
    const first = get((done) => {
      if (done === MiB) some.resolve()
    }, pass.signal)
    await some.promise
    pass.abort(timeout)
    await expect(first).rejects.toBe(timeout)
    await clock.asleep(2)
    clock.advance(60_000)
    await closed.promise
    await get()
    expect(server.asked.map(({ range }) => range)).toEqual([undefined, `bytes=${MiB}-`])
  })

  it('from another URL tries its own when the shared download fails', async () => {
    server.next(status(404))
    const first = cache.fetch(`${server.origin}/gone.img`, SHA, () => {}, live())
    const second = get()
    await expect(first).rejects.toMatchObject({ disposition: 'permanent' })
    await second
    expect(server.asked.map(({ path }) => path)).toEqual(['/gone.img', '/web.img?token=secret'])
  })
})

function breakLength(declared: number): Misbehaviour {
  return (_request, response) => {
    response.writeHead(200, { 'content-length': declared })
    response.write(IMAGE.subarray(0, MiB), () => response.destroy())
  }
}
function status(code: number): Misbehaviour {
  return (_request, response) => response.writeHead(code).end()
}
function encoded(encoding: string): Misbehaviour {
  return (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end('x')
}

import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HttpRequest } from '../../../../src/agent/images/http-request.ts'
import { ImageCache } from '../../../../src/agent/images/image-cache.ts'
import { GiB, MiB } from '../../../../src/ipc/units.ts'

const IMAGE = randomBytes(3 * MiB)
const SHA = createHash('sha256').update(IMAGE).digest('hex')
const URL = 'https://images.test/web.img?token=secret'
const live = () => AbortSignal.timeout(20_000)

/** A web server in one function; `gate` holds the second half of the body. */
class Web {
  readonly requests: { url: string; range: string | undefined }[] = []
  body = IMAGE
  ranges = true
  length = true
  status = 200
  gate: Promise<void> | undefined
  cutAt: number | undefined

  request: HttpRequest = async (url, { range }, signal) => {
    this.requests.push({ url: url.href, range })
    if (this.status !== 200)
      return { status: this.status, statusText: 'Nope', headers: {}, body: Readable.from(['no']) }
    const from = this.ranges && range ? Number(/bytes=(\d+)-/.exec(range)?.[1]) : 0
    const rest = this.body.subarray(from)
    const { gate, cutAt } = this
    const body = Readable.from(
      (async function* () {
        yield rest.subarray(0, cutAt ?? rest.length / 2)
        if (cutAt !== undefined) throw new Error('connection reset')
        await gate
        yield rest.subarray(rest.length / 2)
      })(),
    )
    signal.addEventListener('abort', () => body.destroy(signal.reason))
    body.on('error', () => {})
    const headers: IncomingHttpHeaders = this.length ? { 'content-length': String(rest.length) } : {}
    if (from > 0) headers['content-range'] = `bytes ${from}-${this.body.length - 1}/${this.body.length}`
    return { status: from > 0 ? 206 : 200, statusText: '', headers, body }
  }
}

describe('the image cache', () => {
  let dir: string
  let web: Web
  let cache: ImageCache
  let free: number

  const open = () =>
    ImageCache.open(dir, { request: web.request, look: async () => ({ free, total: free, freeFiles: 1000 }) })
  const push = async (bytes: Buffer, offset = 0, sha = SHA, size = bytes.length + offset) => {
    const put = await cache.openPut(sha, size, offset)
    for (let at = 0; at < bytes.length; at += MiB) await put.write(bytes.subarray(at, at + MiB))
    return await put.finish()
  }

  beforeEach(async () => {
    dir = join(await mkdtemp(join(tmpdir(), 'eitri-images-')), 'images')
    web = new Web()
    free = 100 * GiB
    cache = await open()
  })
  afterEach(() => rm(join(dir, '..'), { recursive: true, force: true }))

  const ODD: [string, (path: string) => Promise<unknown>][] = [
    ['a named pipe', async (path) => execFileSync('mkfifo', [path])],
    ['a link to itself', (path) => symlink(path, path)],
    ['a link to another file', (path) => symlink('/etc/passwd', path)],
  ]

  describe.each(ODD)('%s in its directory', (_, make) => {
    it('is left out and named; the others are there', async () => {
      await push(IMAGE)
      const other = join(dir, 'b'.repeat(64))
      await make(other)
      await make(`${other}.part`)
      const again = await open()
      expect(again.list()).toEqual([{ sha256: SHA, sizeBytes: IMAGE.length }])
      expect(again.notices()).toEqual([expect.stringContaining(other), expect.stringContaining(other)])
    })

    it('in place of a half image does not keep the image from coming', async () => {
      await make(join(dir, `${SHA}.part`))
      cache = await open()
      await cache.fetch(URL, SHA, () => {}, live())
      expect(cache.stat(SHA).complete).toBe(true)
    })

    it('in place of a whole image is not booted; it comes anew', async () => {
      await push(IMAGE)
      await rm(join(dir, SHA))
      await make(join(dir, SHA))
      await expect(cache.bootImage(SHA, 'disk')).rejects.toMatchObject({ code: 'image/not-found' })
      expect(cache.list()).toEqual([])
      await cache.fetch(URL, SHA, () => {}, live())
      expect(await cache.bootImage(SHA, 'disk')).toMatchObject({ virtualBytes: IMAGE.length })
    })
  })

  it.each<[string, (path: string) => Promise<unknown>]>([
    ['cut short', (path) => truncate(path, 600)],
    ['a directory', (path) => rm(path).then(() => mkdir(path))],
  ])('does not boot an image that is %s since it came, and takes it anew', async (_, spoil) => {
    await push(IMAGE)
    await spoil(join(dir, SHA))
    await expect(cache.bootImage(SHA, 'disk')).rejects.toMatchObject({ code: 'image/not-found' })
    expect([cache.list(), await readdir(dir)]).toEqual([[], []])
    await cache.fetch(URL, SHA, () => {}, live())
    expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
  })

  describe('downloads', () => {
    it('keeps no empty file of a transfer that brought nothing, nor one that an agent left behind', async () => {
      web.status = 503
      await expect(cache.fetch(URL, SHA, () => {}, live())).rejects.toMatchObject({ code: 'image/unreachable' })
      expect([await readdir(dir), await cache.contents()]).toEqual([[], []])
      const put = await cache.openPut(SHA, IMAGE.length, 0)
      await put.abort()
      expect([await readdir(dir), await cache.contents()]).toEqual([[], []])
      await writeFile(join(dir, `${SHA}.part`), '')
      await writeFile(join(dir, `${SHA}.part.json`), '{}')
      cache = await open()
      expect([await readdir(dir), await cache.contents()]).toEqual([[], []])
    })

    it('what is whole is checked, kept by its digest and not fetched again', async () => {
      const seen: [number, number | undefined][] = []
      await cache.fetch(URL, SHA, (done, total) => seen.push([done, total]), live())
      expect(seen.at(-1)).toEqual([IMAGE.length, IMAGE.length])
      expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
      cache = await open()
      await cache.fetch(URL, SHA, () => {}, live())
      expect(web.requests).toHaveLength(1)
      expect(cache.list()).toEqual([{ sha256: SHA, sizeBytes: IMAGE.length }])
    })

    it('a server that declares no length gives no total', async () => {
      web.length = false
      const totals = new Set<number | undefined>()
      await cache.fetch(URL, SHA, (_done, total) => totals.add(total), live())
      expect([...totals]).toEqual([undefined])
    })

    it('callers of one digest share one download', async () => {
      const gate = Promise.withResolvers<void>()
      web.gate = gate.promise
      const both = [1, 2].map(() => cache.fetch(URL, SHA, () => {}, live()))
      gate.resolve()
      await Promise.all(both)
      expect(web.requests).toHaveLength(1)
    })

    it('one caller giving up leaves the download to the others; the last one ends it, its bytes kept', async () => {
      const gate = Promise.withResolvers<void>()
      web.gate = gate.promise
      const some = Promise.withResolvers<void>()
      const [one, two] = [new AbortController(), new AbortController()]
      const first = cache.fetch(URL, SHA, () => some.resolve(), one.signal)
      const second = cache.fetch(URL, SHA, () => {}, two.signal)
      await some.promise
      one.abort(new Error('deadline'))
      await expect(first).rejects.toThrow('deadline')
      two.abort(new Error('deleted'))
      await expect(second).rejects.toThrow('deleted')
      gate.resolve()
      web.gate = undefined
      await cache.fetch(URL, SHA, () => {}, live())
      expect(web.requests[1]?.range).toMatch(/^bytes=\d+-$/)
    })

    it('a broken connection keeps what came, and the next try asks only for the rest', async () => {
      web.cutAt = MiB
      await expect(cache.fetch(URL, SHA, () => {}, live())).rejects.toMatchObject({
        code: 'image/unreachable',
        disposition: 'transient',
      })
      web.cutAt = undefined
      cache = await open()
      const kept = cache.stat(SHA).haveBytes
      await cache.fetch(URL, SHA, () => {}, live())
      expect(web.requests[1]?.range).toBe(kept === 0 ? undefined : `bytes=${kept}-`)
      expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
    })
  })

  describe('pushes', () => {
    it('are checked before they count, and tell who waits', async () => {
      const came: string[] = []
      cache.onComplete((sha256) => came.push(sha256))
      expect(await push(IMAGE)).toBe(IMAGE.length)
      expect(came).toEqual([SHA])
      expect(cache.stat(SHA)).toEqual({ haveBytes: IMAGE.length, complete: true })
    })

    it('are resumed at their offset, after an agent restart too', async () => {
      const put = await cache.openPut(SHA, IMAGE.length, 0)
      await put.write(IMAGE.subarray(0, MiB))
      await put.abort()
      cache = await open()
      expect(cache.stat(SHA)).toEqual({ haveBytes: MiB, complete: false })
      expect(await push(IMAGE.subarray(MiB), MiB, SHA, IMAGE.length)).toBe(IMAGE.length)
      expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
    })

    it('at a wrong offset, of too many bytes or to a name that is no digest are refused', async () => {
      await expect(cache.openPut(SHA, IMAGE.length, 5)).rejects.toThrow('0 bytes are held')
      await expect(cache.openPut('../x', 1, 0)).rejects.toThrow('not a SHA-256')
      const put = await cache.openPut(SHA, 10, 0)
      await expect(put.write(IMAGE.subarray(0, 11))).rejects.toThrow('more bytes than announced')
      await put.abort()
    })

    it('with a wrong digest leave nothing', async () => {
      await expect(push(IMAGE, 0, 'e'.repeat(64))).rejects.toMatchObject({ code: 'image/digest-mismatch' })
      expect(await readdir(dir)).toEqual([])
    })

    it('a newer push of the same image ends the older', async () => {
      const older = await cache.openPut(SHA, IMAGE.length, 0)
      await older.write(IMAGE.subarray(0, MiB))
      const newer = await cache.openPut(SHA, IMAGE.length, MiB)
      await expect(older.write(IMAGE.subarray(MiB, 2 * MiB))).rejects.toThrow('another transfer of it took over')
      await newer.abort()
    })

    it('opened at the same moment do not share the file: the second takes over after the first', async () => {
      const [older, newer] = await Promise.all([1, 2].map(() => cache.openPut(SHA, IMAGE.length, 0)))
      await expect(older!.write(IMAGE.subarray(0, MiB))).rejects.toThrow('another transfer of it took over')
      for (let at = 0; at < IMAGE.length; at += MiB) await newer!.write(IMAGE.subarray(at, at + MiB))
      expect(await newer!.finish()).toBe(IMAGE.length)
      expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
    })

    it('a download that starts while a push is being opened has the file alone', async () => {
      const opening = cache.openPut(SHA, IMAGE.length, 0)
      const fetched = cache.fetch(URL, SHA, () => {}, live())
      await expect((await opening).write(IMAGE.subarray(0, MiB))).rejects.toThrow('another transfer of it took over')
      await fetched
      expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
    })

    it('a newer one waits until the last write of the older has ended, and goes on after it', async () => {
      const older = await cache.openPut(SHA, IMAGE.length, 0)
      const written = older.write(IMAGE.subarray(0, MiB))
      void older.abort()
      const newer = cache.openPut(SHA, IMAGE.length, MiB)
      await written
      await (await newer).abort()
      expect(cache.stat(SHA).haveBytes).toBe(MiB)
    })

    it('a newer one waits until the older has been checked', async () => {
      const older = await cache.openPut(SHA, MiB, 0)
      await older.write(IMAGE.subarray(0, MiB))
      const finished = older.finish()
      const newer = cache.openPut(SHA, MiB, MiB)
      await expect(finished).rejects.toMatchObject({ code: 'image/digest-mismatch' })
      await expect(newer).rejects.toThrow('0 bytes are held')
      expect(await readdir(dir)).toEqual([])
    })

    it('of an image smaller than what is held throw the rest away, and the next one starts at 0', async () => {
      await writeFile(join(dir, `${SHA}.part`), Buffer.alloc(IMAGE.length + 1))
      cache = await open()
      await expect(cache.openPut(SHA, IMAGE.length, IMAGE.length + 1)).rejects.toThrow('0 bytes are held')
      expect(cache.stat(SHA)).toEqual({ haveBytes: 0, complete: false })
      expect(await push(IMAGE)).toBe(IMAGE.length)
    })

    it('that do not fit are refused before the first byte', async () => {
      free = 0
      await expect(cache.openPut(SHA, IMAGE.length, 0)).rejects.toMatchObject({ code: 'host/disk-full' })
    })

    it('of what is whole are done at once', async () => {
      await push(IMAGE)
      const put = await cache.openPut(SHA, IMAGE.length, IMAGE.length)
      expect(await put.finish()).toBe(IMAGE.length)
    })
  })

  it('gives what a VM boots from, and refuses what is not there or of no known kind', async () => {
    await push(IMAGE)
    expect(await cache.bootImage(SHA, '')).toEqual({
      kind: 'disk',
      file: join(dir, SHA),
      format: 'raw',
      virtualBytes: IMAGE.length,
    })
    await expect(cache.bootImage('0'.repeat(64), '')).rejects.toMatchObject({ code: 'image/not-found' })
    await expect(cache.bootImage(SHA, 'floppy')).rejects.toMatchObject({ code: 'image/format' })
    await expect(cache.bootImage(SHA, 'kernel')).rejects.toMatchObject({
      code: 'image/format',
      params: { image: `Image ${SHA.slice(0, 12)}` },
    })
  })

  it('gives no disk of another format than was declared', async () => {
    await push(IMAGE)
    expect(await cache.bootImage(SHA, 'disk', 'raw')).toMatchObject({ format: 'raw' })
    await expect(cache.bootImage(SHA, 'disk', 'qcow2')).rejects.toMatchObject({
      code: 'image/format',
      disposition: 'permanent',
      params: { detail: 'it is raw, not qcow2 as declared' },
    })
  })

  it('an image deleted behind its back is fetched again, not failed for good', async () => {
    await push(IMAGE)
    await rm(join(dir, SHA))
    await expect(cache.bootImage(SHA, '')).rejects.toMatchObject({ code: 'image/not-found', disposition: 'transient' })
    await cache.fetch(URL, SHA, () => {}, live())
    expect(await readFile(join(dir, SHA))).toEqual(IMAGE)
  })

  it('torn leftovers are removed at start-up, whole images and parts kept', async () => {
    for (const name of [`${SHA}.kernel.abc.tmp`, SHA, `${'2'.repeat(64)}.part`]) await writeFile(join(dir, name), 'x')
    cache = await open()
    expect((await readdir(dir)).sort()).toEqual([`${'2'.repeat(64)}.part`, SHA].sort())
  })
})

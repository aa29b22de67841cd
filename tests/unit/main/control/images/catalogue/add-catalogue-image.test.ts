import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../../src/ipc/base/log.ts'
import { addCatalogueImage } from '../../../../../../src/main/control/images/catalogue/add-catalogue-image.ts'
import { type CatalogueEntry, readCatalogue } from '../../../../../../src/main/control/images/catalogue/catalogue.ts'
import { httpsRequest } from '../../../../../../src/main/control/images/catalogue/https-get.ts'
import { ImageFiles } from '../../../../../../src/main/control/images/image-files.ts'
import { TaskRunner } from '../../../../../../src/main/control/tasks/task-runner.ts'
import { type Page, Publisher } from '../../../../../support/publisher.ts'
import { ManualClock } from '../../a-clock.ts'
import { aStore, aTempDir } from '../../a-store.ts'

const bytes = Buffer.alloc(4096, 7)
const sha = (algorithm: string, of: Buffer = bytes) => createHash(algorithm).update(of).digest('hex')

let publisher: Publisher
beforeAll(async () => {
  const { mkdtempSync } = await import('node:fs')
  const { tmpdir } = await import('node:os')
  publisher = await Publisher.start(mkdtempSync(join(tmpdir(), 'eitri-publisher-')))
})
afterAll(() => publisher[Symbol.asyncDispose]())

beforeEach(() => {
  for (const path of Object.keys(publisher.pages)) delete publisher.pages[path]
  publisher.asked.length = 0
})

const entry = (change: Partial<CatalogueEntry> = {}): CatalogueEntry => ({
  ...{
    id: 'some-1-amd64',
    title: 'Some 1',
    os: 'Some 1',
    arch: 'x86_64',
    algorithm: 'sha256',
    description: 'It boots.',
  },
  ...{ url: `${publisher.origin}/release/some.img`, digestsUrl: `${publisher.origin}/release/SHA256SUMS` },
  ...{ aboutBytes: 1, defaultVcpus: 1, defaultMemMb: 512, defaultDiskGb: 10 },
  ...change,
})
const withBuild = () =>
  entry({
    build: { url: `${publisher.origin}/release/build-info.txt`, folder: `${publisher.origin}/release-{serial}/` },
  })
const longOnly = () => entry({ algorithm: 'sha512', digestsUrl: `${publisher.origin}/release/SHA512SUMS` })

async function adding(
  what: CatalogueEntry,
  ca: string | undefined = publisher.ca,
  begun: (cancel: () => void) => void = () => {},
) {
  const { images, tasks: store } = aStore()
  const dir = join(aTempDir(), 'images')
  const files = new ImageFiles(dir)
  await files.prepare(new Set(), Date.now())
  const tasks = new TaskRunner(store, new ManualClock(), silentLog)
  const deps = { images, files, request: httpsRequest(ca) }
  const run = { entry: what, name: what.id, makeDefault: false }
  const id = tasks.start('default', 'add_image', what.id, (task) => addCatalogueImage(deps, run, task))
  begun(() => tasks.cancel('default', id))
  const fault = await tasks.ended(id)
  return {
    fault,
    task: tasks.get('default', id),
    image: images.findByName(what.id),
    dir,
    left: readdirSync(files.workDir),
  }
}

describe('an image of the catalogue', () => {
  it('is fetched by hosts where the publisher lists SHA-256, from the folder that keeps this build', async () => {
    publisher.pages['/release/build-info.txt'] = 'orig_prefix=noble\nserial=20260814\nsuite=noble\n'
    publisher.pages['/release-20260814/SHA256SUMS'] = `${sha('sha256')} *some.img\n`
    const { fault, image, task } = await adding(withBuild())
    expect(fault).toBeUndefined()
    expect(image).toMatchObject({ url: `${publisher.origin}/release-20260814/some.img`, sha256: sha('sha256') })
    expect(image?.origin).toMatchObject({ verified: 'listed', catalogue: 'some-1-amd64', os: 'Some 1' })
    expect(image?.isDefault).toBe(true)
    expect(task.steps.map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done'])
    expect(publisher.asked).not.toContain('/release-20260814/some.img')
  })

  it('comes here first where the publisher lists SHA-512 alone, and is kept by the SHA-256 of the same bytes', async () => {
    publisher.pages['/release/SHA512SUMS'] = `${sha('sha512')}  some.img\n`
    publisher.pages['/release/some.img'] = bytes
    const { fault, image, dir, left } = await adding(longOnly())
    expect(fault).toBeUndefined()
    expect(image).toMatchObject({ url: '', sha256: sha('sha256'), sizeBytes: 4096, format: 'raw' })
    expect(image?.origin).toMatchObject({ verified: 'checked', virtualBytes: 4096 })
    expect(existsSync(join(dir, sha('sha256')))).toBe(true)
    expect(left).toEqual([])
  })

  it('is followed to another https host, as Debian sends people to its mirrors', async () => {
    publisher.pages['/release/SHA512SUMS'] = `${sha('sha512')}  some.img\n`
    publisher.pages['/release/some.img'] = (_, response) =>
      response.writeHead(302, { location: '/mirror/some.img' }).end()
    publisher.pages['/mirror/some.img'] = bytes
    expect((await adding(longOnly())).fault).toBeUndefined()
  })

  it('is thrown away when its bytes are others', async () => {
    publisher.pages['/release/SHA512SUMS'] = `${sha('sha512')}  some.img\n`
    publisher.pages['/release/some.img'] = Buffer.alloc(4096, 8)
    const { fault, image, left, dir } = await adding(longOnly())
    expect(fault).toMatchObject({ code: 'image/not-as-published' })
    expect([image, left, readdirSync(dir)]).toEqual([undefined, [], ['work']])
  })

  it('is not added where it ends too early', async () => {
    publisher.pages['/release/SHA512SUMS'] = `${sha('sha512')}  some.img\n`
    publisher.pages['/release/some.img'] = (_, response) => {
      response.writeHead(200, { 'content-length': 4096 })
      response.write(bytes.subarray(0, 100), () => response.destroy())
    }
    expect((await adding(longOnly())).fault).toMatchObject({ code: 'image/publisher-silent', disposition: 'transient' })
  })

  const list = '/release/SHA256SUMS'
  it.each<[string, Page, string, string]>([
    [
      'a redirect to http',
      (_, r) => r.writeHead(302, { location: 'http://127.0.0.1/SHA256SUMS' }).end(),
      'list-unusable',
      'redirects to http:',
    ],
    [
      'a redirect to a file',
      (_, r) => r.writeHead(302, { location: 'file:///etc/shadow' }).end(),
      'list-unusable',
      'redirects to file:',
    ],
    ['redirects in a ring', (_, r) => r.writeHead(302, { location: list }).end(), 'list-unusable', 'more than 5'],
    [
      'a sign-in page',
      (_, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      'list-unusable',
      'sign-in page',
    ],
    ['a page that says it is text', '<html><body>Log in</body></html>', 'list-unusable', 'sign-in page'],
    [
      'a list without end',
      (_, r) => r.writeHead(200).end(Buffer.alloc(300 * 1024, 97)),
      'list-unusable',
      'larger than',
    ],
    ['bytes that are no text', Buffer.from([0xff, 0xfe, 0]), 'list-unusable', 'not text'],
    ['a server that is broken', (_, r) => r.writeHead(503).end(), 'publisher-silent', '503'],
    ['no list', (_, r) => r.writeHead(404).end(), 'list-unusable', '404'],
    ['a cut connection', (_, r) => r.destroy(), 'publisher-silent', ''],
  ])('is not added with %s', async (_, page, code, detail) => {
    publisher.pages[list] = page
    const { fault, image } = await adding(entry())
    expect(fault).toMatchObject({ code: `image/${code}`, params: { detail: expect.stringContaining(detail) } })
    expect(image).toBeUndefined()
  })

  it('is given up at once when its task is cancelled, and leaves nothing', async () => {
    let cancel = () => {}
    publisher.pages['/release/SHA512SUMS'] = `${sha('sha512')}  some.img\n`
    publisher.pages['/release/some.img'] = (_, response) => {
      response.writeHead(200, { 'content-length': 4096 })
      response.write(bytes.subarray(0, 100), () => cancel())
    }
    const { fault, left, image } = await adding(longOnly(), publisher.ca, (end) => {
      cancel = end
    })
    expect([fault?.code, left, image]).toEqual(['app/cancelled', [], undefined])
  })

  it('is not read from a server whose certificate nobody vouches for', async () => {
    publisher.pages[list] = `${sha('sha256')} *some.img\n`
    const { fault } = await adding(entry(), '')
    expect(fault).toMatchObject({
      code: 'image/publisher-silent',
      params: { detail: expect.stringContaining('not trusted') },
    })
    expect(publisher.asked).toEqual([])
  })

  it('is not added where the newest build is not named', async () => {
    publisher.pages['/release/build-info.txt'] = 'serial=../../etc\n'
    expect((await adding(withBuild())).fault).toMatchObject({ code: 'image/list-unusable' })
  })
})

describe('the catalogue', () => {
  it('has Debian and Ubuntu for both architectures, each with the list its publisher really has', () => {
    const entries = readCatalogue()
    for (const [id, algorithm] of [
      ['debian-12', 'SHA512SUMS'],
      ['debian-13', 'SHA512SUMS'],
      ['ubuntu-22-04', 'SHA256SUMS'],
      ['ubuntu-24-04', 'SHA256SUMS'],
    ])
      expect(
        entries.filter((one) => [`${id}-amd64`, `${id}-arm64`].includes(one.id) && one.digestsUrl.endsWith(algorithm!)),
      ).toHaveLength(2)
    expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
    expect(
      entries.filter(({ algorithm, digestsUrl }) => !digestsUrl.endsWith(`${algorithm.toUpperCase()}SUMS`)),
    ).toEqual([])
  })
})

import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { httpsRequest } from '../../../../../src/main/control/images/catalogue/https-get.ts'
import { ImageFiles } from '../../../../../src/main/control/images/image-files.ts'
import { type ImagePushes, pushImage } from '../../../../../src/main/control/images/push-image.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { Publisher } from '../../../../support/publisher.ts'
import { ManualClock } from '../a-clock.ts'
import { anImage, aStore, aTempDir } from '../a-store.ts'

const bytes = Buffer.alloc(2048, 9)
const sha256 = createHash('sha256').update(bytes).digest('hex')
const host = { id: 'h1', name: 'rack' }

let publisher: Publisher
let dir: string
let files: ImageFiles
beforeAll(async () => {
  publisher = await Publisher.start(mkdtempSync(join(tmpdir(), 'eitri-publisher-')))
  publisher.pages['/some.img'] = bytes
})
afterAll(() => publisher[Symbol.asyncDispose]())
beforeEach(async () => {
  dir = join(aTempDir(), 'images')
  files = new ImageFiles(dir)
  await files.prepare(new Set(), Date.now())
})

const isHere = () => existsSync(join(dir, sha256))

async function pushing(url: string, ask: ImagePushes['ask'], passing = new Map<string, number>()) {
  const { images, tasks: store } = aStore()
  const image = images.create(anImage({ name: 'some', url, sha256 }))
  const tasks = new TaskRunner(store, new ManualClock(), silentLog)
  const pushes = { ask, state: () => undefined, onChange: () => () => {} }
  const isKept = () => url === ''
  const deps = { files, pushes, request: httpsRequest(publisher.ca), passing, isKept }
  const id = tasks.start('default', 'push_image', 'some', (task) => pushImage(deps, { image, host }, task))
  const fault = await tasks.ended(id)
  return { fault, steps: tasks.get('default', id).steps.map(({ name, state }) => `${name}: ${state}`) }
}

describe('pushing an image to a host', () => {
  it('of this store is one step, and its file stays', async () => {
    writeFileSync(join(dir, sha256), bytes)
    const { fault, steps } = await pushing('', async () => {})
    expect([fault, steps, isHere()]).toEqual([undefined, ['Send it to the host: done'], true])
  })

  it('that hosts fetch by themselves comes here, is checked, is sent, and goes again', async () => {
    let wasHere = false
    const { fault, steps } = await pushing(`${publisher.origin}/some.img`, async (hostId, digest) => {
      wasHere = isHere()
      expect([hostId, digest]).toEqual(['h1', sha256])
    })
    expect([fault, wasHere, isHere()]).toEqual([undefined, true, false])
    expect(steps).toEqual(['Fetch it to this computer: done', 'Send it to the host: done'])
  })

  it('goes to two hosts from one file, which goes with the last', async () => {
    const passing = new Map<string, number>()
    const first = Promise.withResolvers<void>()
    const one = pushing(`${publisher.origin}/some.img`, () => first.promise, passing)
    const other = await pushing(`${publisher.origin}/some.img`, async () => {}, passing)
    expect([other.fault, isHere()]).toEqual([undefined, true])
    first.resolve()
    await one
    expect([isHere(), passing.size]).toEqual([false, 0])
  })

  it('is not sent when its bytes are others, and leaves nothing', async () => {
    publisher.pages['/other.img'] = Buffer.alloc(2048, 1)
    const { fault } = await pushing(`${publisher.origin}/other.img`, async () => expect.unreachable())
    expect(fault).toMatchObject({ code: 'image/digest-mismatch' })
    expect(isHere()).toBe(false)
  })

  it('that the host refuses ends with its reason', async () => {
    writeFileSync(join(dir, sha256), bytes)
    const full = new Fault('host/disk-full', 'permanent', { host: 'rack' })
    expect((await pushing('', () => Promise.reject(full))).fault).toMatchObject({ code: 'host/disk-full' })
  })
})

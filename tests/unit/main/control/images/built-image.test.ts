import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { imageBuilders } from '../../../../../src/main/control/images/builders.ts'
import { buildImage, type ImageBuilder } from '../../../../../src/main/control/images/built-image.ts'
import { ImageFiles } from '../../../../../src/main/control/images/image-files.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { ManualClock } from '../a-clock.ts'
import { anImage, aStore, aTempDir } from '../a-store.ts'

let dir: string
let files: ImageFiles
let built = { content: 'kernel', sha256: '1'.repeat(64) }
let failing: Fault | undefined

const builder: ImageBuilder = {
  image: imageBuilders({ platform: 'linux', arch: 'x64' }).tiny.image,
  steps: ['Write image'],
  possible: () => ({ possible: true, detail: '' }),
  build: ({ workDir, step }) =>
    step('Write image', async () => {
      if (failing) throw failing
      const file = join(workDir, 'tiny.tar')
      writeFileSync(file, built.content)
      return { file, sha256: built.sha256, sizeBytes: built.content.length }
    }),
}

beforeEach(async () => {
  dir = join(aTempDir(), 'images')
  files = new ImageFiles(dir)
  failing = undefined
  built = { content: 'kernel', sha256: '1'.repeat(64) }
  await files.prepare(new Set(), Date.now())
})

function aCatalogue() {
  const { images, tasks: store, ...stores } = aStore()
  const tasks = new TaskRunner(store, new ManualClock(), silentLog)
  const build = async () => {
    const id = tasks.start('system', 'build_image', 'tiny', (task) =>
      buildImage({ files, images, cacheDir: join(dir, '..', 'cache') }, builder, task),
    )
    const fault = await tasks.ended(id)
    return { fault, task: tasks.get('default', id) }
  }
  return { ...stores, images, build }
}

describe('building an image', () => {
  it('puts the file under its digest and makes it the default where there is none', async () => {
    const { images, build } = aCatalogue()
    const { task } = await build()
    const image = images.findByName('tiny')
    expect(image).toMatchObject({ id: task.resultId, kind: 'kernel', url: '', isDefault: true, sizeBytes: 6 })
    expect(image).toMatchObject({ defaultVcpus: 1, defaultMemMb: 96, defaultDiskGb: 1 })
    expect(image?.description).toContain('root shell without a password')
    expect(readFileSync(join(dir, built.sha256), 'utf8')).toBe('kernel')
    expect(readdirSync(files.workDir)).toEqual([])
    expect(task.steps.map((step) => step.state)).toEqual(['done', 'done'])
  })

  it('leaves another default alone', async () => {
    const { images, build } = aCatalogue()
    const debian = images.setDefault(images.create(anImage()).id)
    await build()
    expect([images.findDefault('x86_64')?.id, images.findByName('tiny')?.isDefault]).toEqual([debian.id, false])
  })

  it('a rebuild keeps the image and its id, with the new bytes', async () => {
    const { images, build } = aCatalogue()
    const first = await build()
    built = { content: 'newer', sha256: '2'.repeat(64) }
    const second = await build()
    expect(second.task.resultId).toBe(first.task.resultId)
    expect(images.list()).toMatchObject([{ sha256: '2'.repeat(64), isDefault: true, sizeBytes: 5 }])
  })

  it('a build that fails adds nothing', async () => {
    const { images, build } = aCatalogue()
    failing = new Fault('image/build-failed', 'permanent', { detail: 'no network' })
    expect((await build()).fault?.code).toBe('image/build-failed')
    expect([images.list(), readdirSync(dir)]).toEqual([[], ['work']])
  })
})

describe('image files', () => {
  it('at the start, programs that still write for a killed build do not stand in the way', async () => {
    const busy = join(files.workDir, 'busy')
    // A shell ends over a file that its own ":" cannot open, and not over one that "true" cannot.
    const writes =
      'i=0; while :; do mkdir -p "$0/$((i%50))"; true >"$0/$((i%50))/$i"; i=$((i+1)); [ $i = 500 ] && echo on; done'
    const writer = spawn('/bin/sh', ['-c', writes, busy], { stdio: ['ignore', 'pipe', 'ignore'] })
    const closed = once(writer, 'close')
    try {
      await once(writer.stdout, 'data')
      await files.prepare(new Set(), Date.now())
      expect(existsSync(files.workDir)).toBe(true)
    } finally {
      writer.kill('SIGKILL')
      await closed
    }
    await files.prepare(new Set(), Date.now())
    expect(readdirSync(dir)).toEqual(['work'])
    expect(readdirSync(files.workDir)).toEqual([])
  })

  it('at the start, what builds left is removed, and what nobody names once it is a week old', async () => {
    const [kept, stray] = ['a'.repeat(64), 'b'.repeat(64)]
    for (const name of [kept, stray, 'notes.txt', 'work/half.tar']) writeFileSync(join(dir, name), 'x')
    await files.prepare(new Set([kept]), Date.now())
    expect(readdirSync(dir).sort()).toEqual([kept, stray, 'notes.txt', 'work'].sort())
    await files.prepare(new Set([kept]), Date.now() + 8 * 24 * 3600_000)
    expect(readdirSync(dir).sort()).toEqual([kept, 'notes.txt', 'work'].sort())
    expect(existsSync(join(files.workDir, 'half.tar'))).toBe(false)
    await files.remove(kept)
    await files.remove(kept)
    expect(existsSync(join(dir, kept))).toBe(false)
  })
})

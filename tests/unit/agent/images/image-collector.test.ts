import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UNUSED_MS } from '../../../../src/agent/images/gc-plan.ts'
import { ImageCache } from '../../../../src/agent/images/image-cache.ts'
import { ImageCollector, type ImageUses, SWEEP_MS } from '../../../../src/agent/images/image-collector.ts'
import { ImageUsage } from '../../../../src/agent/images/image-usage.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { GiB, MiB } from '../../../../src/ipc/units.ts'
import { SteppedClock } from '../../../support/stepped-clock.ts'

const sha = (text: string) => createHash('sha256').update(text.repeat(MiB)).digest('hex')
const DAY = 86_400_000

describe('the collector of images', () => {
  let dir: string
  let clock: SteppedClock
  let free: number
  let total: number
  let uses: ImageUses
  let cache: ImageCache
  let collector: ImageCollector
  let during: () => void

  const open = async () => {
    const look = async () => ({ free, total, freeFiles: 1000 })
    cache = await ImageCache.open(join(dir, 'images'), { clock, look })
    const usage = await ImageUsage.open(join(dir, 'images', 'usage.json'))
    const ask = async () => {
      during()
      return uses
    }
    collector = new ImageCollector({ cache, usage, uses: ask, clock, log: silentLog })
    cache.onShortage((missing) => collector.makeRoom(missing))
  }
  const used = (...texts: string[]) => {
    uses = { users: new Map(texts.map((text) => [sha(text), ['web-1']])), unknown: '' }
  }
  const push = async (text: string, bytes = MiB) => {
    const put = await cache.openPut(sha(text), MiB, 0)
    await put.write(Buffer.alloc(bytes, text))
    await put.finish()
  }
  const names = async () => (await readdir(join(dir, 'images'))).filter((name) => name !== 'usage.json').sort()
  /** Days pass with the agent running. */
  const pass = async (days: number) => {
    clock.advance(days * DAY)
    return await collector.collect()
  }

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-collect-'))
    clock = new SteppedClock()
    free = 50 * GiB
    total = 100 * GiB
    during = () => {}
    used()
    await open()
  })
  afterEach(async () => {
    await collector.stop()
    await rm(dir, { recursive: true, force: true })
  })

  it('removes what nothing referred to for fourteen days, and starts counting again at each use', async () => {
    await push('a')
    await push('b')
    used('b')
    await pass(13)
    used()
    expect((await pass(1)).remove).toMatchObject([{ sha256: sha('a'), bytes: MiB, reason: 'age' }])
    expect(await names()).toEqual([sha('b')])
    expect(cache.list().map(({ sha256 }) => sha256)).toEqual([sha('b')])
    expect((await pass(13)).remove).toHaveLength(1)
    expect(await names()).toEqual([])
  })

  it('counts only time the agent ran: a clock that jumps and a host that is off make nothing older', async () => {
    await push('a')
    await pass(13)
    clock.wall += 365 * DAY
    await open()
    expect(collector.unusedMs(sha('a'))).toBe(13 * DAY)
    await collector.collect()
    expect(collector.unusedMs(sha('a'))).toBe(13 * DAY)
    clock.wall -= 730 * DAY
    expect((await pass(0.5)).keep).toMatchObject([{ reason: 'recent', unusedMs: 13.5 * DAY }])
    expect((await pass(0.5)).remove).toHaveLength(1)
  })

  it('begins to count anew where its notes are damaged: images stay longer, never shorter', async () => {
    await push('a')
    await pass(13)
    await writeFile(join(dir, 'images', 'usage.json'), '{"version":1,"unused_ms":{"')
    await open()
    expect((await pass(13)).remove).toEqual([])
    expect((await pass(1)).remove).toHaveLength(1)
  })

  it('neither removes nor counts while it is not known what is in use', async () => {
    await push('a')
    await pass(13)
    uses = { users: new Map(), unknown: 'the record of VM 1 cannot be read' }
    expect(await pass(30)).toMatchObject({ remove: [], keep: [{ reason: 'unknown' }], unknown: uses.unknown })
    used()
    expect((await collector.collect()).keep).toMatchObject([{ reason: 'recent', unusedMs: 13 * DAY }])
  })

  it('says in a dry run what would go and why the rest stays, and removes nothing', async () => {
    await push('a')
    await push('b')
    used('b')
    clock.advance(UNUSED_MS)
    const told = await collector.collect({ dryRun: true })
    expect(told.remove).toMatchObject([{ sha256: sha('a'), bytes: MiB, reason: 'age' }])
    expect(told.keep).toMatchObject([{ sha256: sha('b'), users: ['web-1'], reason: 'in_use' }])
    expect(await names()).toHaveLength(2)
  })

  it('leaves what is being pushed and takes what a push left a week ago', async () => {
    await push('a', 1000)
    const put = await cache.openPut(sha('b'), MiB, 0)
    await put.write(Buffer.alloc(1000, 'b'))
    expect((await pass(7)).remove).toMatchObject([{ sha256: sha('a'), whole: false, bytes: 1000, reason: 'age' }])
    expect(await names()).toEqual([`${sha('b')}.part`])
    await put.abort()
    expect((await pass(7)).remove).toHaveLength(1)
    expect(await names()).toEqual([])
  })

  it('leaves an image that a VM was given while it was looking who uses what', async () => {
    await push('a')
    during = () => void cache.bootImage(sha('a'), '').catch(() => {})
    expect((await pass(14)).remove).toEqual([])
    expect(await names()).toEqual([sha('a')])
  })

  it('leaves an image whose transfer began while it was looking', async () => {
    await push('a', 1000)
    let put: ReturnType<typeof cache.openPut> | undefined
    during = () => {
      put ??= cache.openPut(sha('a'), MiB, 1000)
    }
    expect((await pass(14)).remove).toEqual([])
    await (await put)?.abort()
    expect(cache.stat(sha('a')).haveBytes).toBe(1000)
  })

  it('makes room for a push before it is refused, the longest unused first', async () => {
    await push('a')
    clock.advance(3_600_000)
    await collector.collect()
    await push('b')
    clock.advance(3_600_000)
    await collector.collect()
    free = 256 * MiB
    total = GiB
    const gone = collector.collect.bind(collector)
    collector.collect = async (options) => {
      const done = await gone(options)
      free += done.remove.reduce((sum, { bytes }) => sum + bytes, 0)
      return done
    }
    await push('c')
    expect(await names()).toEqual([sha('b'), sha('c')].sort())
    await expect(cache.openPut(sha('d'), 4 * MiB, 0)).rejects.toMatchObject({
      code: 'host/disk-full',
      params: { needed: '4 MiB', free: '258 MiB', reserve: '256 MiB' },
    })
  })

  it('takes what was unpacked from an image with it, and counts its bytes', async () => {
    await push('a')
    await rm(join(dir, 'images', 'usage.json'), { force: true })
    await mkdir(join(dir, 'images', `${sha('a')}.kernel`))
    await writeFile(join(dir, 'images', `${sha('a')}.kernel`, 'initrd'), Buffer.alloc(500))
    expect((await pass(14)).remove).toMatchObject([{ bytes: MiB + 500 }])
    expect(await names()).toEqual([])
  })

  it('looks every ten minutes by itself, and stops when the agent does', async () => {
    await push('a')
    collector.start()
    for (const _ of [1, 2]) {
      await clock.asleep(1)
      clock.advance(SWEEP_MS)
    }
    await clock.asleep(1)
    expect(collector.unusedMs(sha('a'))).toBe(2 * SWEEP_MS)
    const { unused_ms } = JSON.parse(await readFile(join(dir, 'images', 'usage.json'), 'utf8'))
    expect(unused_ms).toEqual({ [sha('a')]: 2 * SWEEP_MS })
  })
})

import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { IpTaps, tapName } from '../../src/agent/network/tap.ts'
import { type Run, run } from '../../src/agent/os/exec.ts'
import { onHit } from '../../src/agent/os/failpoints.ts'

const live = () => AbortSignal.timeout(10_000)
const NAME = tapName('0123456789abcdef0123456789abcdef')

describe('taps, made by ip in a network of their own', () => {
  let space: string
  let taps: IpTaps
  const inside: Run = (point, command, args, options) =>
    run(point, 'ip', ['netns', 'exec', space, command, ...args], options)
  const ip = async (...args: string[]) => (await inside('tap.ask', 'ip', args, { timeoutMs: 10_000 })).stdout
  const shown = async () =>
    (JSON.parse(await ip('-json', 'link', 'show')) as { ifname: string; flags: string[] }[]).filter(
      ({ ifname }) => ifname !== 'lo',
    )

  beforeEach(async () => {
    space = `eitri-test-${randomBytes(4).toString('hex')}`
    await run('tap.ask', 'ip', ['netns', 'add', space], { timeoutMs: 10_000 })
    taps = new IpTaps(inside)
  })
  afterEach(async () => {
    onHit(undefined)
    await run('tap.ask', 'ip', ['netns', 'delete', space], { timeoutMs: 10_000 })
  })

  it('are there and up once ensured, however often, and gone once removed, however often', async () => {
    await taps.ensure(NAME, live())
    await taps.ensure(NAME, live())
    expect(await shown()).toMatchObject([{ ifname: NAME, flags: expect.arrayContaining(['UP']) }])
    await taps.remove(NAME)
    await taps.remove(NAME)
    expect(await shown()).toEqual([])
  })

  it('are ports of the bridge they are ensured on, wherever they were', async () => {
    for (const bridge of ['br0', 'br1']) await ip('link', 'add', bridge, 'type', 'bridge')
    for (const bridge of ['br0', 'br0', 'br1']) {
      await taps.ensure(NAME, live(), bridge)
      expect(await ip('-json', 'link', 'show', 'master', bridge)).toContain(NAME)
    }
    await expect(taps.ensure(NAME, live(), 'br9')).rejects.toMatchObject({ code: 'vmm/failed' })
  })

  it('are brought up when they are there and down', async () => {
    await ip('tuntap', 'add', 'dev', NAME, 'mode', 'tap')
    await taps.ensure(NAME, live())
    expect(await shown()).toMatchObject([{ flags: expect.arrayContaining(['UP']) }])
  })

  it('never take an interface that is none of theirs', async () => {
    await ip('link', 'add', NAME, 'type', 'veth', 'peer', 'name', 'other')
    await expect(taps.ensure(NAME, live())).rejects.toMatchObject({ disposition: 'permanent' })
  })

  it.each(['tap.ask', 'tap.make', 'tap.up', 'tap.remove'] as const)(
    'are whole, or gone, after a life that was cut at %s',
    async (point) => {
      for (const phase of ['before', 'between', 'after'] as const) {
        let cut = false
        onHit((at, when) => {
          cut ||= at === point && when === phase
          if (cut && when !== 'between') throw new Error('cut')
        })
        await taps
          .ensure(NAME, live())
          .then(() => taps.remove(NAME))
          .catch(() => {})
        onHit(undefined)
        expect(cut).toBe(true)
        await taps.ensure(NAME, live())
        expect(await shown()).toMatchObject([{ ifname: NAME, flags: expect.arrayContaining(['UP']) }])
        await taps.remove(NAME)
        expect(await shown()).toEqual([])
      }
    },
  )
})

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import { bootSector } from '../support/boot-sector.ts'
import { losePages } from '../support/damage.ts'
import { Desktop } from '../support/eitri.ts'
import { connected } from '../support/fleet.ts'

const HOST = 'here'
const DISK = bootSector()
const SHA = createHash('sha256').update(DISK).digest('hex')
const SOON = { timeout: 30_000, interval: 200 }

describe('a store that is lost, and one that is put back, with guests that run on', { timeout: 240_000 }, () => {
  let desk: Desktop
  let images: http.Server
  let image: string[]

  const create = (name: string) =>
    desk.must(['vm', 'create', name, ...image, '--mem-mb', '64', '--disk-gb', '1', '--wait', 'ready'], {
      timeoutMs: 60_000,
    })
  const vm = async (name: string) =>
    (await desk.must(['vm', 'list'])).vms.find((v: { name: string; id: string }) => v.name === name || v.id === name)
  const store = () => desk.must(['store'])
  const guests = () =>
    desk
      .processes()
      .filter(({ argv }) => /qemu-system/.test(argv[0] ?? '') && argv.some((a) => a.startsWith('guest=')))
      .map(({ pid }) => pid)
      .sort()
  const database = () => path.join(desk.dataDir, 'eitri.db')
  const disks = () =>
    fs.readdirSync(path.join(controlPaths({ dataDir: desk.dataDir, env: desk.env }).localAgentState, 'vms')).sort()

  beforeAll(async () => {
    images = http.createServer((_, response) => response.end(DISK)).listen(0, '127.0.0.1')
    await once(images, 'listening')
    const url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/disk.img`
    image = ['--image-url', url, '--image-sha256', SHA]
    desk = await new Desktop().start()
    await desk.must(['host', 'add', HOST, '--local'])
    for (const name of ['web', 'db', 'old']) await create(name)
    await desk.must(['vm', 'delete', 'old', '--wait'])
  }, 120_000)
  afterAll(async () => {
    images?.closeAllConnections()
    images?.close()
    await desk?.close()
  }, 60_000)

  it('yesterday’s database put back destroys nothing and is sent nowhere until a person says so', async () => {
    const copy = path.join(desk.dataDir, 'yesterday')
    await desk.must(['backup', copy])
    await create('today')
    await desk.must(['vm', 'undelete', 'old', '--wait'], { timeoutMs: 60_000 })
    const [before, there] = [guests(), disks()]
    expect(before).toHaveLength(4)
    expect(await desk.cli(['restore', copy], { plain: true })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('holds'),
    })
    await desk.stop()
    expect(await desk.must(['restore', copy])).toMatchObject({ hosts: 1, vms: 3 })
    await desk.start()
    await connected(desk, HOST)
    await expect.poll(async () => (await store()).hosts_ahead, SOON).toEqual([HOST])
    expect((await store()).problem).toBe('older_than_hosts')
    await expect
      .poll(async () => (await vm('today'))?.power ?? (await desk.must(['vm', 'list'])).vms.length, SOON)
      .toBe(4)
    await desk.must(['vm', 'stop', 'web', '--force'])
    expect(guests()).toEqual(before)
    await desk.must(['host', 'takeover', HOST, '--from-older', '--yes'])
    await expect.poll(() => guests().length, SOON).toBeLessThan(4)
    await expect.poll(async () => (await vm('today'))?.unowned, SOON).toBe(true)
    // What yesterday had deleted goes to quarantine, with its disk.
    expect(disks()).toEqual(there)
    await desk.must(['vm', 'undelete', 'old', '--wait'], { timeoutMs: 60_000 })
    await desk.must(['vm', 'adopt', 'today'])
    await desk.must(['vm', 'start', 'web', '--wait'], { timeoutMs: 60_000 })
    expect(guests()).toHaveLength(4)
    expect((await store()).problem).toBe('')
  })

  it('a damaged one starts for reading, changes nothing, and is made anew from the host: the same guests run on', async () => {
    const [before, there] = [guests(), disks()]
    const ids = Object.fromEntries(
      (await desk.must(['vm', 'list'])).vms.map((v: { name: string; id: string }) => [v.name, v.id]),
    )
    await desk.stop()
    losePages(database(), 'vms', 'images')
    await desk.start()
    await connected(desk, HOST)
    expect(await store()).toMatchObject({ problem: 'damaged' })
    for (const args of [
      ['vm', 'stop', ids['web']],
      ['vm', 'create', 'more', ...image],
      ['host', 'remove', HOST, '--force'],
    ])
      expect(await desk.cli(args, { plain: true })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('eitri store rebuild'),
      })
    await expect.poll(async () => (await desk.must(['vm', 'list'])).vms.length, SOON).toBe(4)
    for (const shown of (await desk.must(['vm', 'list'])).vms) expect(shown.unowned).toBe(true)
    expect(guests()).toEqual(before)

    const { kept_at } = await desk.must(['store', 'rebuild', '--yes'])
    expect(fs.existsSync(kept_at)).toBe(true)
    await expect.poll(async () => (await vm('web'))?.unowned, SOON).toBe(false)
    for (const [name, id] of Object.entries(ids)) expect((await vm(name))?.id).toBe(id)
    expect([guests(), disks()]).toEqual([before, there])
    await desk.must(['vm', 'stop', 'db', '--force', '--wait'])
    await desk.must(['vm', 'start', 'db', '--wait'], { timeoutMs: 60_000 })
    expect(before.filter((pid) => guests().includes(pid))).toHaveLength(3)
    await desk.stop()
    await desk.start()
    await connected(desk, HOST)
    expect(await store()).toMatchObject({ problem: '', read_only_reason: '' })
    expect((await desk.must(['vm', 'list'])).vms).toHaveLength(4)
  })
})

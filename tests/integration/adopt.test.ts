import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import { bootSector } from '../support/boot-sector.ts'
import { Desktop } from '../support/eitri.ts'
import { connected } from '../support/fleet.ts'

const HOST = 'here'
const DISK = bootSector()
const SHA = createHash('sha256').update(DISK).digest('hex')
const SOON = { timeout: 30_000, interval: 200 }

describe('a second data folder takes the host over', { timeout: 180_000 }, () => {
  let first: Desktop
  let second: Desktop
  let images: http.Server
  const ids: Record<string, string> = {}

  const local = (desktop: Desktop) => controlPaths({ dataDir: desktop.dataDir, env: desktop.env })
  const vm = async (name: string) => second.must(['vm', 'show', name])
  /** Pids of the guests that run; they belong to the one that started the agent. */
  const guests = () =>
    first
      .processes()
      .filter(({ argv }) => /qemu-system/.test(argv[0] ?? '') && argv.some((a) => a.startsWith('guest=')))
      .map(({ pid }) => pid)
      .sort()
  const folders = () => fs.readdirSync(path.join(local(first).localAgentState, 'vms'))

  beforeAll(async () => {
    images = http.createServer((_, response) => response.end(DISK)).listen(0, '127.0.0.1')
    await once(images, 'listening')
    const url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/disk.img`
    const image = ['--image-url', url, '--image-sha256', SHA, '--mem-mb', '64', '--disk-gb', '1']
    first = await new Desktop().start()
    second = await new Desktop().start()
    await first.must(['host', 'add', HOST, '--local'])
    for (const name of ['web', 'db', 'old'])
      ids[name] = (await first.must(['vm', 'create', name, ...image, '--wait', 'ready'])).id
    for (const name of ['db', 'old']) await first.must(['vm', 'stop', name, '--force', '--wait'])
    await first.must(['vm', 'delete', 'old', '--wait'])
    images.closeAllConnections()
    images.close()
    fs.mkdirSync(path.dirname(local(second).localAgentSocket), { recursive: true, mode: 0o700 })
    fs.symlinkSync(local(first).localAgentSocket, local(second).localAgentSocket)
  }, 120_000)
  afterAll(async () => {
    await second?.close()
    await first?.close()
  }, 60_000)

  it('by --take-over and not without, and shows every VM there with the way to adopt it', async () => {
    const refused = await second.cli(['host', 'add', HOST, '--local'], { plain: true })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--take-over') })
    await second.must(['host', 'add', HOST, '--local', '--take-over'])
    await connected(second, HOST)
    await expect.poll(async () => (await second.must(['vm', 'list'])).vms.length, SOON).toBe(3)
    await expect.poll(() => vm('web'), SOON).toMatchObject({ id: ids['web'], unowned: true, power: 'running' })
    expect(await vm(ids['old']!)).toMatchObject({ name: 'old', unowned: true, power: 'stopped' })
    for (const command of [['vm', 'stop'], ['vm', 'delete'], ['console']])
      expect(await second.cli([...command, 'web'], { plain: true })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('eitri vm adopt web'),
      })
  })

  it('adopts them as they are: what runs is the same process, what is down stays down', async () => {
    const before = guests()
    expect(before).toHaveLength(1)
    for (const name of ['web', 'db', 'old']) expect((await second.must(['vm', 'adopt', name])).id).toBe(ids[name])
    await expect.poll(() => vm('web'), SOON).toMatchObject({ unowned: false, lifecycle: 'ready', power: 'running' })
    for (const name of ['db', 'old'])
      await expect.poll(() => vm(name), SOON).toMatchObject({ unowned: false, lifecycle: 'stopped', power: 'stopped' })
    expect(guests()).toEqual(before)
  })

  it('and has them as its own: they stop, start, are purged, and nothing is left of them', async () => {
    await second.must(['vm', 'start', 'old', '--wait'])
    expect(guests()).toHaveLength(2)
    for (const name of ['web', 'old']) await second.must(['vm', 'stop', name, '--force', '--wait'])
    expect(guests()).toEqual([])
    for (const name of ['web', 'db', 'old']) {
      await second.must(['vm', 'delete', name, '--wait'])
      await second.must(['vm', 'purge', name, '--yes', '--wait'])
    }
    expect(guests()).toEqual([])
    expect(folders()).toEqual([])
    expect((await second.must(['vm', 'list'])).vms).toEqual([])
  })
})

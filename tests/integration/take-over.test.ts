import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import { fleetClient } from '../../src/main/fleet-client.ts'
import { bootSector } from '../support/boot-sector.ts'
import { Desktop } from '../support/eitri.ts'
import { connected } from '../support/fleet.ts'

const HOST = 'here'
const DISK = bootSector()
const SHA = createHash('sha256').update(DISK).digest('hex')
const SOON = { timeout: 30_000, interval: 200 }

const socketOf = (desktop: Desktop) => controlPaths({ dataDir: desktop.dataDir, env: desktop.env }).localAgentSocket

describe('one host, two control planes', { timeout: 180_000 }, () => {
  let desk: Desktop
  let lap: Desktop
  let images: http.Server
  let image: string[]

  const create = (desktop: Desktop, name: string, ...more: string[]) =>
    desktop.must(['vm', 'create', name, ...image, '--mem-mb', '64', '--disk-gb', '1', ...more])
  const host = (desktop: Desktop) => desktop.must(['host', 'show', HOST])
  const vm = async (desktop: Desktop, name: string) =>
    (await desktop.must(['vm', 'list'])).vms.find((v: { name: string }) => v.name === name)
  /** Pids of the guests that run, by name; the agent and its guests belong to the one that started it. */
  const guests = () =>
    desk
      .processes()
      .filter(({ argv }) => /qemu-system/.test(argv[0] ?? '') && argv.some((a) => a.startsWith('guest=')))
      .map(({ pid }) => pid)
      .sort()

  beforeAll(async () => {
    images = http.createServer((_, response) => response.end(DISK)).listen(0, '127.0.0.1')
    await once(images, 'listening')
    image = [
      '--image-url',
      `http://127.0.0.1:${(images.address() as AddressInfo).port}/disk.img`,
      '--image-sha256',
      SHA,
    ]
    desk = await new Desktop().start()
    lap = await new Desktop().start()
    await desk.must(['host', 'add', HOST, '--local'])
    // The other one's own agent is the first one's: this is how two sign in to one machine.
    fs.mkdirSync(path.dirname(socketOf(lap)), { recursive: true, mode: 0o700 })
    fs.symlinkSync(socketOf(desk), socketOf(lap))
    await create(desk, 'web', '--wait', 'ready')
  }, 120_000)
  afterAll(async () => {
    images?.closeAllConnections()
    images?.close()
    await lap?.close()
    await desk?.close()
  }, 60_000)

  it('is added by the second only once a person agrees, and the first is told and loses it', async () => {
    const before = guests()
    expect(before).toHaveLength(1)
    const { hosts, tasks } = fleetClient(lap.apiSocket)
    const { task } = await hosts.addHost({ name: HOST, way: { case: 'local', value: {} } })
    const now = async () => (await tasks.getTask({ id: task!.id })).task!
    await expect.poll(async () => (await now()).question?.kind.case, SOON).toBe('takeOver')
    expect((await host(desk)).link).toBe('connected')
    const questionId = (await now()).question!.id
    await tasks.answerTask({ taskId: task!.id, questionId, answer: { case: 'agree', value: true } })
    await expect.poll(async () => (await now()).state, SOON).toBe('done')
    await connected(lap, HOST)

    await expect.poll(async () => (await host(desk)).link_fault?.code, SOON).toBe('agent/foreign-controller')
    expect((await host(desk)).link).toBe('held_by_other')
    await expect.poll(() => vm(lap, 'web'), SOON).toMatchObject({ unowned: true, power: 'running' })
    expect(guests()).toEqual(before)
  })

  it('is not taken back by trying again, only on purpose, and its VM has run on all the time', async () => {
    const before = guests()
    await create(lap, 'db', '--wait', 'ready')
    const tried = await desk.cli(['host', 'takeover', HOST])
    expect(tried).toMatchObject({ code: 2, stderr: expect.stringContaining('keep running') })
    await desk.stop()
    await desk.start()
    await expect.poll(async () => (await host(desk)).link_fault?.code, SOON).toBe('agent/foreign-controller')
    expect((await host(lap)).link).toBe('connected')

    expect(await desk.must(['host', 'takeover', HOST, '--yes'])).toMatchObject({ link: 'connected' })
    await expect.poll(() => vm(desk, 'web'), SOON).toMatchObject({ unowned: false, lifecycle: 'ready' })
    await expect.poll(() => vm(desk, 'db'), SOON).toMatchObject({ unowned: true, power: 'running' })
    await expect.poll(async () => (await host(lap)).link, SOON).toBe('held_by_other')
    expect(guests()).toHaveLength(2)
    expect(guests()).toEqual(expect.arrayContaining(before))
  })

  it('follows nothing of a store put back from a backup until a person says so, and loses no VM then', async () => {
    const database = path.join(desk.dataDir, 'eitri.db')
    await desk.stop()
    fs.copyFileSync(database, `${database}.backup`)
    await desk.start()
    await connected(desk, HOST)
    await create(desk, 'later', '--wait', 'ready')
    const before = guests()
    expect(before).toHaveLength(3)
    await desk.stop()
    for (const end of ['-wal', '-shm']) fs.rmSync(`${database}${end}`, { force: true })
    fs.renameSync(`${database}.backup`, database)
    await desk.start()

    const counted = async () => (await host(desk)).newer_data
    await expect.poll(async () => (await counted())?.unknown_vms, SOON).toBe(2)
    expect(await counted()).toMatchObject({ missing_vms: 0, deleted_vms: 0 })
    expect((await host(desk)).notices.join()).toMatch(/data is older than here's \(epoch \d+ < \d+\)/)
    await create(desk, 'after')
    await create(desk, 'after2')
    await desk.must(['vm', 'stop', 'web', '--force'])
    expect((await counted())?.missing_vms).toBe(2)
    expect(guests()).toEqual(before)

    await desk.must(['host', 'takeover', HOST, '--from-older', '--yes'])
    await desk.must(['vm', 'wait', 'after', '--state', 'ready'], { timeoutMs: 60_000 })
    await expect.poll(() => vm(desk, 'later'), SOON).toMatchObject({ unowned: true, power: 'running' })
    await expect.poll(async () => (await vm(desk, 'web'))?.power, SOON).toBe('stopped')
    expect(await counted()).toBeFalsy()
    expect(before.filter((pid) => guests().includes(pid))).toHaveLength(2)
  })
})

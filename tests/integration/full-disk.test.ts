import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ImageCache, type ImageCacheOptions } from '../../src/agent/images/image-cache.ts'
import { fileDesired } from '../../src/agent/records/desired-state.ts'
import { DiskReserve, RESERVE_FILE_BYTES } from '../../src/agent/records/disk-reserve.ts'
import { Identity } from '../../src/agent/records/identity.ts'
import { agentLayout } from '../../src/agent/records/layout.ts'
import { newRecord } from '../../src/agent/records/vm-record.ts'
import { clearLeftovers, fileRecords } from '../../src/agent/records/vm-records.ts'
import { DesiredStateSchema, SnapshotSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { GiB, KiB, MiB } from '../../src/ipc/units.ts'
import { ImageServer } from '../support/image-server.ts'
import { SmallDisk } from '../support/small-disk.ts'
import { aVm, ID } from '../unit/agent/reconcile/rig.ts'

const IMAGE = randomBytes(3 * MiB)
const SHA = createHash('sha256').update(IMAGE).digest('hex')
const live = () => AbortSignal.timeout(60_000)
const full = (params: Record<string, unknown> = {}) => ({
  code: 'host/disk-full',
  disposition: 'transient',
  params: { reserve: '256 MiB', free: expect.stringMatching(/^[\d.]+ [KMG]?i?B$/), ...params },
})
/** Believes that there is always room, as if others took it right after the look. */
const hopeful = async () => ({ free: 100 * GiB, total: 100 * GiB, freeFiles: 1000 })

describe.each(['tmpfs', 'ext4'] as const)('what the agent knows, on a full %s', (kind) => {
  async function parts(disk: SmallDisk) {
    const layout = agentLayout(join(disk.dir, 'state'))
    const reserve = await DiskReserve.open(join(disk.dir, 'reserve'))
    const records = fileRecords(layout, reserve.files)
    return { layout, reserve, records, desired: fileDesired(layout.desired, reserve.files) }
  }
  const snapshot = create(SnapshotSchema, { epoch: 7n, state: create(DesiredStateSchema, { vms: [aVm()] }) })

  it('is still written: stops, deletions and what was last wanted, for hundreds of VMs, and VMs are still removed', async () => {
    await using disk = await SmallDisk.mount(kind, 64 * MiB)
    const { layout, records, desired, reserve } = await parts(disk)
    await reserve.files.ensureDir('state.dir', layout.stateDir)
    const ids = Array.from({ length: 200 }, (_, i) => i.toString(16).padStart(32, '0'))
    for (const vmId of ids) await records.save(newRecord(aVm({ vmId })))
    const identity = await Identity.load(layout.identity, Date.now, reserve.files.writeDurable)
    await disk.fill()
    await expect(writeFile(join(disk.dir, 'state', 'probe'), Buffer.alloc(64 * KiB))).rejects.toMatchObject({
      code: 'ENOSPC',
    })
    await desired.save({ snapshot, deletedIn: new Map([[ID, 7n]]) })
    await identity.raiseEpoch(7n, 'digest')
    for (const vmId of ids) await records.save({ ...newRecord(aVm({ vmId })), stopRequested: true })
    for (const vmId of ids) await records.remove(vmId)
    expect(await records.list()).toEqual([])
    expect((await Identity.load(layout.identity)).epoch).toBe(7n)
    expect(await desired.load()).toMatchObject({ kind: 'desired' })
    expect(reserve.size).toBeGreaterThan(0)
    await clearLeftovers(layout)
  })

  it('is refused with words once even what was set aside is used up, and nothing that is there is harmed', async () => {
    await using disk = await SmallDisk.mount(kind, 64 * MiB)
    const { layout, records, reserve } = await parts(disk)
    await records.save(newRecord(aVm({ name: 'old' })))
    for (let name = 0; reserve.size > 0; name++) {
      await disk.fill(0, `ballast-${name}`)
      await reserve.files.writeDurable('record.save', join(disk.dir, `more-${name}`), Buffer.alloc(96 * KiB))
    }
    await disk.fill(0, 'last')
    const long = newRecord(aVm({ name: 'new', cloudInit: Buffer.alloc(64 * KiB) }))
    await expect(records.save(long)).rejects.toMatchObject({ code: 'host/disk-full' })
    expect(await records.read(ID)).toMatchObject({ kind: 'record', record: { spec: { name: 'old' } } })
    expect(await readdir(layout.vmDir(ID).dir)).toEqual(['record.json'])
  })

  it('has room set aside again when others made room, after a restart too', async () => {
    await using disk = await SmallDisk.mount(kind, 64 * MiB)
    const { reserve } = await parts(disk)
    await disk.fill()
    await reserve.files.writeDurable('record.save', join(disk.dir, 'note'), Buffer.alloc(16 * KiB))
    const left = reserve.size
    expect(left).toBeLessThan(RESERVE_FILE_BYTES)
    expect((await parts(disk)).reserve.size).toBe(left)
    await disk.unfill()
    await reserve.refill()
    expect(reserve.size).toBe(RESERVE_FILE_BYTES)
    expect((await stat(join(disk.dir, 'reserve'))).blocks * 512).toBeGreaterThanOrEqual(RESERVE_FILE_BYTES)
  })
})

describe('the image cache on a small disk', () => {
  const open = (disk: SmallDisk, options: Partial<ImageCacheOptions> = {}) =>
    ImageCache.open(join(disk.dir, 'images'), options)
  const names = (disk: SmallDisk) => readdir(join(disk.dir, 'images'))

  it.each([1, 200, 258])('of %i MiB refuses a download before its first byte, with the numbers', async (size) => {
    await using disk = await SmallDisk.mount('tmpfs', size * MiB)
    await using server = await ImageServer.start(IMAGE)
    const cache = await open(disk)
    await expect(cache.fetch(server.url, SHA, () => {}, live())).rejects.toMatchObject(full({ needed: '3 MiB' }))
    expect(cache.stat(SHA).haveBytes).toBe(0)
    await expect(cache.openPut(SHA, IMAGE.length, 0)).rejects.toMatchObject(full({ needed: '3 MiB' }))
    expect((await names(disk)).filter((name) => !name.includes('.part'))).toEqual([])
  })

  it('never lets a server that declares no length and never ends take what is kept free', async () => {
    await using disk = await SmallDisk.mount('tmpfs', 400 * MiB)
    await using server = await ImageServer.start(IMAGE)
    server.always = (_request, response) => endless(response)
    const cache = await open(disk)
    await expect(cache.fetch(server.url, SHA, () => {}, live())).rejects.toMatchObject(full())
    expect(disk.free).toBeGreaterThanOrEqual(256 * MiB)
  })

  it('names the disk that others filled while bytes came, and goes on with the same bytes once there is room', async () => {
    await using disk = await SmallDisk.mount('tmpfs', 300 * MiB)
    await using server = await ImageServer.start(IMAGE)
    const rest = Promise.withResolvers<ServerResponse>()
    server.next((_request, response) => {
      response.writeHead(200, { 'content-length': IMAGE.length })
      response.write(IMAGE.subarray(0, MiB))
      rest.resolve(response)
    })
    const cache = await open(disk)
    const some = Promise.withResolvers<void>()
    const failed = cache.fetch(server.url, SHA, (done) => done === MiB && some.resolve(), live())
    await some.promise
    await disk.fill()
    ;(await rest.promise).end(IMAGE.subarray(MiB))
    await expect(failed).rejects.toMatchObject(full({ needed: '2 MiB', free: '0 B' }))
    expect(cache.stat(SHA).haveBytes).toBe((await stat(join(disk.dir, 'images', `${SHA}.part`))).size)
    await disk.unfill()
    await cache.fetch(server.url, SHA, () => {}, live())
    expect(server.asked[1]?.range).toMatch(/^bytes=\d+-$/)
    expect(await readFile(join(disk.dir, 'images', SHA))).toEqual(IMAGE)
  })

  it('names it too when not even where the bytes come from can be written down', async () => {
    await using disk = await SmallDisk.mount('tmpfs', MiB)
    await using server = await ImageServer.start(IMAGE)
    const cache = await open(disk, { look: hopeful })
    await disk.fill()
    await expect(cache.fetch(server.url, SHA, () => {}, live())).rejects.toMatchObject({ code: 'host/disk-full' })
    expect((await names(disk)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('keeps what came of a push that the disk had no room for, and takes the rest later', async () => {
    await using disk = await SmallDisk.mount('tmpfs', 4 * MiB)
    const cache = await open(disk, { look: hopeful })
    const put = await cache.openPut(SHA, IMAGE.length, 0)
    await put.write(IMAGE.subarray(0, MiB))
    await disk.fill(300 * KiB)
    await expect(put.write(IMAGE.subarray(MiB, 2 * MiB))).rejects.toMatchObject({
      code: 'host/disk-full',
      params: { needed: '2 MiB' },
    })
    await put.abort()
    expect(cache.stat(SHA).haveBytes).toBe(MiB)
    await disk.unfill()
    const again = await cache.openPut(SHA, IMAGE.length, MiB)
    for (let at = MiB; at < IMAGE.length; at += MiB) await again.write(IMAGE.subarray(at, at + MiB))
    expect(await again.finish()).toBe(IMAGE.length)
    expect(await readFile(join(disk.dir, 'images', SHA))).toEqual(IMAGE)
  })

  it('leaves nothing half unpacked of a kernel image', async () => {
    await using disk = await SmallDisk.mount('tmpfs', 4 * MiB)
    const tar = kernelTar(MiB)
    const digest = createHash('sha256').update(tar).digest('hex')
    const cache = await open(disk, { look: hopeful })
    const put = await cache.openPut(digest, tar.length, 0)
    for (let at = 0; at < tar.length; at += MiB) await put.write(tar.subarray(at, at + MiB))
    await put.finish()
    await disk.fill(500 * KiB)
    await expect(cache.bootImage(digest, 'kernel')).rejects.toMatchObject({ code: 'host/disk-full' })
    expect(await names(disk)).toEqual([digest])
    const honest = await open(disk)
    await expect(honest.bootImage(digest, 'kernel')).rejects.toMatchObject(full({ needed: '1 MiB' }))
    await disk.unfill()
    expect(await cache.bootImage(digest, 'kernel')).toMatchObject({ kind: 'kernel', cmdline: 'cmdline' })
  })

  it('says so when it is not bytes but files that ran out', async () => {
    await using disk = await SmallDisk.mount('tmpfs', 600 * MiB, 16)
    const cache = await open(disk)
    for (let i = 0; (await stat(disk.dir)) && i < 20; i++) await writeFile(join(disk.dir, `f${i}`), '').catch(() => {})
    await expect(cache.openPut(SHA, IMAGE.length, 0)).rejects.toMatchObject(
      full({ detail: 'no more files can be made there' }),
    )
  })
})

function endless(response: ServerResponse): void {
  const chunk = Buffer.alloc(MiB)
  response.writeHead(200)
  const more = () => {
    while (response.writable && response.write(chunk));
  }
  response.on('drain', more)
  more()
}

function kernelTar(kernelBytes: number): Buffer {
  const files = {
    vmlinux: Buffer.alloc(kernelBytes, 'K'),
    initrd: Buffer.from('initrd'),
    cmdline: Buffer.from('cmdline'),
  }
  const entries = Object.entries(files).flatMap(([name, body]) => {
    const header = Buffer.alloc(512)
    header.write(name, 0)
    header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124)
    header.write('        0', 148)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return Buffer.concat([...entries, Buffer.alloc(1024)])
}

import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import * as files from '../../../../src/agent/os/files.ts'
import { Identity, requireUsable } from '../../../../src/agent/records/identity.ts'
import { type AgentLayout, agentLayout } from '../../../../src/agent/records/layout.ts'
import { requireStateDirs, usingState } from '../../../../src/agent/records/state-dir.ts'
import { newRecord, type VmRecord } from '../../../../src/agent/records/vm-record.ts'
import { clearLeftovers, fileRecords } from '../../../../src/agent/records/vm-records.ts'
import { VmSpecSchema } from '../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'

const ID = 'a'.repeat(32)
let layout: AgentLayout

beforeEach(async () => {
  layout = agentLayout(await mkdtemp(join(tmpdir(), 'eitri-records-')))
})
afterEach(() => rm(layout.stateDir, { recursive: true, force: true }))

describe('VM records', () => {
  const full = (): VmRecord => ({
    ...newRecord(
      create(VmSpecSchema, { vmId: ID, name: 'web', restartCount: 2n ** 63n, cloudInit: new Uint8Array([255]) }),
    ),
    bootId: 'boot',
    createAttempts: 2,
    lastError: 'x',
    lastReason: 'vm/exited',
    stopRequested: true,
    restartCount: 2n ** 63n,
    startedUptimeMs: 5,
    crashes: 3,
    exit: { uptimeMs: 7, reason: 'why', clean: true },
    quarantine: { elapsedMs: 1, sinceUptimeMs: undefined, bootId: 'b', tombstone: '5' },
    hostPublicKey: 'ssh-ed25519 A',
    ip: '10.0.0.2',
    networkIp: '192.0.2.7',
    machine: 'pc-q35-7.2',
    admitted: { vcpus: 2, memMb: 512, diskGb: 10 },
  })

  it('come back as they were saved, 64-bit numbers included', async () => {
    const records = fileRecords(layout)
    await records.save(full())
    expect(await records.read(ID)).toEqual({ kind: 'record', record: full() })
    expect(await records.list()).toEqual([ID])
  })

  it('of many VMs are saved at once without disturbing each other', async () => {
    const records = fileRecords(layout)
    const ids = ['1', '2', '3', '4', '5', '6', '7', '8'].map((n) => n.repeat(32))
    const ofVm = (vmId: string) => newRecord(create(VmSpecSchema, { vmId, name: `vm-${vmId[0]}` }))
    await Promise.all(ids.flatMap((id) => [records.save(ofVm(id)), records.save({ ...ofVm(id), createAttempts: 2 })]))
    for (const id of ids)
      expect(await records.read(id)).toMatchObject({
        kind: 'record',
        record: { spec: { vmId: id, name: `vm-${id[0]}` } },
      })
  })

  it('name the numbers when there is no room for one, and the one before stays', async () => {
    await fileRecords(layout).save(full())
    const writeDurable = async () => {
      throw Object.assign(new Error('quota'), { code: 'EDQUOT' })
    }
    const diskSpace = async () => ({ free: 5 * 1024 * 1024, total: 9_000_000, freeFiles: 9 })
    const records = fileRecords(layout, { ...files, writeDurable, diskSpace })
    await expect(records.save({ ...full(), lastError: 'y' })).rejects.toMatchObject({
      code: 'host/disk-full',
      params: { where: layout.stateDir, free: '5 MiB', detail: 'the quota is used up' },
    })
    expect(await records.read(ID)).toMatchObject({ kind: 'record', record: { lastError: 'x' } })
  })

  it('a save leaves only the record, whatever was there', async () => {
    const records = fileRecords(layout)
    await records.save(full())
    await records.save(full())
    expect(await readdir(layout.vmDir(ID).dir)).toEqual(['record.json'])
  })

  it('absent, torn and unreadable are three things', async () => {
    const records = fileRecords(layout)
    expect(await records.read(ID)).toEqual({ kind: 'absent' })
    await records.save(full())
    const { record } = layout.vmDir(ID)
    await writeFile(record, (await readFile(record, 'utf8')).slice(0, 40))
    expect(await records.read(ID)).toMatchObject({ kind: 'unreadable' })
    await rm(record)
    await mkdir(record)
    expect(await records.read(ID)).toMatchObject({ kind: 'unreadable' })
    expect(await records.list()).toEqual([ID])
  })

  it('one of another version is refused with both numbers, never guessed', async () => {
    const records = fileRecords(layout)
    await records.save(full())
    const { record } = layout.vmDir(ID)
    const text = await readFile(record, 'utf8')
    for (const version of [0, 2]) {
      await writeFile(record, text.replace('"version": 1', `"version": ${version}`))
      const problem = `it is of version ${version}, this agent knows version 1`
      expect(await records.read(ID)).toMatchObject({ kind: 'unreadable', problem })
    }
    await writeFile(record, text.replace('"version": 1', '"version": "1"'))
    expect(await records.read(ID)).toMatchObject({ kind: 'unreadable', problem: 'parts of it are missing' })
  })

  it('one of an older agent is read without the fields that came since: what it had begun was admitted', async () => {
    const records = fileRecords(layout)
    const older = async (change: Partial<VmRecord>) => {
      await records.save({ ...full(), admitted: undefined, ...change })
      const { record } = layout.vmDir(ID)
      const file = JSON.parse(await readFile(record, 'utf8'))
      delete file.admitted
      delete file.quick_ends
      if (file.quarantine) delete file.quarantine.tombstone
      await writeFile(record, JSON.stringify(file))
      const read = await records.read(ID)
      return read.kind === 'record' ? read.record : undefined
    }
    const spec = create(VmSpecSchema, { vmId: ID, name: 'web', vcpus: 2, memMb: 512, diskGb: 10 })
    const size = { vcpus: 2, memMb: 512, diskGb: 10 }
    expect(await older({ spec, quarantine: undefined })).toMatchObject({ admitted: size, quickEnds: 3 })
    expect((await older({ spec, quarantine: undefined, bootId: '', createAttempts: 1 }))?.admitted).toEqual(size)
    expect((await older({ spec, quarantine: undefined, bootId: '', createAttempts: 0 }))?.admitted).toBeUndefined()
    expect(await older({ spec })).toMatchObject({ admitted: undefined, quarantine: { tombstone: '' } })
  })

  it('one that a newer agent added fields to is read without them', async () => {
    const records = fileRecords(layout)
    await records.save(full())
    const { record } = layout.vmDir(ID)
    const file = JSON.parse(await readFile(record, 'utf8'))
    await writeFile(record, JSON.stringify({ ...file, later: 1, spec: { ...file.spec, later: 1 } }))
    expect(await records.read(ID)).toEqual({ kind: 'record', record: full() })
  })

  it('one of another VM, or an empty one, is unreadable', async () => {
    const records = fileRecords(layout)
    await records.save(full())
    const { record } = layout.vmDir(ID)
    const text = await readFile(record, 'utf8')
    await writeFile(record, text.replaceAll(ID, 'b'.repeat(32)))
    expect(await records.read(ID)).toMatchObject({ kind: 'unreadable', problem: expect.stringMatching(/VM b{32}$/) })
    await writeFile(record, '')
    expect(await records.read(ID)).toMatchObject({ kind: 'unreadable', problem: 'it is empty' })
  })

  it.each(['disk', 'rawDisk'] as const)(
    'a %s whose record is missing is unreadable, not absent: nothing may make a new one in its place',
    async (disk) => {
      const records = fileRecords(layout)
      await records.save(full())
      await writeFile(layout.vmDir(ID)[disk], 'disk')
      await rm(layout.vmDir(ID).record)
      expect(await records.list()).toEqual([ID])
      expect(await records.read(ID)).toMatchObject({
        kind: 'unreadable',
        problem: 'it is missing, but the disk is there',
      })
    },
  )

  it('are listed whole, however many there are', async () => {
    const records = fileRecords(layout)
    const ids = Array.from({ length: 200 }, (_, i) => i.toString(16).padStart(32, '0'))
    for (const id of ids) await mkdir(layout.vmDir(id).record, { recursive: true })
    await mkdir(layout.vmDir('f'.repeat(32)).dir)
    expect((await records.list()).sort()).toEqual(ids)
  })

  it('are removed with everything of the VM, in one step, and again without harm', async () => {
    const records = fileRecords(layout)
    await records.save(full())
    await writeFile(layout.vmDir(ID).disk, 'disk')
    await records.remove(ID)
    await records.remove(ID)
    expect(await records.list()).toEqual([])
    expect(await readdir(layout.vms)).toEqual([])
    expect(await readdir(layout.trash)).toEqual([])
  })

  it('what an earlier removal could not delete goes with the next one, which is told when it cannot', async () => {
    const records = fileRecords(layout)
    await mkdir(join(layout.trash, ID, 'left'), { recursive: true })
    await records.remove(ID)
    expect(await readdir(layout.trash)).toEqual([])
    await rm(layout.trash, { recursive: true })
    await writeFile(layout.trash, 'in the way')
    await expect(records.remove(ID)).rejects.toThrow()
  })

  it('a directory that is no VM id is nobody', async () => {
    await mkdir(join(layout.vms, 'lost+found'), { recursive: true })
    expect(await fileRecords(layout).list()).toEqual([])
  })

  it('what a removal left half done goes at the next start', async () => {
    await mkdir(join(layout.trash, 'half'), { recursive: true })
    await clearLeftovers(layout)
    await expect(readdir(layout.trash)).rejects.toThrow('ENOENT')
  })

  it('what a writer left that died goes at the next start, and nothing else', async () => {
    const records = fileRecords(layout)
    await records.save(full())
    const { dir, disk } = layout.vmDir(ID)
    const empty = layout.vmDir('b'.repeat(32)).dir
    await mkdir(empty)
    await writeFile(disk, 'disk')
    for (const name of ['record.json.0123456789ab.tmp', 'of-a-person.tmp']) await writeFile(join(dir, name), '')
    await writeFile(`${layout.identity}.0123456789ab.tmp`, '')
    await clearLeftovers(layout)
    expect((await readdir(dir)).sort()).toEqual(['disk.qcow2', 'of-a-person.tmp', 'record.json'])
    expect(await readdir(layout.vms)).toEqual([ID])
    expect(await readdir(layout.stateDir)).toEqual(['vms'])
  })

  it("what cannot be cleared away of one VM is said, and the other VMs' leftovers go", async () => {
    const odd = layout.vmDir(ID).dir
    const temp = join(layout.vmDir('c'.repeat(32)).dir, 'record.json.0123456789ab.tmp')
    await mkdir(join(temp, '..'), { recursive: true })
    await writeFile(temp, '')
    await symlink(odd, odd)
    expect(await clearLeftovers(layout)).toEqual([
      expect.stringMatching(/^What an earlier agent left cannot be cleared away \(.*a{32}: ELOOP/),
    ])
    expect(await readdir(layout.vms)).toEqual([ID])
    expect((await fileRecords(layout).read(ID)).kind).toBe('unreadable')
  })

  describe('the directories that hold everything', () => {
    it.each<[string, (path: string) => Promise<unknown>]>([
      ['a file', (path) => writeFile(path, '')],
      ['a named pipe', async (path) => execFileSync('mkfifo', [path])],
      ['a link to itself', (path) => symlink(path, path)],
      ['a link that leads nowhere', (path) => symlink('/nowhere/x', path)],
    ])('are named where one is %s', async (_, make) => {
      await expect(requireStateDirs(layout)).resolves.toBeUndefined()
      for (const dir of [layout.vms, layout.images]) {
        await make(dir)
        await expect(requireStateDirs(layout)).rejects.toMatchObject({ code: 'agent/state-unusable', params: { dir } })
        await rm(dir)
      }
    })

    it.each([
      ['EROFS', 'agent/state-unusable'],
      ['EACCES', 'agent/state-unusable'],
      ['ENOENT', 'agent/state-unusable'],
      ['ENOSPC', 'ENOSPC'],
    ])('%s while they are used is %s', async (code, raised) => {
      const refuse = async () => {
        throw Object.assign(new Error(`${code}: no`), { code })
      }
      await expect(usingState('/state', refuse)).rejects.toMatchObject({ code: raised })
    })
  })

  it.each(['../../etc', 'A'.repeat(32), ''])('the id %j becomes no path', (id) => {
    expect(() => layout.vmDir(id)).toThrow(expect.objectContaining({ code: 'input/invalid' }))
  })
})

describe('the identity', () => {
  it('is made once, for its owner alone, and kept', async () => {
    const first = await Identity.load(layout.identity)
    const again = await Identity.load(layout.identity)
    expect(again.hostId).toBe(first.hostId)
    expect(again.publicKey()).toEqual(first.publicKey())
    expect(first.publicKey()).toHaveLength(32)
    expect(again.fleetId).toBe('')
  })

  it.each([
    ['empty', '', 'it is empty'],
    ['torn', '{"host_id":', 'it is no JSON'],
    ['without its key', '{"host_id":"1"}', 'parts of it are missing'],
  ])('one that is %s is named as damaged and kept, never made anew', async (_, text, detail) => {
    await writeFile(layout.identity, text)
    const damaged = { code: 'agent/identity-damaged', params: { file: layout.identity, detail } }
    await expect(Identity.load(layout.identity)).rejects.toMatchObject(damaged)
    await expect(requireUsable(layout.identity)).rejects.toMatchObject(damaged)
    expect(await readFile(layout.identity, 'utf8')).toBe(text)
  })

  it('one whose key is none is named as damaged too', async () => {
    await Identity.load(layout.identity)
    const whole = JSON.parse(await readFile(layout.identity, 'utf8'))
    await writeFile(layout.identity, JSON.stringify({ ...whole, private_key: 'none' }))
    await expect(Identity.load(layout.identity)).rejects.toMatchObject({
      code: 'agent/identity-damaged',
      params: { file: layout.identity, detail: 'its key cannot be used' },
    })
  })

  it('one that is not there yet, or is whole, is nothing to complain of', async () => {
    await requireUsable(layout.identity)
    expect(await readdir(layout.stateDir)).toEqual([])
    await Identity.load(layout.identity)
    await requireUsable(layout.identity)
  })

  it('remembers the network of its guests for good', async () => {
    const identity = await Identity.load(layout.identity)
    await identity.takeBridgeCidr('10.77.1.0/24')
    await identity.takeBridgeCidr('10.77.2.0/24')
    expect([identity.bridgeCidr, (await Identity.load(layout.identity)).bridgeCidr]).toEqual([
      '10.77.1.0/24',
      '10.77.1.0/24',
    ])
  })

  it('remembers the highest epoch and its digest, and never goes back', async () => {
    const identity = await Identity.load(layout.identity)
    await identity.raiseEpoch(2n ** 60n, 'aa')
    await identity.raiseEpoch(5n, 'bb')
    const again = await Identity.load(layout.identity)
    expect(again).toMatchObject({ epoch: 2n ** 60n, epochDigest: 'aa' })
  })

  it('epochs start over with another fleet, not with another name of the same', async () => {
    const identity = await Identity.load(layout.identity)
    await identity.adopt('f'.repeat(32), 'laptop')
    await identity.raiseEpoch(9n, 'aa')
    await identity.adopt('f'.repeat(32), 'laptop-2')
    expect(identity).toMatchObject({ epoch: 9n, controllerName: 'laptop-2' })
    await identity.adopt('e'.repeat(32), 'other')
    expect(await Identity.load(layout.identity)).toMatchObject({ epoch: 0n, epochDigest: '', fleetId: 'e'.repeat(32) })
  })
})

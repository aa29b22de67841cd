import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { imageUses } from '../../../../src/agent/reconcile/image-uses.ts'
import { fileDesired } from '../../../../src/agent/records/desired-state.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { newRecord } from '../../../../src/agent/records/vm-record.ts'
import { fileRecords } from '../../../../src/agent/records/vm-records.ts'
import { DesiredStateSchema, SnapshotSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { aVm, ID, OTHER } from './rig.ts'

const [ONE, TWO, THREE] = ['1', '2', '3'].map((digit) => digit.repeat(64)) as [string, string, string]

/** The head of an overlay on this file. */
function overlay(base: string): Buffer {
  const head = Buffer.alloc(4096)
  head.writeUInt32BE(0x514649fb, 0)
  head.writeUInt32BE(3, 4)
  head.writeBigUInt64BE(600n, 8)
  head.writeUInt32BE(base.length, 16)
  head.write(base, 600)
  return head
}

describe('images in use', () => {
  let dir: string
  const parts = () => {
    const layout = agentLayout(dir)
    return { layout, records: fileRecords(layout), desired: fileDesired(layout.desired) }
  }
  const uses = async () => {
    const { users, unknown } = await imageUses(parts())
    return { users: Object.fromEntries(users), unknown }
  }
  const want = async (...vms: ReturnType<typeof aVm>[]) => {
    const snapshot = create(SnapshotSchema, { epoch: 1n, state: create(DesiredStateSchema, { vms }) })
    await parts().desired.save({ snapshot, deletedIn: new Map() })
  }

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-uses-'))
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  it('are those of wanted VMs, before they have a record, and of deleted ones in quarantine', async () => {
    await want(aVm({ imageSha256: ONE }), aVm({ vmId: OTHER, name: 'db', imageSha256: TWO, tombstone: { graceS: 9n } }))
    expect(await uses()).toEqual({ users: { [ONE]: ['web'], [TWO]: ['db'] }, unknown: '' })
  })

  it('are those of records nobody wants any more', async () => {
    await parts().records.save(newRecord(aVm({ imageSha256: ONE })))
    await want()
    expect(await uses()).toEqual({ users: { [ONE]: ['web'] }, unknown: '' })
  })

  it('are those that disks are made on, whatever the VM is said to be of now', async () => {
    const { records, layout } = parts()
    await records.save(newRecord(aVm({ imageSha256: TWO })))
    await writeFile(layout.vmDir(ID).disk, overlay(join('/moved/images', ONE)))
    expect(await uses()).toEqual({ users: { [ONE]: ['web'], [TWO]: ['web'] }, unknown: '' })
  })

  it('are not known while a record cannot be read, and its disk is counted all the same', async () => {
    const { layout } = parts()
    await mkdir(layout.vmDir(ID).dir, { recursive: true })
    await writeFile(layout.vmDir(ID).record, '{')
    await writeFile(layout.vmDir(ID).disk, overlay(join(layout.images, THREE)))
    expect(await uses()).toEqual({ users: { [THREE]: [ID] }, unknown: `the record of VM ${ID} cannot be read` })
  })

  it('are not known while the desired state or a disk cannot be read', async () => {
    const { layout, records } = parts()
    await writeFile(layout.desired, 'eitri-desired 9 x\n')
    expect((await uses()).unknown).toBe('the desired state cannot be read')
    await want()
    await records.save(newRecord(aVm()))
    await mkdir(layout.vmDir(ID).disk)
    expect((await uses()).unknown).toBe('the disk of VM web cannot be read')
  })
})

import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { hasNewer, newerData } from '../../../../../src/main/control/sync/newer-data.ts'
import { aHost, aStore, aVm } from '../a-store.ts'

describe('a host that has newer data than this store', () => {
  it('has accepted an epoch that was never sent from here, whatever was edited here since', () => {
    const { hosts, vms } = aStore()
    const { id } = hosts.create(aHost())
    expect(hasNewer(hosts.get(id), 40n)).toBe(false)
    const sent = hosts.stampSnapshot(id, 'sent')
    expect(hasNewer(hosts.get(id), sent)).toBe(false)
    expect(hasNewer(hosts.get(id), sent + 1n)).toBe(true)
    for (let i = 0; i < 3; i++) vms.create(aVm(id))
    expect(hosts.get(id).epoch).toBeGreaterThan(sent + 1n)
    expect(hasNewer(hosts.get(id), sent + 1n)).toBe(true)
  })

  it('is counted by what using this store’s data would do to its VMs', () => {
    const { hosts, vms } = aStore()
    const { id: hostId } = hosts.create(aHost())
    const [same, missing, deleted, returning] = ['same', 'missing', 'deleted', 'returning'].map((name) =>
      vms.create(aVm(hostId, { name })),
    )
    vms.edit(deleted!.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
    const report = create(ReportSchema, {
      vms: [{ vmId: same!.id }, { vmId: deleted!.id }, { vmId: 'f'.repeat(32) }, { vmId: 'e'.repeat(32) }],
      quarantined: [{ vmId: returning!.id }],
    })
    const counted = newerData({ sentEpoch: 6n }, 7n, vms.listByHost(hostId), report)
    expect(counted).toMatchObject({ epoch: 6n, hostEpoch: 7n, unknownVms: 2, missingVms: 1, deletedVms: 1 })
    expect(vms.listByHost(hostId).map((vm) => vm.name)).toContain(missing!.name)
    const unreported = newerData({ sentEpoch: 6n }, 7n, vms.listByHost(hostId), undefined)
    expect(unreported).toMatchObject({ unknownVms: 0, missingVms: 0, deletedVms: 0 })
  })
})

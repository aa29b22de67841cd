import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { hasNewer, newerData } from '../../../../../src/main/control/sync/newer-data.ts'
import { aHost, aStore, aVm } from '../a-store.ts'

const seen = (epoch: bigint, sha256 = '') => ({ epoch, sha256 })

describe('a host that has newer data than this store', () => {
  it('has accepted an epoch that was never sent from here, whatever was edited here since', () => {
    const { hosts, vms } = aStore()
    const { id } = hosts.create(aHost())
    expect(hasNewer(hosts, hosts.get(id), seen(40n))).toBe(false)
    const sent = hosts.stampSnapshot(id, 'sent')
    expect(hasNewer(hosts, hosts.get(id), seen(sent))).toBe(false)
    expect(hasNewer(hosts, hosts.get(id), seen(sent + 1n))).toBe(true)
    for (let i = 0; i < 3; i++) vms.create(aVm(id))
    expect(hosts.get(id).epoch).toBeGreaterThan(sent + 1n)
    expect(hasNewer(hosts, hosts.get(id), seen(sent + 1n))).toBe(true)
  })

  it('has accepted other content under an epoch that was sent from here too, as a copy of this store sends it', () => {
    const { hosts, vms } = aStore()
    const { id } = hosts.create(aHost())
    const sent = hosts.stampSnapshot(id, 'ours')
    expect(hasNewer(hosts, hosts.get(id), seen(sent, 'ours'))).toBe(false)
    expect(hasNewer(hosts, hosts.get(id), seen(sent, 'theirs'))).toBe(true)
    const later = (digest: string) => {
      vms.create(aVm(id))
      return hosts.stampSnapshot(id, digest)
    }
    const [second, third] = [later('second'), later('third')]
    expect(hasNewer(hosts, hosts.get(id), seen(second, 'second'))).toBe(false)
    expect(hasNewer(hosts, hosts.get(id), seen(second, 'theirs'))).toBe(true)
    vms.create(aVm(id))
    later('fifth')
    expect(hasNewer(hosts, hosts.get(id), seen(third + 1n, 'theirs'))).toBe(true)
    expect(hasNewer(hosts, hosts.get(id), seen(sent, ''))).toBe(false)
    const { sentEpoch } = hosts.get(id)
    hosts.overrule(id, sentEpoch)
    expect(hasNewer(hosts, hosts.get(id), seen(sentEpoch, 'theirs'))).toBe(false)
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
    const counted = newerData({ sentEpoch: 6n }, { epoch: 7n }, vms.listByHost(hostId), report)
    expect(counted).toMatchObject({ epoch: 6n, hostEpoch: 7n, unknownVms: 2, missingVms: 1, deletedVms: 1 })
    expect(vms.listByHost(hostId).map((vm) => vm.name)).toContain(missing!.name)
    const unreported = newerData({ sentEpoch: 6n }, { epoch: 7n }, vms.listByHost(hostId), undefined)
    expect(unreported).toMatchObject({ unknownVms: 0, missingVms: 0, deletedVms: 0 })
  })
})

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { DesiredStateSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmRow } from '../../../../../src/main/control/store/vm-row.ts'
import {
  buildDesiredState,
  buildSnapshot,
  digestOf,
  vmSpecOf,
} from '../../../../../src/main/control/sync/snapshot-builder.ts'
import { aVmRow } from '../../../../support/store-rows.ts'
import { aHost, aStore, aVm } from '../a-store.ts'

const aRow = (change: Partial<VmRow> = {}): VmRow => aVmRow('h'.repeat(32), change)

describe('snapshot builder', () => {
  it('a host is told its own VMs, all of them, and nothing of another host', () => {
    const { hosts, vms } = aStore()
    const [mine, other] = [hosts.create(aHost()), hosts.create(aHost())]
    const kept = [vms.create(aVm(mine.id)), vms.create(aVm(mine.id))]
    vms.create(aVm(other.id))
    const state = buildDesiredState(vms.listByHost(mine.id), [])
    expect(state.vms.map((vm) => vm.vmId).sort()).toEqual(kept.map((vm) => vm.id).sort())
    expect(state.exposures).toEqual([])
    const digest = digestOf(state)
    expect(buildSnapshot(7n, state, digest)).toMatchObject({ epoch: 7n, state, contentSha256: digest })
  })

  it('each VM keeps the CA set frozen at its create; a row without one gets the fleet set of today, empty', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    for (const [name, trustedCas] of [
      ['a', ['ssh-ed25519 OLD ca']],
      ['b', ['ssh-ed25519 NEW ca']],
      ['c', null],
    ] as const)
      vms.create(aVm(host.id, { name, trustedCas: trustedCas && [...trustedCas] }))
    const told = buildDesiredState(vms.listByHost(host.id), []).vms.map((vm) => [vm.name, vm.sshUserCaAuthorizedKeys])
    expect(Object.fromEntries(told)).toEqual({ a: ['ssh-ed25519 OLD ca'], b: ['ssh-ed25519 NEW ca'], c: [] })
  })

  it('a row without a recorded set is told the CAs its tenant has now, asked once for a whole snapshot', () => {
    const asked: string[] = []
    const trust = {
      userCas: (tenant: string) => {
        asked.push(tenant)
        return ['ssh-ed25519 NOW']
      },
      krl: () => new Uint8Array(),
      hasHostCa: () => false,
    }
    const rows = [aRow({ trustedCas: null }), aRow({ trustedCas: ['ssh-ed25519 OWN'] }), aRow({ trustedCas: null })]
    const told = buildDesiredState(rows, [], 'default', trust).vms.flatMap((vm) => vm.sshUserCaAuthorizedKeys)
    expect(told.sort()).toEqual(['ssh-ed25519 NOW', 'ssh-ed25519 NOW', 'ssh-ed25519 OWN'])
    expect(asked).toEqual(['default'])
  })

  it('a certificate is waited for where the VM was made to wait and a CA here can give it, or has', () => {
    const told = (row: Partial<VmRow>, hasHostCa: boolean) => {
      const { hostCertRequired, sshHostCert } = vmSpecOf(aRow(row), { userCas: () => [], hasHostCa: () => hasHostCa })
      return [hostCertRequired, sshHostCert]
    }
    expect(told({ hostCertRequired: false }, true)).toEqual([false, ''])
    expect(told({ hostCertRequired: true }, true)).toEqual([true, ''])
    expect(told({ hostCertRequired: true }, false)).toEqual([false, ''])
    expect(told({ hostCertRequired: true, hostCertificate: 'cert' }, false)).toEqual([true, 'cert'])
  })

  it('the list of revoked certificates is that of the tenant of the host', () => {
    const krl = (tenant: string) => Buffer.from(tenant)
    const trust = { userCas: () => [], hasHostCa: () => false, krl }
    expect(Buffer.from(buildDesiredState([], [], 'lab', trust).sshKrl).toString()).toBe('lab')
    expect(buildDesiredState([], []).sshKrl).toHaveLength(0)
  })

  it('with no upgrade pending the offer is absent on the wire, not an empty one', () => {
    const overTheWire = (state: ReturnType<typeof buildDesiredState>) =>
      fromBinary(DesiredStateSchema, toBinary(DesiredStateSchema, state)).agentUpgrade
    expect(overTheWire(buildDesiredState([aRow()], []))).toBeUndefined()
    expect(overTheWire(create(DesiredStateSchema, { agentUpgrade: {} }))).toBeDefined()
  })

  it('sends every field of the spec', () => {
    const row = aRow({
      cloudInit: new Uint8Array([1, 2]),
      sshAuthorizedKeys: ['ssh-ed25519 AAAA me'],
      trustedCas: ['ssh-ed25519 BBBB ca'],
      network: 'office',
      backend: 'qemu',
      powerState: 'stopped',
      forceStop: true,
      restartCount: 3,
      autostart: false,
      imageKind: 'kernel',
      imageFormat: 'raw',
    })
    expect(vmSpecOf(row)).toMatchObject({
      vmId: row.id,
      name: row.name,
      imageUrl: '',
      imageSha256: row.imageSha256,
      imageKind: 'kernel',
      imageFormat: 'raw',
      cloudInit: new Uint8Array([1, 2]),
      vcpus: 1,
      memMb: 512,
      diskGb: 10,
      powerState: 'stopped',
      forceStop: true,
      restartCount: 3n,
      autostart: false,
      network: 'office',
      backend: 'qemu',
      sshAuthorizedKeys: ['ssh-ed25519 AAAA me'],
      sshUserCaAuthorizedKeys: ['ssh-ed25519 BBBB ca'],
      tenant: 'default',
    })
  })

  it('a host is told the ports of VMs that are not deleted, in the order of ids', () => {
    const { hosts, vms, exposures } = aStore()
    const host = hosts.create(aHost())
    const [vm, gone] = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    const port = { guestPort: 443, protocol: 'tcp', scope: 'lan' } as const
    exposures.create({ ...port, id: 'b'.repeat(32), vmId: vm.id, hostPort: 1 })
    exposures.create({ ...port, id: 'a'.repeat(32), vmId: vm.id, hostPort: 2 })
    exposures.create({ ...port, id: 'c'.repeat(32), vmId: gone.id, hostPort: 3 })
    vms.edit(gone.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
    const told = () => buildDesiredState(vms.listByHost(host.id), exposures.listByHost(host.id)).exposures
    expect(told()).toMatchObject([
      { id: 'a'.repeat(32), vmId: vm.id, hostPort: 2, guestPort: 443, protocol: 'tcp', scope: 'lan' },
      { id: 'b'.repeat(32), hostPort: 1 },
    ])
    vms.edit(gone.id, 'vm.undelete', { deletedAt: null, graceS: null })
    expect(told()).toHaveLength(3)
  })

  it('a host without published ports is told the same bytes as before there were any', () => {
    const row = aRow({ id: '1'.repeat(32), hostId: '2'.repeat(32), name: 'vm', imageSha256: '3'.repeat(64) })
    const state = buildDesiredState([row], [])
    expect(Buffer.from(toBinary(DesiredStateSchema, state))).toEqual(
      Buffer.from(toBinary(DesiredStateSchema, create(DesiredStateSchema, { vms: [vmSpecOf(row)] }))),
    )
  })

  it('persistent is always true', () => {
    expect(vmSpecOf(aRow()).persistent).toBe(true)
  })

  it('a tombstone stands exactly on deleted VMs, with what is left of the grace to give', () => {
    expect(vmSpecOf(aRow()).tombstone).toBeUndefined()
    expect(vmSpecOf(aRow({ deletedAt: new Date(), graceS: 604800 })).tombstone?.graceS).toBe(604800n)
    expect(vmSpecOf(aRow({ deletedAt: new Date(), graceS: 0 })).tombstone?.graceS).toBe(0n)
  })

  it('no certificate is waited for while the fleet has no CA', () => {
    expect(vmSpecOf(aRow()).hostCertRequired).toBe(false)
  })

  it('the digest does not depend on the order of rows, and on nothing live', () => {
    const [a, b] = [aRow(), aRow()]
    const digest = (rows: VmRow[]) => Buffer.from(digestOf(buildDesiredState(rows, []))).toString('hex')
    expect(digest([a, b])).toBe(digest([b, a]))
    expect(digest([{ ...a, assignedIp: '10.0.0.9', status: 'ready' }, b])).toBe(digest([a, b]))
    expect(digest([{ ...a, vcpus: 2 }, b])).not.toBe(digest([a, b]))
  })
})

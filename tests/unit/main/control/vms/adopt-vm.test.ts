import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { VmRowSchema, type VmSpec, VmSpecSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { vmSpecOf } from '../../../../../src/main/control/sync/snapshot-builder.ts'
import { adoptedVm } from '../../../../../src/main/control/vms/adopt-vm.ts'
import type { UnownedVm } from '../../../../../src/main/control/vms/unowned-vms.ts'
import { aHost, anId, aStore, faultOf } from '../a-store.ts'

/** With a value of its own in everything a control plane can ask for. */
const aSpec = (change: Omit<MessageInitShape<typeof VmSpecSchema>, '$typeName'> = {}): VmSpec =>
  create(VmSpecSchema, {
    vmId: anId(),
    name: 'web',
    imageUrl: 'https://images.example.test/nobody-knows.qcow2',
    imageSha256: 'e'.repeat(64),
    imageKind: 'disk',
    imageFormat: 'qcow2',
    cloudInit: new TextEncoder().encode('#cloud-config\n'),
    vcpus: 3,
    memMb: 768,
    diskGb: 7,
    persistent: true,
    powerState: 'running',
    sshAuthorizedKeys: ['ssh-ed25519 AAAA me'],
    sshUserCaAuthorizedKeys: ['ssh-ed25519 BBBB ca'],
    network: 'lab',
    backend: 'qemu',
    restartCount: 5n,
    autostart: false,
    tenant: 'default',
    ...change,
  })

function aFleet() {
  const { vms, hosts } = aStore()
  const hostId = hosts.create(aHost()).id
  const held = (spec: VmSpec, seen?: { phase?: string; power?: string }): UnownedVm => ({
    id: spec.vmId,
    hostId,
    spec,
    ...(seen ? { seen: create(VmRowSchema, { vmId: spec.vmId, phase: 'ready', unowned: true, ...seen }) } : {}),
  })
  return { vms, hosts, hostId, held }
}

describe('adopting a VM', () => {
  it('takes it with whatever user-data it was made with', () => {
    const { vms, held } = aFleet()
    const cloudInit = new Uint8Array([0xff, 0, 10, ...new TextEncoder().encode('no header\n')])
    const spec = aSpec({ cloudInit })
    vms.adopt(adoptedVm(held(spec), ''))
    expect(vms.find(spec.vmId)?.cloudInit).toEqual(cloudInit)
  })

  it('tells its host what that holds already, byte by byte, in a new epoch', () => {
    const { vms, hosts, hostId, held } = aFleet()
    const spec = aSpec({ sshUserCaAuthorizedKeys: ['ssh-ed25519 A'], hostCertRequired: true, sshHostCert: 'cert' })
    const before = hosts.get(hostId).epoch
    const row = vms.adopt(adoptedVm(held(spec, { power: 'running' }), ''))
    expect(Buffer.from(toBinary(VmSpecSchema, vmSpecOf(row)))).toEqual(Buffer.from(toBinary(VmSpecSchema, spec)))
    expect(row).toMatchObject({ tenant: 'default', deletedAt: null })
    expect(hosts.get(hostId).epoch).toBe(before + 1n)
  })

  it.each([
    ['one that runs goes on', 'running', { power: 'running' }, 'running'],
    ['one whose guest is paused goes on', 'running', { power: 'paused' }, 'running'],
    ['one that is down stays down', 'running', { power: 'stopped' }, 'stopped'],
    ['one that runs although it was to stop runs on', 'stopped', { power: 'running' }, 'running'],
    ['one in quarantine stays stopped', 'running', undefined, 'stopped'],
    ['one that was never whole is made as it was meant', 'running', { phase: 'creating', power: 'stopped' }, 'running'],
  ])('neither starts nor stops it: %s', (_, wanted, seen, power) => {
    const { held } = aFleet()
    expect(adoptedVm(held(aSpec({ powerState: wanted }), seen), '').powerState).toBe(power)
  })

  it('waits until its host has said whether it runs, and how it is made', async () => {
    const { hostId, held } = aFleet()
    const { id } = held(aSpec())
    expect(faultOf(() => adoptedVm(held(aSpec(), {}), ''))).toMatchObject({ code: 'vm/waiting' })
    const seen = create(VmRowSchema, { phase: 'ready', power: 'running' })
    const said = (unowned: boolean) => faultOf(() => adoptedVm({ id, hostId, seen: { ...seen, unowned } }, ''))
    expect(said(false)).toMatchObject({
      code: 'vm/waiting',
      params: { detail: expect.stringContaining('not said yet') },
    })
    expect(said(true)).toMatchObject({ code: 'vm/waiting', params: { detail: expect.stringContaining('one message') } })
  })

  it('refuses what no control plane can have asked for', () => {
    const { held } = aFleet()
    const broken = [aSpec({ name: '$(id)' }), aSpec({ vcpus: 0 }), aSpec({ memMb: 2 ** 31 })]
    for (const spec of broken)
      expect(faultOf(() => adoptedVm(held(spec, { power: 'running' }), ''))).toMatchObject({ code: 'input/invalid' })
    expect(adoptedVm(held(aSpec({ name: '$(id)' }), { power: 'running' }), 'web').name).toBe('web')
  })
})

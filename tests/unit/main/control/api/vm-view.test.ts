import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { VmMetricsSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { vmView } from '../../../../../src/main/control/api/vm-view.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import type { PushState } from '../../../../../src/main/control/hosts/image-push.ts'
import type { HostRow } from '../../../../../src/main/control/store/host-row.ts'
import type { VmRow } from '../../../../../src/main/control/store/vm-row.ts'
import type { HostLive } from '../../../../../src/main/control/sync/registry.ts'
import { aVmRow } from '../../../../support/store-rows.ts'
import { aHost } from '../a-store.ts'

const NOW = 1_000_000
const host = { ...aHost({ name: 'rack' }), tenant: 'default', lastSeenAt: null } as HostRow
const row = (change: Partial<VmRow> = {}): VmRow => aVmRow(host.id, { name: 'web', ...change })

function answering(report: MessageInitShape<typeof ReportSchema>, ageMs = 0): HostLive {
  const full = create(ReportSchema, report)
  return {
    link: { state: 'connected' },
    session: {} as ActiveSession,
    report: full,
    vms: new Map(full.vms.map((vm) => [vm.vmId, vm])),
    quarantined: new Map(full.quarantined.map((vm) => [vm.vmId, vm])),
    reportedAt: new Date(NOW - ageMs),
    reportedMonotonic: NOW - ageMs,
  }
}
const away: HostLive = { link: { state: 'unreachable' } }
const view = (vm: VmRow, live: HostLive, push?: PushState) =>
  vmView(vm, { host, live, imageName: 'tiny', monotonicNow: NOW, ...(push ? { push } : {}) })

describe('VM view', () => {
  it('says of a VM that was brought back and is still in quarantine there that it is stopped and on its way', () => {
    const vm = row({ status: 'ready' })
    const seen = view(vm, answering({ quarantined: [{ vmId: vm.id }] }))
    expect(seen).toMatchObject({ lifecycle: 'stopped', power: 'stopped', detail: 'coming back from quarantine' })
  })

  it('merges what should be with what the host said', () => {
    const vm = row()
    const seen = view(vm, answering({ vms: [{ vmId: vm.id, phase: 'ready', power: 'running', ip: '10.0.0.9' }] }))
    expect(seen).toMatchObject({
      name: 'web',
      hostName: 'rack',
      imageName: 'tiny',
      desiredPower: 'running',
      power: 'running',
      phase: 'ready',
      lifecycle: 'ready',
      ip: '10.0.0.9',
      hostUnknown: false,
    })
  })

  it('unknown stays unknown: with the host away there is no power and no phase', () => {
    const seen = view(row({ status: 'ready', assignedIp: '10.0.0.9' }), away)
    expect([seen.power, seen.phase, seen.asOf]).toEqual([undefined, undefined, undefined])
    expect(seen).toMatchObject({ hostUnknown: true, lifecycle: 'ready', ip: '10.0.0.9' })
  })

  it('what it takes of its host is what was measured, and absent where nothing was', () => {
    const vm = row()
    const metrics = { cpuTimeMs: 0n, rssBytes: 5n }
    const told = (change: object) => view(vm, answering({ vms: [{ vmId: vm.id, ...change }] })).metrics
    expect(told({ metrics })).toEqual(create(VmMetricsSchema, metrics))
    expect([told({}), view(vm, away).metrics]).toEqual([undefined, undefined])
    const deleted = row({ deletedAt: new Date(0) })
    const inQuarantine = answering({ quarantined: [{ vmId: deleted.id, metrics: { diskUsedBytes: 7n } }] })
    expect(view(deleted, inQuarantine).metrics).toEqual(create(VmMetricsSchema, { diskUsedBytes: 7n }))
  })

  it('a power the agent does not know is absent, not stopped', () => {
    const vm = row()
    const seen = view(vm, answering({ vms: [{ vmId: vm.id, detail: 'looking' }] }))
    expect([seen.power, seen.phase, seen.detail]).toEqual([undefined, undefined, 'looking'])
  })

  it('a VM that the reports of its connected host leave out is of no known time, power or phase', () => {
    const seen = view(row({ status: 'ready' }), answering({ notices: ['Its record cannot be read.'] }))
    expect([seen.power, seen.phase, seen.asOf, seen.hostUnknown]).toEqual([undefined, undefined, undefined, false])
  })

  it.each<[string, Partial<VmRow>, object | undefined, string]>([
    ['nobody said anything yet', {}, undefined, 'creating'],
    ['it is being made', {}, { phase: 'creating' }, 'creating'],
    ['it is up', {}, { phase: 'ready', power: 'running' }, 'ready'],
    ['it is down', {}, { phase: 'ready', power: 'stopped' }, 'stopped'],
    ['it failed', {}, { phase: 'failed' }, 'failed'],
    ['LIF-02: the phase is unknown and was ready', { status: 'ready' }, {}, 'ready'],
    ['LIF-02: the phase is unknown and had failed', { status: 'failed' }, undefined, 'failed'],
    ['it is deleted, whatever the host says', { deletedAt: new Date() }, { phase: 'ready' }, 'deleting'],
  ])('LIF-01: when %s', (_, change, said, lifecycle) => {
    const vm = row(change)
    expect(view(vm, said ? answering({ vms: [{ vmId: vm.id, ...said }] }) : away).lifecycle).toBe(lifecycle)
  })

  it('the end of quarantine is shown when the host has confirmed it, and not before', () => {
    const vm = row({ deletedAt: new Date(), graceS: 60 })
    const destroyAt = { seconds: 123n, nanos: 0 }
    expect(view(vm, answering({})).quarantineEndsAt).toBeUndefined()
    const seen = view(vm, answering({ quarantined: [{ vmId: vm.id, destroyAt }] }))
    expect(seen).toMatchObject({ quarantineEndsAt: { seconds: 123n }, power: 'stopped' })
    const frozen = view(vm, answering({ quarantined: [{ vmId: vm.id }] }))
    expect(frozen.quarantineEndsAt).toBeUndefined()
  })

  it('a failure keeps its reason while the host is away, and a new report replaces it', () => {
    const vm = row({ status: 'failed', lastError: 'No room.', lastReason: 'vm/over-capacity' })
    expect(view(vm, away)).toMatchObject({ reason: 'vm/over-capacity', detail: 'No room.' })
    expect(view(vm, answering({ vms: [{ vmId: vm.id, phase: 'ready' }] }))).toMatchObject({ reason: '', detail: '' })
  })

  it('no recorded CA set is absent, an empty one is there', () => {
    expect(view(row(), away).trustedCas).toBeUndefined()
    expect(view(row({ trustedCas: [] }), away).trustedCas?.publicKeys).toEqual([])
  })

  it('a progress without a declared size has no total', () => {
    const vm = row()
    const said = { vmId: vm.id, progress: { step: 2, steps: 5, doneBytes: 7n } }
    const { progress } = view(vm, answering({ vms: [said] }))
    expect(progress).toMatchObject({ step: 2, steps: 5, doneBytes: 7n })
    expect(progress?.totalBytes).toBeUndefined()
  })

  describe('whose image is pushed to its host', () => {
    const waiting = (vm: VmRow, said: object = {}) =>
      answering({
        vms: [{ vmId: vm.id, phase: 'creating', detail: 'waiting', progress: { step: 2, steps: 6 }, ...said }],
        wantedImages: [{ sha256: vm.imageSha256 }],
      })
    const full = new Fault('host/disk-full', 'transient', { free: '1 MiB', needed: '3 MiB' })
    const going: PushState = { progress: { doneBytes: 5, totalBytes: 9 } }

    it('shows the bytes on their way', () => {
      const vm = row()
      const seen = view(vm, waiting(vm), going)
      expect(seen).toMatchObject({ reason: '', detail: 'sending the image to the host' })
      expect(seen.progress).toMatchObject({ step: 2, steps: 6, doneBytes: 5n, totalBytes: 9n })
    })

    it('says why the last try failed, in the words of that fault and with its own names', () => {
      const vm = row()
      const seen = view(vm, waiting(vm), { ...going, fault: full })
      expect(seen).toMatchObject({ reason: 'host/disk-full', detail: 'rack has 1 MiB free; this needs 3 MiB.' })
      const said = new Fault('image/digest-mismatch', 'permanent', { said: 'It is damaged.' })
      expect(view(vm, waiting(vm), { fault: said })).toMatchObject({
        reason: 'image/digest-mismatch',
        detail: 'It is damaged.',
      })
    })

    it('leaves alone what the host says, a VM that does not wait for it, and one whose host is away', () => {
      const vm = row()
      const push = { fault: full }
      expect(view(vm, waiting(vm), undefined)).toMatchObject({ reason: '', detail: 'waiting' })
      expect(view(vm, waiting(vm, { reason: 'vm/over-capacity' }), push).reason).toBe('vm/over-capacity')
      expect(view(vm, waiting(vm, { phase: 'ready' }), push).reason).toBe('')
      expect(view(row({ ...vm, imageUrl: 'https://a.test/b' }), waiting(vm), push).reason).toBe('')
      expect(view(vm, { ...waiting(vm), reportedMonotonic: 0 }, push).reason).toBe('')
      expect(view(vm, away, push).reason).toBe('')
    })
  })

  it('nothing written only once comes back', () => {
    const secret = 'marked-secret'
    const vm = row({ cloudInit: new TextEncoder().encode(secret), sshAuthorizedKeys: [secret] })
    const text = JSON.stringify(view(vm, away), (_, value) => (typeof value === 'bigint' ? `${value}` : value))
    expect(text).not.toContain(secret)
  })
})

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { type ExposureStatus, ExposureStatusSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { portView } from '../../../../../src/main/control/api/port-view.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import type { ExposureRow } from '../../../../../src/main/control/store/exposures-store.ts'
import type { HostRow } from '../../../../../src/main/control/store/host-row.ts'
import type { VmRow } from '../../../../../src/main/control/store/vm-row.ts'
import type { HostLive } from '../../../../../src/main/control/sync/registry.ts'
import { aHost, aVm } from '../a-store.ts'

const NOW = 1_000_000
const ID = 'e'.repeat(32)
const aHostRow = (change: Partial<HostRow> = {}): HostRow =>
  ({ ...aHost({ name: 'rack' }), tenant: 'default', uplinkAddress: '', ...change }) as HostRow
const host = aHostRow()
const vm = { ...aVm(host.id, { name: 'web' }), deletedAt: null } as VmRow
const row: ExposureRow = {
  ...{ id: ID, tenant: 'default', vmId: vm.id, hostId: host.id, guestPort: 443, hostPort: 8443 },
  ...{ protocol: 'tcp', scope: 'lan', createdAt: new Date(0) },
}

function answering(status: MessageInitShape<typeof ExposureStatusSchema>, ageMs = 0): HostLive {
  const exposures = new Map<string, ExposureStatus>([[ID, create(ExposureStatusSchema, { id: ID, ...status })]])
  return { link: { state: 'connected' }, session: {} as ActiveSession, exposures, reportedMonotonic: NOW - ageMs }
}
const view = (live: HostLive, about: { vm?: VmRow; host?: HostRow } = {}) =>
  portView(row, { vm, host, live, monotonicNow: NOW, ...about })

describe('the view of a published port', () => {
  it('merges the row with what its host said of it', () => {
    const seen = view(answering({ state: 'failed', reason: 'Port 8443 is used by nginx (pid 812).' }))
    expect(seen).toMatchObject({ id: ID, vmName: 'web', hostName: 'rack', state: 'failed', hostUnknown: false })
    expect(seen.reason).toBe('Port 8443 is used by nginx (pid 812).')
  })

  it('keeps absent counts absent, and zeros zero', () => {
    expect(view(answering({ state: 'listening' })).sessions).toBeUndefined()
    expect(view(answering({ state: 'listening', sessions: {} })).sessions).toMatchObject({ active: 0n, dropped: 0n })
  })

  it('is unknown, with the address the host has, when the host said nothing', () => {
    const there = aHostRow({ uplinkAddress: '10.0.2.7' })
    const seen = view({ link: { state: 'unreachable' } }, { host: there })
    expect([seen.state, seen.sessions, seen.hostAddress, seen.hostUnknown]).toEqual([
      undefined,
      undefined,
      '10.0.2.7',
      true,
    ])
    const ssh = { host: 'rack.lab', port: 22, user: 'ops' } as HostRow['ssh']
    expect(view({ link: { state: 'unreachable' } }, { host: aHostRow({ ssh }) }).hostAddress).toBe('rack.lab')
  })

  it('marks what an old report said as last known', () => {
    expect(view(answering({ state: 'listening' }, 60_000))).toMatchObject({ state: 'listening', hostUnknown: true })
  })

  it('takes no state it does not know for one', () => {
    expect(view(answering({ state: 'dancing' })).state).toBeUndefined()
  })

  it('waits with its deleted VM, whatever its host still says', () => {
    const deleted = { ...vm, deletedAt: new Date() }
    expect(view(answering({ state: 'listening' }), { vm: deleted })).toMatchObject({ state: 'waiting' })
  })
})

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { HelloSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { HostMetricsSchema, NewerDataSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { TIMES } from '../../../../../src/ipc/units.ts'
import { hostView, NOTHING_ALLOCATED } from '../../../../../src/main/control/api/host-view.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import type { HostRow } from '../../../../../src/main/control/store/host-row.ts'
import type { HostLive } from '../../../../../src/main/control/sync/registry.ts'
import { aHost } from '../a-store.ts'

const NOW = 1_000_000
const row = (change: Partial<HostRow> = {}): HostRow => ({
  ...aHost(),
  tenant: 'default',
  status: 'enrolled',
  capacity: null,
  agentVersion: '0.9.0',
  backend: 'qemu',
  guestCidr: '',
  uplinkAddress: '',
  lastSeenAt: null,
  epoch: 7n,
  sentEpoch: 7n,
  createdAt: new Date(0),
  labels: {},
  credential: 'login',
  credentialEndsAt: null,
  draining: '',
  ...change,
})
const session = { connection: { carrier: 'streamlocal' } } as unknown as ActiveSession
const connected = (report?: MessageInitShape<typeof ReportSchema>, ageMs = 0): HostLive => ({
  link: { state: 'connected' },
  session,
  hello: create(HelloSchema, { agentVersion: '1.0.0', hostNetworks: ['office'], bootId: 'b1' }),
  ...(report
    ? { report: create(ReportSchema, report), reportedAt: new Date(NOW), reportedMonotonic: NOW - ageMs }
    : {}),
})
const view = (host: HostRow, live: HostLive) => hostView(host, live, NOTHING_ALLOCATED, NOW)

describe('host view', () => {
  it('a host that connected and never reported has no age, and nothing in it is stale', () => {
    const seen = view(row(), connected())
    expect([seen.lastSeenAgeMs, seen.lastSeenAt, seen.stale]).toEqual([undefined, undefined, false])
    expect(seen).toMatchObject({ link: 'connected', carrier: 'streamlocal', agentVersion: '1.0.0' })
  })

  it('says with which epoch its last report was made', () => {
    expect(view(row(), connected({ lastSeenEpoch: 6n }))).toMatchObject({ epoch: 7n, reportedEpoch: 6n })
    expect(view(row(), connected()).reportedEpoch).toBeUndefined()
  })

  it('the age of the last report is reckoned here, by a clock that does not jump', () => {
    expect(view(row(), connected({}, 2500)).lastSeenAgeMs).toBe(2500n)
  })

  it('a report older than the stale window makes the values last known', () => {
    expect(view(row(), connected({}, TIMES.staleMs)).stale).toBe(false)
    expect(view(row(), connected({}, TIMES.staleMs + 1)).stale).toBe(true)
  })

  it('networks are said only by a host that connected', () => {
    expect(view(row(), connected()).hostNetworks).toEqual(['office'])
    expect(view(row(), { link: { state: 'connecting' } }).hostNetworks).toEqual([])
  })

  it('what was never told is absent, not zero', () => {
    const seen = view(row(), { link: { state: 'unreachable' } })
    expect([seen.capacity, seen.metrics, seen.linkFault, seen.nextTryAt]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('what is in use is what the last report measured, zeros and gaps as they were', () => {
    const metrics = { load1: 0, cpuBusyPermille: 0, memTotalBytes: 2n ** 60n, agentFds: 31 }
    expect(view(row(), connected({ metrics })).metrics).toEqual(create(HostMetricsSchema, metrics))
    expect(view(row(), connected({})).metrics).toBeUndefined()
  })

  it('a host that is away shows what is stored of it, and why it is away', () => {
    const lastSeenAt = new Date(Date.UTC(2026, 0, 1))
    const fault = new Fault('host/unreachable', 'transient', { address: 'rack:22' })
    const seen = view(row({ capacity: { vcpus: 8, memMb: 9, diskGb: 10 }, lastSeenAt }), {
      link: { state: 'unreachable', fault, nextTryAt: new Date(Date.UTC(2026, 0, 2)) },
    })
    expect(seen).toMatchObject({
      agentVersion: '0.9.0',
      backend: 'qemu',
      carrier: '',
      capacity: { vcpus: 8, memMb: 9n, diskGb: 10n },
      linkFault: { code: 'host/unreachable', params: { address: 'rack:22' } },
    })
    expect(Number(seen.lastSeenAt?.seconds) * 1000).toBe(lastSeenAt.getTime())
  })

  it('newer data on the host is said in numbers and in a sentence', () => {
    const newer = create(NewerDataSchema, { epoch: 6n, hostEpoch: 7n, unknownVms: 2 })
    const seen = hostView(row({ name: 'rack' }), connected({ fenced: true }), NOTHING_ALLOCATED, NOW, { newer })
    expect(seen.newerData).toEqual(newer)
    expect(seen.notices).toEqual([
      "This app's data is older than rack's (epoch 6 < 7). To avoid undoing newer work nothing is sent to it.",
    ])
  })

  it.each([
    ['an agent ahead of this store', { lastSeenEpoch: 8n }],
    ['a fenced snapshot', { lastSeenEpoch: 7n, fenced: true }],
  ])('FEN-03: %s is said in a sentence for people', (_, report) => {
    expect(view(row(), connected(report)).notices[0]).toContain('newer state of this fleet')
    expect(view(row(), connected({ lastSeenEpoch: 7n })).notices).toEqual([])
  })

  it('says how it is let in, until when, whether it takes VMs, and what it is labelled', () => {
    const ends = new Date(5_000)
    const host = row({ credential: 'key', credentialEndsAt: ends, draining: 'leave', labels: { rack: '7' } })
    const shown = view(host, connected())
    expect(shown).toMatchObject({ credential: 'key', draining: 'leave', labels: { rack: '7' }, tenant: 'default' })
    expect(shown.credentialEndsAt?.seconds).toBe(5n)
    expect(view(row({ credential: 'login', credentialEndsAt: ends }), connected()).credentialEndsAt).toBeUndefined()
  })

  it('names an agent of another version, and what puts this one in its place', () => {
    const upgrade = { upgradeAvailable: '1.1.0', pendingUpgrade: { version: '1.1.0', ageS: 7 } }
    const shown = hostView(row({ name: 'rack' }), connected(), NOTHING_ALLOCATED, NOW, { upgrade })
    expect(shown).toMatchObject({ upgradeAvailable: '1.1.0', pendingUpgrade: { version: '1.1.0', ageS: 7n } })
    expect(shown.notices).toEqual([
      'Its agent is 1.0.0, this app brings 1.1.0: "eitri host upgrade rack" puts that there.',
    ])
    const other = { upgradeAvailable: '1.0.0', pendingUpgrade: undefined }
    expect(hostView(row(), connected(), NOTHING_ALLOCATED, NOW, { upgrade: other }).notices).toEqual([])
  })

  it('tells how the last upgrade went, as its host says it', () => {
    const upgrade = { version: '1.1.0', sha256: 'a'.repeat(64), state: 'rolled_back', detail: 'it ended: boom' }
    const shown = view(row(), connected({ upgrade }))
    expect(shown.upgradeOutcome).toMatchObject({ version: '1.1.0', state: 'rolled_back', detail: 'it ended: boom' })
    expect(view(row(), connected({})).upgradeOutcome).toBeUndefined()
  })
})

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { DesiredStateSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpecSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { freeNameIn, planHost } from '../../../../../src/main/control/rebuild/rebuild-plan.ts'
import { aHost, aStore, aVm } from '../a-store.ts'

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string]
type Spec = MessageInitShape<typeof VmSpecSchema>
const spec = (vmId: string, name: string, change: Spec = {}): Spec => ({
  ...{ vmId, name, imageUrl: 'https://images.test/a', imageSha256: 'd'.repeat(64), imageKind: 'disk' },
  ...{ vcpus: 1, memMb: 512, diskGb: 10, powerState: 'running', ...change },
})
const held = (
  epoch: bigint,
  vms: Spec[],
  exposures: MessageInitShape<typeof DesiredStateSchema>['exposures'] = [],
) => ({
  epoch,
  state: create(DesiredStateSchema, { vms, exposures }),
})
const host = (sentEpoch = 5n) => ({ id: 'h', name: 'rack', sentEpoch })

/** Rows as a store reads them. */
function rows(...named: [id: string, name: string][]) {
  const { hosts, vms } = aStore()
  const { id } = hosts.create(aHost())
  return named.map(([vmId, name]) => vms.create(aVm(id, { id: vmId, name, labels: { kept: 'yes' } })))
}
const plan = (input: Parameters<typeof planHost>[0], taken: string[] = []) =>
  planHost(input, freeNameIn(new Set(taken)))

describe('what the rows of a host become', () => {
  it('where it cannot say what it was told, they stay, and a person decides before anything is sent', () => {
    const { epoch, put, drop, notes } = plan({
      host: host(),
      rows: rows([A, 'web']),
      held: undefined,
      report: undefined,
    })
    expect({ epoch, put, drop }).toEqual({ epoch: undefined, put: [], drop: [] })
    expect(notes.join()).toContain('eitri host takeover rack --from-older')
  })

  it('where what it was told is no newer than what could be read, only what is missing is taken from it', () => {
    const made = plan({
      host: host(5n),
      rows: rows([A, 'web']),
      held: held(5n, [spec(A, 'other'), spec(B, 'db')]),
      report: undefined,
    })
    expect(made).toMatchObject({ readIsOlder: false, drop: [], epoch: 5n, notes: [] })
    expect(made.put.map(({ vm }) => [vm.id, vm.name])).toEqual([[B, 'db']])
  })

  it('where it was told something later, that counts whole: names, power, what is gone; labels stay', () => {
    const made = plan({
      host: host(5n),
      rows: rows([A, 'web'], [C, 'gone']),
      held: held(9n, [spec(A, 'renamed', { powerState: 'stopped' }), spec(B, 'db')]),
      report: undefined,
    })
    expect(made).toMatchObject({ readIsOlder: true, drop: [A, C], epoch: 9n })
    expect(made.put.map(({ vm }) => [vm.id, vm.name, vm.powerState, vm.labels])).toEqual([
      [A, 'renamed', 'stopped', { kept: 'yes' }],
      [B, 'db', 'running', {}],
    ])
    expect(made.notes).toEqual([expect.stringContaining('gone is left out')])
  })

  it('a deletion goes on as its host counts it; one that has ended is not brought back', () => {
    const gone = { tombstone: { graceS: 600n } }
    const ends = Date.UTC(2026, 0, 1, 0, 10)
    const report = create(ReportSchema, {
      quarantined: [{ vmId: A, destroyAt: timestampFromMs(ends) }],
      destroyed: [B],
    })
    const made = plan({
      host: host(),
      rows: [],
      held: held(5n, [spec(A, 'old', gone), spec(B, 'older', gone)]),
      report,
    })
    expect(made.put).toMatchObject([{ vm: { id: A, name: 'old' }, deletedAt: new Date(ends - 600_000), graceS: 600 }])
    expect(made.put).toHaveLength(1)
  })

  it('its published ports come with it, those of VMs that are not taken left out', () => {
    const port = (id: string, vmId: string, protocol: string, scope = '') => ({
      id,
      vmId,
      guestPort: 80,
      hostPort: 80,
      protocol,
      scope,
    })
    const made = plan({
      host: host(),
      rows: rows([A, 'web']),
      held: held(
        5n,
        [spec(A, 'web'), spec(B, 'db')],
        [port('1', A, 'tcp'), port('2', B, 'udp', 'loopback'), port('3', C, 'tcp'), port('4', A, 'sctp')],
      ),
      report: undefined,
    })
    expect(made.ports.map(({ id, scope }) => [id, scope])).toEqual([
      ['1', 'lan'],
      ['2', 'loopback'],
    ])
  })

  it('a VM whose name is taken gets one by its id, and one that cannot be meant stays on its host, each with a word', () => {
    const made = plan(
      { host: host(), rows: [], held: held(5n, [spec(B, 'web'), spec(C, 'Not A Name')]), report: undefined },
      ['web'],
    )
    expect(made.put.map(({ vm }) => vm.name)).toEqual(['web-bbbb'])
    expect(made.notes).toEqual([expect.stringContaining('web-bbbb'), expect.stringContaining('unowned')])
  })

  it('a name that is found is found once', () => {
    const free = freeNameIn(new Set())
    const long = 'x'.repeat(63)
    const names = [A, B, `b${'a'.repeat(31)}`].map((vmId) => free({ name: long, vmId }))
    expect(new Set(names).size).toBe(3)
    for (const name of names) expect(name.length).toBeLessThanOrEqual(63)
  })
})

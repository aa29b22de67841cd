import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { GuestClockSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/clock_pb.js'
import {
  FleetDeltaSchema,
  FleetStateSchema,
  type WatchFleetResponse,
  WatchFleetResponseSchema,
} from '../../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { VmMetricsSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import {
  createFleetStore,
  EMPTY_FLEET,
  FleetBatch,
  type FleetSnapshot,
  knowVm,
} from '../../../../src/renderer/state/fleet-store.ts'
import type { Delta } from '../../../support/fake-fleet/fake-fleet.ts'
import { aHost, aVm } from '../../../support/fake-fleet/rows.ts'

const whole = (revision: bigint, vms = [aVm({ id: 'a' }), aVm({ id: 'b' })]): WatchFleetResponse =>
  create(WatchFleetResponseSchema, {
    revision,
    message: { case: 'state', value: create(FleetStateSchema, { vms, hosts: [aHost({ id: 'h1' })] }) },
  })
const delta = (revision: bigint, change: Delta): WatchFleetResponse =>
  create(WatchFleetResponseSchema, { revision, message: { case: 'delta', value: create(FleetDeltaSchema, change) } })

type Applied = { kind: 'applied'; next: FleetSnapshot } | { kind: 'gap' }
function applyFleetMessage(known: FleetSnapshot, message: WatchFleetResponse): Applied {
  const batch = new FleetBatch(known)
  return batch.take(message) ? { kind: 'applied', next: batch.next } : { kind: 'gap' }
}
function next(applied: Applied): FleetSnapshot {
  if (applied.kind === 'gap') throw new Error('a gap')
  return applied.next
}
const told = () => next(applyFleetMessage(EMPTY_FLEET, whole(7n)))

describe('the fleet store', () => {
  it('knows nothing before the first whole state, which is not an empty fleet', () => {
    expect(EMPTY_FLEET.revision).toBeUndefined()
    expect(next(applyFleetMessage(EMPTY_FLEET, whole(1n, []))).revision).toBe(1n)
  })

  it('knows a VM from the answer that made it, and lets the stream overrule it', () => {
    const store = createFleetStore()
    store.setState(told())
    knowVm(store, aVm({ id: 'new', name: 'answered' }))
    expect(store.getState().vms.get('new')?.name).toBe('answered')
    knowVm(store, aVm({ id: 'a', name: 'late answer' }))
    expect(store.getState().vms.get('a')?.name).not.toBe('late answer')
  })

  it('takes a delta with the next revision', () => {
    const fleet = next(applyFleetMessage(told(), delta(8n, { vms: [aVm({ id: 'b', name: 'renamed' })] })))
    expect(fleet.revision).toBe(8n)
    expect(fleet.vms.get('b')?.name).toBe('renamed')
  })

  it('keeps the identity of every row a delta does not name', () => {
    const before = told()
    const after = next(applyFleetMessage(before, delta(8n, { vms: [aVm({ id: 'b' })] })))
    expect(after.vms.get('a')).toBe(before.vms.get('a'))
    expect(after.hosts).toBe(before.hosts)
  })

  it('takes the metrics of a VM without its row, and forgets them when there are none', () => {
    const before = told()
    const metrics = create(VmMetricsSchema, { rssBytes: 5n })
    const measured = next(applyFleetMessage(before, delta(8n, { vmMetrics: [{ vmId: 'a', metrics }, { vmId: 'x' }] })))
    expect(measured.vms.get('a')).toEqual({ ...before.vms.get('a'), metrics })
    expect(measured.vms.get('b')).toBe(before.vms.get('b'))
    expect(measured.vms.has('x')).toBe(false)
    const gone = next(applyFleetMessage(measured, delta(9n, { vmMetrics: [{ vmId: 'a' }] })))
    expect(gone.vms.get('a')).toEqual(before.vms.get('a'))
  })

  it('takes the clock of a VM without its row, and forgets it when there is none', () => {
    const before = told()
    const clock = create(GuestClockSchema, { source: 'guest_agent', offsetUs: -5n })
    const timed = next(applyFleetMessage(before, delta(8n, { vmClocks: [{ vmId: 'a', clock }, { vmId: 'x' }] })))
    expect(timed.vms.get('a')).toEqual({ ...before.vms.get('a'), clock })
    expect(timed.vms.get('b')).toBe(before.vms.get('b'))
    expect(timed.vms.has('x')).toBe(false)
    const gone = next(applyFleetMessage(timed, delta(9n, { vmClocks: [{ vmId: 'a' }] })))
    expect(gone.vms.get('a')).toEqual(before.vms.get('a'))
  })

  it('drops the rows a delta removes', () => {
    const fleet = next(applyFleetMessage(told(), delta(8n, { removedVmIds: ['a'] })))
    expect([...fleet.vms.values()].map(({ id }) => id)).toEqual(['b'])
  })

  it.each([
    ['one was missed', 9n],
    ['it came twice', 7n],
    ['it is older', 3n],
  ])('calls a delta a gap when %s', (_why, revision) => {
    expect(applyFleetMessage(told(), delta(revision, {})).kind).toBe('gap')
  })

  it('calls a delta before any whole state a gap', () => {
    expect(applyFleetMessage(EMPTY_FLEET, delta(1n, {})).kind).toBe('gap')
  })

  it('replaces everything by a whole state, rows that are gone included', () => {
    const fleet = next(applyFleetMessage(told(), whole(40n, [aVm({ id: 'c' })])))
    expect([...fleet.vms.values()].map(({ id }) => id)).toEqual(['c'])
    expect(fleet.revision).toBe(40n)
  })
})

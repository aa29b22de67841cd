import { describe, expect, it } from 'vitest'
import { planVm, type Wanted } from '../../../../src/agent/reconcile/vm-plan.ts'
import { newRecord, type VmRecord } from '../../../../src/agent/records/vm-record.ts'
import { aVm } from './rig.ts'

const now = { bootId: 'boot-2', uptimeMs: 500_000 }
const live = (change = {}): Wanted => ({ kind: 'live', spec: aVm(change) })
const tombstone = (graceMs: number): Wanted => ({ kind: 'tombstone', spec: aVm(), graceMs, since: '' })
const whole = (change: Partial<VmRecord> = {}): VmRecord => ({ ...newRecord(aVm()), bootId: 'boot-2', ...change })
const quarantine = { elapsedMs: 0, sinceUptimeMs: 0, bootId: 'boot-2', tombstone: '' }

const loop = { crashes: 3, exit: { uptimeMs: 1, reason: '', clean: false } }

describe('the plan for one VM', () => {
  it.each([
    ['wanted with no record: create', live(), undefined, false, { do: 'create' }],
    ['a record without a boot id: create', live(), newRecord(aVm()), false, { do: 'create' }],
    ['and so even while its guest runs', live(), newRecord(aVm()), true, { do: 'create' }],
    ['wanted running and running: rest', live(), whole(), true, { do: 'rest', power: 'running', detail: '' }],
    ['wanted stopped and running: stop', live({ powerState: 'stopped' }), whole(), true, { do: 'stop', force: false }],
    ['by force', live({ powerState: 'stopped', forceStop: true }), whole(), true, { do: 'stop', force: true }],
    [
      'empty power means running',
      live({ powerState: '' }),
      whole(),
      true,
      { do: 'rest', power: 'running', detail: '' },
    ],
    ['a risen restart count: restart', live({ restartCount: 1n }), whole(), true, { do: 'restart' }],
    [
      'an old restart count: rest',
      live({ restartCount: 1n }),
      whole({ restartCount: 1n }),
      true,
      { do: 'rest', power: 'running', detail: '' },
    ],
    [
      'a restart asked of a stopped VM: rest',
      live({ powerState: 'stopped', restartCount: 1n }),
      whole(),
      false,
      { do: 'rest', power: 'stopped', detail: '' },
    ],
    [
      'down with a stop noted: boot as wanted',
      live(),
      whole({ stopRequested: true }),
      false,
      { do: 'boot', because: 'wanted' },
    ],
    ['down without one: it ended', live(), whole(), false, { do: 'boot', because: 'exited' }],
    ['ended three times in a row: a person is asked', live(), whole(loop), false, { do: 'ask' }],
    ['and a reboot of the host answers nothing', live(), whole({ ...loop, bootId: 'boot-1' }), false, { do: 'ask' }],
    ['a start asked for does', live({ restartCount: 1n }), whole(loop), false, { do: 'boot', because: 'wanted' }],
    [
      'another boot of the host: lost to it',
      live(),
      whole({ bootId: 'boot-1' }),
      false,
      { do: 'boot', because: 'host-rebooted' },
    ],
    [
      'stopped before the host rebooted',
      live({ powerState: 'stopped' }),
      whole({ bootId: 'boot-1' }),
      false,
      { do: 'rest', power: 'stopped', detail: '' },
    ],
    [
      'autostart off, but stopped and asked for since',
      live({ autostart: false }),
      whole({ bootId: 'boot-1', stopRequested: true }),
      false,
      { do: 'boot', because: 'wanted' },
    ],
    ['tombstoned without a record: acknowledge', tombstone(9), undefined, false, { do: 'acknowledge' }],
    ['tombstoned: quarantine', tombstone(9), whole(), true, { do: 'quarantine' }],
    ['tombstoned, never whole: quarantine too', tombstone(9), newRecord(aVm()), false, { do: 'quarantine' }],
    ['grace over: destroy', tombstone(500_000), whole({ quarantine }), false, { do: 'destroy' }],
    ['within grace: quarantine', tombstone(500_001), whole({ quarantine }), false, { do: 'quarantine' }],
    ['grace 0: destroy', tombstone(0), whole(), true, { do: 'destroy' }],
    ['absent: leave', { kind: 'absent', unowned: true }, whole(), true, { do: 'leave' }],
    ['absent in quarantine: hold', { kind: 'absent', unowned: true }, whole({ quarantine }), false, { do: 'hold' }],
  ] satisfies [string, Wanted, VmRecord | undefined, boolean, object][])(
    '%s',
    (_why, wanted, record, running, plan) => {
      expect(planVm(wanted, { record, running, now })).toEqual(plan)
    },
  )
})

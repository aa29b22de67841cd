import { describe, expect, it } from 'vitest'
import { DEFAULT_GRACE_S } from '../../../../../src/main/control/store/tenants-store.ts'
import type { VmRow } from '../../../../../src/main/control/store/vm-row.ts'
import { planAction, type SeenVm, type VmAction } from '../../../../../src/main/control/vms/lifecycle-actions.ts'
import { aVm, faultOf } from '../a-store.ts'

const NOW = new Date(Date.UTC(2026, 0, 10))
const ago = (s: number) => new Date(NOW.getTime() - s * 1000)

const live = (change: Partial<VmRow> = {}) =>
  ({ ...aVm('h'.repeat(32), { name: 'web' }), restartCount: 4, deletedAt: null, graceS: null, ...change }) as VmRow
const deleted = (change: Partial<VmRow> = {}) => live({ deletedAt: ago(60), graceS: DEFAULT_GRACE_S, ...change })
const plan = (vm: VmRow, action: VmAction, seen: SeenVm = {}) => planAction(vm, action, seen, NOW)

describe('lifecycle actions', () => {
  it.each<[string, VmRow, VmAction, SeenVm, object]>([
    [
      'start sets running',
      live({ powerState: 'stopped' }),
      { do: 'start' },
      {},
      { powerState: 'running', forceStop: false },
    ],
    [
      'start of a running one changes nothing more',
      live(),
      { do: 'start' },
      { power: 'running', phase: 'ready' },
      {
        powerState: 'running',
        forceStop: false,
      },
    ],
    [
      'start of one whose state is unknown asks nothing more',
      live(),
      { do: 'start' },
      {},
      {
        powerState: 'running',
        forceStop: false,
      },
    ],
    [
      'start of a failed one asks for another try',
      live(),
      { do: 'start' },
      { phase: 'failed' },
      {
        powerState: 'running',
        forceStop: false,
        restartCount: 5,
      },
    ],
    [
      'start of one that went down by itself asks again',
      live(),
      { do: 'start' },
      { power: 'stopped' },
      {
        powerState: 'running',
        forceStop: false,
        restartCount: 5,
      },
    ],
    ['stop sets stopped', live(), { do: 'stop', force: false }, {}, { powerState: 'stopped', forceStop: false }],
    ['a forced stop says so', live(), { do: 'stop', force: true }, {}, { powerState: 'stopped', forceStop: true }],
    [
      'restart counts one more',
      live(),
      { do: 'restart' },
      {},
      {
        powerState: 'running',
        forceStop: false,
        restartCount: 5,
      },
    ],
    [
      'restart of a stopped one is a start',
      live({ powerState: 'stopped' }),
      { do: 'restart' },
      {},
      {
        powerState: 'running',
        forceStop: false,
      },
    ],
    [
      "delete tombstones for its tenant's time, seven days by default",
      live(),
      { do: 'delete', graceS: DEFAULT_GRACE_S },
      {},
      { deletedAt: NOW, graceS: 604_800 },
    ],
    ['purge ends the grace now', deleted(), { do: 'purge' }, {}, { graceS: 0 }],
    ['purge is idempotent', deleted({ graceS: 0 }), { do: 'purge' }, {}, { graceS: 0 }],
    [
      'MUT-05: undelete clears the tombstone and keeps the power it had',
      deleted(),
      { do: 'undelete', newName: '' },
      {},
      {
        deletedAt: null,
        graceS: null,
      },
    ],
    [
      'undelete takes another name',
      deleted(),
      { do: 'undelete', newName: 'old' },
      {},
      {
        deletedAt: null,
        graceS: null,
        name: 'old',
      },
    ],
  ])('%s', (_, vm, action, seen, edit) => {
    expect(plan(vm, action, seen)).toEqual(edit)
  })

  it.each<VmAction>([
    { do: 'start' },
    { do: 'stop', force: false },
    { do: 'restart' },
    { do: 'delete', graceS: DEFAULT_GRACE_S },
  ])('a deleted VM refuses $do', (action) => {
    expect(faultOf(() => plan(deleted(), action))).toMatchObject({ code: 'vm/deleted', params: { vm: 'web' } })
  })

  it.each<VmAction>([{ do: 'undelete', newName: '' }, { do: 'purge' }])('a live VM refuses $do', (action) => {
    expect(faultOf(() => plan(live(), action)).code).toBe('vm/not-deleted')
  })

  it.each<[string, VmRow, SeenVm]>([
    ['it was purged', deleted({ graceS: 0 }), {}],
    ['its host destroyed it', deleted(), { destroyed: true }],
    ['its host says the grace ended', deleted(), { destroyAt: ago(1) }],
    ['its grace ended and nobody says more', deleted({ deletedAt: ago(DEFAULT_GRACE_S + 1) }), {}],
  ])('undelete is refused when %s', (_, vm, seen) => {
    expect(faultOf(() => plan(vm, { do: 'undelete', newName: '' }, seen)).code).toBe('vm/not-found')
  })

  it('the end its host tells counts before our own reckoning', () => {
    const late = deleted({ deletedAt: ago(DEFAULT_GRACE_S + 1) })
    const seen = { destroyAt: new Date(NOW.getTime() + 1000) }
    expect(plan(late, { do: 'undelete', newName: '' }, seen)).toMatchObject({ deletedAt: null })
  })
})

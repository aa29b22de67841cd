import { describe, expect, it } from 'vitest'
import { BUILT_IN_VIEWS } from '../../../../../src/renderer/features/views/built-in-views.ts'
import { listValues } from '../../../../../src/renderer/features/views/list-values.ts'
import { VM_FILTER_FIELDS, vmFilterRecord } from '../../../../../src/renderer/features/vms/view-model.ts'
import { matchesFilter, parseFilter } from '../../../../../src/renderer/lib/filter.ts'
import { EMPTY_FLEET } from '../../../../../src/renderer/state/fleet-store.ts'
import { aGuestClock, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.parse('2026-03-02T14:00:00Z')
const vms = [
  aVm({ name: 'web', labels: { app: 'shop', prod: '', owner: 'Anna Schmidt' }, clock: aGuestClock(1, NOW) }),
  aVm({ name: 'off', clock: aGuestClock(-41_000, NOW) }),
  aVm({ name: 'gone', hostUnknown: true, asOf: at(NOW - 60_000) }),
  aVm({ name: 'lost', hostUnknown: true, asOf: at(NOW - 7_200_000) }),
]
const fleet = { ...EMPTY_FLEET, vms: new Map(vms.map((vm) => [vm.id, vm])) }
const values = (field: string) => listValues('vms', field, fleet, NOW)

describe('the values of a column', () => {
  it('are state words without the times in them', () => {
    expect(values('state')).toEqual([
      { value: 'Running', count: 2 },
      { value: 'Unknown', count: 2 },
    ])
  })

  it('are single labels, whole where their text has spaces', () => {
    expect(values('label').map((v) => v.value)).toEqual(['app=shop', 'owner=Anna Schmidt', 'prod'])
  })

  it('are the names of what is there where a list is asked for page by page', () => {
    expect(listValues('activity', 'vm', fleet, NOW).map((v) => v.value)).toEqual(['gone', 'lost', 'off', 'web'])
    expect(listValues('consoles', 'vm', fleet, NOW)).toEqual([])
  })
})

describe('views the app brings', () => {
  it('find the VMs whose clock is off, and no others', () => {
    const view = BUILT_IN_VIEWS['vms']?.find((v) => v.name === 'Clock off')
    const terms = parseFilter(view?.filter ?? '', VM_FILTER_FIELDS)
    expect(vms.filter((vm) => matchesFilter(vmFilterRecord(vm, NOW), terms)).map((vm) => vm.name)).toEqual(['off'])
  })

  it('have one name each in their list', () => {
    for (const views of Object.values(BUILT_IN_VIEWS)) expect(new Set(views.map((v) => v.name)).size).toBe(views.length)
  })
})

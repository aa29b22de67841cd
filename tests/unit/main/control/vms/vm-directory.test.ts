import { describe, expect, it } from 'vitest'
import { findVm, getDeletedVm, getLiveVm, getVm } from '../../../../../src/main/control/vms/vm-directory.ts'
import { aHost, aStore, aVm, faultOf } from '../a-store.ts'

function aDirectory() {
  const { hosts, vms } = aStore()
  const host = hosts.create(aHost())
  const make = (name: string) => vms.create(aVm(host.id, { name }))
  const makeDeleted = (name: string, graceS = 60) => {
    const { id } = make(name)
    return vms.edit(id, 'vm.delete', { deletedAt: new Date(), graceS })
  }
  return { vms, make, makeDeleted }
}
const never = () => false

describe('looking up VMs', () => {
  it('a name means the live VM, an id means any', () => {
    const { vms, make, makeDeleted } = aDirectory()
    const old = makeDeleted('web')
    expect(findVm(vms, 'default', 'web')).toBeUndefined()
    const web = make('web')
    expect(getVm(vms, 'default', 'web').id).toBe(web.id)
    expect(getVm(vms, 'default', old.id).id).toBe(old.id)
    expect(faultOf(() => getVm(vms, 'default', 'db')).code).toBe('vm/not-found')
  })

  it('a name that no live VM has means the one in quarantine, and several of them are listed by id', () => {
    const { vms, makeDeleted } = aDirectory()
    const old = makeDeleted('web')
    expect(getVm(vms, 'default', 'web').id).toBe(old.id)
    const other = makeDeleted('web')
    const fault = faultOf(() => getVm(vms, 'default', 'web'))
    expect(fault.code).toBe('vm/ambiguous')
    expect(fault.params['ids']?.split(', ').sort()).toEqual([old.id, other.id].sort())
  })

  it('says that a VM is deleted rather than that there is none', () => {
    const { vms, makeDeleted } = aDirectory()
    const old = makeDeleted('web')
    for (const ref of ['web', old.id]) expect(faultOf(() => getLiveVm(vms, 'default', ref)).code).toBe('vm/deleted')
    expect(faultOf(() => getLiveVm(vms, 'default', 'db')).code).toBe('vm/not-found')
  })

  it('finds a deleted one by name and id, and says when there is none to find', () => {
    const { vms, make, makeDeleted } = aDirectory()
    const old = makeDeleted('web')
    const live = make('db')
    for (const ref of ['web', old.id]) expect(getDeletedVm(vms, 'default', ref, never).id).toBe(old.id)
    for (const ref of ['db', live.id])
      expect(faultOf(() => getDeletedVm(vms, 'default', ref, never)).code).toBe('vm/not-deleted')
    expect(faultOf(() => getDeletedVm(vms, 'default', 'none', never)).code).toBe('vm/not-found')
  })

  it('lists the ids when several deleted ones share a name, leaving out those that cannot be meant', () => {
    const { vms, makeDeleted } = aDirectory()
    const [one, two] = [makeDeleted('web'), makeDeleted('web')]
    const fault = faultOf(() => getDeletedVm(vms, 'default', 'web', never))
    expect(fault.code).toBe('vm/ambiguous')
    expect(fault.params['ids']?.split(', ').sort()).toEqual([one.id, two.id].sort())
    expect(getDeletedVm(vms, 'default', 'web', (vm) => vm.id === one.id).id).toBe(two.id)
  })
})

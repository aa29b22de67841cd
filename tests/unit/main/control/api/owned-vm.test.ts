import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../../src/ipc/faults.ts'
import type { FleetView } from '../../../../../src/main/control/api/fleet-view.ts'
import { mutateVm } from '../../../../../src/main/control/api/owned-vm.ts'
import type { VmRow } from '../../../../../src/main/control/store/vm-row.ts'
import { aHost, aStore, aVm } from '../a-store.ts'

const view = { vm: (row: VmRow) => ({ id: row.id }) } as unknown as FleetView

function aFleet() {
  const stores = aStore()
  const host = stores.hosts.create(aHost())
  const vm = stores.vms.create(aVm(host.id))
  const changed: string[] = []
  stores.db.onCommit((changes) => void changed.push(...changes.map(({ noun }) => noun)))
  return { ...stores, vm, changed }
}

describe('the one way a VM is changed', () => {
  it('asks whose it is, changes it, notes that, pokes its host and tells watchers, in this order and once', () => {
    const { vms, vm, changed, audit } = aFleet()
    const order: string[] = []
    const answer = mutateVm(
      { vms, view },
      {
        find: () => {
          order.push('find')
          return vm
        },
        action: 'vm.update',
        plan: () => {
          order.push('plan')
          return { memMb: 1024 }
        },
      },
    )
    expect(order).toEqual(['find', 'plan'])
    expect(answer.vm).toEqual({ id: vm.id })
    expect(changed.sort()).toEqual(['desired', 'host', 'vm'])
    expect(audit.list({ tenants: ['default'], vmId: vm.id, limit: 9 } as never)[0]).toMatchObject({
      action: 'vm.update',
    })
  })

  it('plans and changes nothing of a VM that is not theirs', () => {
    const { vms, changed } = aFleet()
    const find = () => {
      throw new Fault('vm/not-found', 'permanent', { vm: 'x' })
    }
    const plan = () => {
      throw new Error('it was planned')
    }
    expect(() => mutateVm({ vms, view }, { find, action: 'vm.update', plan })).toThrow('vm/not-found')
    expect(changed).toEqual([])
  })

  it('has succeeded even when the VM is gone by the time of the answer', () => {
    const { vms, vm } = aFleet()
    const going = {
      find: (id: string) => vms.find(id),
      edit: (...given: Parameters<typeof vms.edit>) => {
        const row = vms.edit(...given)
        vms.reap(vm.hostId, [vm.id])
        return row
      },
    } as unknown as typeof vms
    const deleted = { deletedAt: new Date(), graceS: 0 }
    const answer = mutateVm({ vms: going, view }, { find: () => vm, action: 'vm.delete', plan: () => deleted })
    expect(answer.vm).toBeUndefined()
    expect(answer.row).toMatchObject(deleted)
  })
})

import { describe, expect, it } from 'vitest'
import { macOf } from '../../../../src/agent/network/mac.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import { aVm, ID, Rig } from './rig.ts'

const tombstone = aVm({ tombstone: { graceS: 0n } })

describe('the network of a VM', () => {
  it('gives it an address that is in its record from its first boot on, and stays there without an answer', async () => {
    await using rig = await Rig.open()
    rig.network.addresses.set(ID, '10.77.0.2')
    await rig.want(aVm())
    expect([rig.row()?.ip, rig.records.of(ID)?.ip]).toEqual(['10.77.0.2', '10.77.0.2'])
    rig.network.addresses.clear()
    await rig.restart()
    expect(rig.row()?.ip).toBe('10.77.0.2')
  })

  it('is left only once the VM is destroyed: neither by a stop nor in quarantine', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.want(aVm({ powerState: 'stopped' }))
    await rig.want(aVm({ tombstone: { graceS: 3600n } }))
    expect(rig.network.detached).toEqual([])
    await rig.want(tombstone)
    expect(rig.network.detached).toEqual([ID])
  })

  it('that cannot be taken away keeps the VM from being called destroyed', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.network.onDetach = () => {
      throw new Fault('vmm/failed', 'transient', { detail: 'ip link delete: busy' })
    }
    await rig.want(tombstone)
    expect(rig.engine.report().destroyed).toEqual([])
    expect(rig.quarantined()?.detail).toContain('busy')
    rig.network.onDetach = () => {}
    await rig.tick()
    expect(rig.engine.report().destroyed).toEqual([ID])
  })

  it('that is full refuses a new VM, and says so', async () => {
    await using rig = await Rig.open()
    rig.network.attach = async () => {
      throw new Fault('vm/network-full', 'permanent', { host: 'This host', network: '10.77.0.0/28' })
    }
    await rig.want(aVm())
    expect(rig.row()).toMatchObject({ phase: 'failed', reason: 'vm/network-full' })
    expect(rig.row()?.detail).toContain('no address left for web')
  })

  it('of the operator gives the seed the MAC of its NIC', async () => {
    await using rig = await Rig.open()
    rig.network.look = ({ vmId }) => [{ mac: macOf(vmId) }, { mac: macOf(vmId, 1) }]
    await rig.want(aVm({ network: 'lan' }))
    expect(rig.seeds.at(-1)?.input).toMatchObject({ mac: macOf(ID), networkMac: macOf(ID, 1) })
    await rig.want(aVm({ vmId: 'c'.repeat(32), name: 'plain' }))
    expect(rig.seeds.at(-1)?.input.networkMac).toBeUndefined()
  })
})

import { describe, expect, it } from 'vitest'
import { hostCounts, treeRows } from '../../../../../src/renderer/features/vms/tree-rows.ts'
import { aHost, anUnreportedVm, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const rack = aHost({ id: 'rack', name: 'rack2-07' })
const edge = aHost({ id: 'edge', name: 'edge-1' })
const web = aVm({ id: 'web', name: 'web-1', hostId: 'rack' })
const db = aVm({ id: 'db', name: 'db-1', hostId: 'rack' })

describe('the tree of hosts and VMs', () => {
  it('has every host, also one without VMs, and the VMs', () => {
    expect(treeRows([rack, edge], [web, db], false).map(({ name }) => name)).toEqual([
      'rack2-07',
      'edge-1',
      'web-1',
      'db-1',
    ])
  })

  it('leaves out hosts that have nothing of what is filtered', () => {
    expect(treeRows([rack, edge], [web], true).map(({ name }) => name)).toEqual(['rack2-07', 'web-1'])
  })

  it('counts what runs, what is unknown and what is deleted apart', () => {
    const vms = [
      web,
      aVm({ hostUnknown: true }),
      anUnreportedVm(),
      aVm({ power: 'stopped' }),
      aVm({ deletedAt: at(1) }),
    ]
    expect(hostCounts(vms)).toBe('4 VMs · 1 running · 2 unknown · 1 in quarantine')
    expect(hostCounts([])).toBe('no VMs')
  })
})

import { describe, expect, it } from 'vitest'
import { DRAIN_CAP, planDrain } from '../../../../../src/renderer/features/hosts/drain-plan.ts'
import { aHost, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const host = aHost({ id: 'h1', name: 'rack' })
const on = { hostId: 'h1', hostName: 'rack' }
const vms = [
  aVm({ ...on, name: 'web' }),
  aVm({ ...on, name: 'db', protected: true }),
  aVm({ ...on, name: 'off', power: 'stopped', desiredPower: 'stopped' }),
  aVm({ ...on, name: 'gone', deletedAt: at(1) }),
  aVm({ ...on, name: 'stray', unowned: true }),
  aVm({ hostId: 'other', hostName: 'other', name: 'elsewhere' }),
]

describe('the plan of a drain', () => {
  it('stops what runs, leaves protected and unowned VMs, and counts those that are off', () => {
    expect(planDrain([host], vms, { stopVms: true }).steps).toEqual([
      {
        host,
        stops: ['web'],
        stays: [
          { name: 'db', why: 'protected' },
          { name: 'stray', why: 'not in this fleet' },
        ],
        off: 1,
        waits: false,
      },
    ])
  })

  it('stops nothing when VMs are left running', () => {
    const [step] = planDrain([host], vms, { stopVms: false }).steps
    expect(step?.stops).toEqual([])
    expect(step?.stays.map(({ name }) => name)).toEqual(['db', 'stray', 'web'])
  })

  it('leaves out who is drained so already or on the way out, and says that a silent host waits', () => {
    const drained = aHost({ name: 'a', draining: 'stop' })
    const leaving = aHost({ name: 'b', status: 'decommissioning' })
    const silent = aHost({ name: 'c', link: 'unreachable' })
    const plan = planDrain([silent, leaving, drained], [], { stopVms: true })
    expect(plan.left.map(({ host: { name }, why }) => [name, why])).toEqual([
      ['a', 'is drained so already'],
      ['b', 'is being removed'],
    ])
    expect(plan.steps[0]?.waits).toBe(true)
    expect(planDrain([drained], [], { stopVms: false }).steps).toHaveLength(1)
  })

  it('covers so many hosts by one confirmation', () => {
    const many = Array.from({ length: DRAIN_CAP + 2 }, (_, i) => aHost({ name: `h${String(i).padStart(3, '0')}` }))
    const plan = planDrain(many, [], { stopVms: true })
    expect([plan.steps.length, plan.beyond.length]).toEqual([DRAIN_CAP, 2])
  })
})

import { describe, expect, it } from 'vitest'
import type { Vm } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import {
  BULK_CAP,
  BULK_MOST,
  type BulkAct,
  bulkMeaning,
  bulkQuestion,
  byName,
  isInterrupting,
  planBulk,
} from '../../../../../src/renderer/features/vms/bulk-plan.ts'
import { anUnreportedVm, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const around = { portsOf: () => [], withSilent: false }
const plan = (act: BulkAct, ...vms: Vm[]) => planBulk(act, byName(vms), around)
const why = (act: BulkAct['do'], vm: Vm) => plan({ do: act } as BulkAct, vm).left[0]?.why
const stopped = { power: 'stopped', desiredPower: 'stopped' }

describe('the plan of an act on many VMs', () => {
  it('names each in the order of names, with what happens to it', () => {
    const { steps, left } = plan({ do: 'stop' }, aVm({ name: 'web-2' }), aVm({ name: 'db-1' }))
    expect(steps.map(({ vm, effect }) => [vm.name, effect])).toEqual([
      ['db-1', 'its guest is asked to power off'],
      ['web-2', 'its guest is asked to power off'],
    ])
    expect(left).toEqual([])
  })

  it.each<[string, BulkAct['do'], Vm]>([
    ['runs already', 'start', aVm()],
    ['is being started already', 'start', aVm({ power: 'stopped' })],
    ['stopped already', 'stop', aVm(stopped)],
    ['is being stopped already', 'stop', aVm({ desiredPower: 'stopped' })],
    ['stopped: start it instead', 'restart', aVm(stopped)],
    ['not made yet: it is being created', 'restart', anUnreportedVm()],
    ['is not well: start it instead', 'restart', aVm({ phase: 'failed', power: 'stopped' })],
    ['protected: take its protection away first', 'delete', aVm({ protected: true })],
    ['in quarantine: undo its delete first', 'stop', aVm({ deletedAt: at(1) })],
    ['not in this fleet: adopt it first', 'delete', aVm({ unowned: true })],
    ['not deleted', 'undelete', aVm()],
    ['protected already', 'protect', aVm({ protected: true })],
    ['not protected', 'unprotect', aVm()],
  ])('leaves out, because it is %s: %s', (expected, act, vm) => expect(why(act, vm)).toBe(expected))

  it('leaves out what its host does not answer for, and asks for it only when that was said', () => {
    const silent = aVm({ hostUnknown: true, hostName: 'edge-1' })
    const without = plan({ do: 'stop' }, silent)
    expect(without.left[0]?.why).toBe('edge-1 does not answer: nobody knows whether it runs')
    expect(without.silent).toBe(1)
    const withIt = planBulk({ do: 'stop' }, [silent], { ...around, withSilent: true })
    expect(withIt.steps[0]).toMatchObject({ waits: true })
    expect(withIt.silent).toBe(1)
  })

  it('never says of a VM of a silent host that it runs or is stopped', () => {
    expect(why('start', aVm({ hostUnknown: true }))).toBe('asked to run already')
    expect(why('stop', aVm({ ...stopped, hostUnknown: true }))).toBe('asked to stop already')
  })

  it('protects and labels VMs of silent hosts: that is kept here', () => {
    const silent = aVm({ hostUnknown: true })
    expect(plan({ do: 'protect' }, silent).steps[0]).toMatchObject({ waits: false })
    expect(plan({ do: 'labels', set: { prod: '' }, remove: [] }, silent).steps).toHaveLength(1)
  })

  it(`covers ${BULK_CAP} with one confirmation of what interrupts guests, and leaves the rest for the next`, () => {
    const many = Array.from({ length: BULK_CAP + 7 }, (_, i) => aVm({ name: `vm-${1000 + i}` }))
    for (const act of ['stop', 'restart', 'delete'] as const) {
      const { steps, beyond } = planBulk({ do: act }, many, around)
      expect([steps.length, beyond.length]).toEqual([BULK_CAP, 7])
      expect(isInterrupting({ do: act })).toBe(true)
    }
    expect(planBulk({ do: 'protect' }, many, around).steps).toHaveLength(BULK_CAP + 7)
    const more = Array.from({ length: BULK_MOST + 1 }, () => aVm({ protected: true }))
    expect(planBulk({ do: 'unprotect' }, more, around).beyond).toHaveLength(1)
  })

  it('interrupts nobody that was not listed when it was asked, though there is room by now', () => {
    const [one, two, three] = ['a', 'b', 'c'].map((name) => aVm({ name, power: 'running', desiredPower: 'running' }))
    const stopped = { ...two!, desiredPower: 'stopped', power: 'stopped' }
    const listed = new Set([one!.id, two!.id])
    const plan = planBulk({ do: 'stop' }, [one!, stopped, three!], { portsOf: () => [], withSilent: false, listed })
    expect(plan.steps.map(({ vm }) => vm.name)).toEqual(['a'])
    expect(plan.beyond.map(({ name }) => name)).toEqual(['c'])
  })

  it('says what goes with a VM that is deleted', () => {
    const { steps } = planBulk({ do: 'delete' }, [aVm({ diskGb: 80 })], { ...around, portsOf: () => ['10.0.2.7:8443'] })
    expect(steps[0]?.effect).toBe('stops, and its disk of 80 GB goes to quarantine; closes 10.0.2.7:8443')
  })

  it('tries a VM that is down for good again', () => {
    expect(plan({ do: 'start' }, aVm({ power: 'stopped', phase: 'failed' })).steps[0]?.effect).toBe('is tried again')
  })

  it.each<[string, Vm]>([
    ['its guest is asked to power off', aVm()],
    ['is stopped, though it is paused', aVm({ power: 'paused' })],
    ['is not started any more', aVm({ power: 'stopped', phase: 'failed' })],
    ['is made, and then left off', anUnreportedVm()],
  ])('says of a stop: %s', (effect, vm) => expect(plan({ do: 'stop' }, vm).steps[0]?.effect).toBe(effect))

  it('says of a delete that it stops only what is not stopped', () => {
    expect(plan({ do: 'delete' }, aVm(stopped)).steps[0]?.effect).toBe('its disk of 10 GB goes to quarantine')
  })

  it('changes only labels that differ', () => {
    const act: BulkAct = { do: 'labels', set: { app: 'shop', prod: '' }, remove: ['old', 'gone'] }
    const { steps, left } = plan(
      act,
      aVm({ name: 'a', labels: { app: 'shop', old: '1' } }),
      aVm({ name: 'b', labels: { app: 'shop', prod: '' } }),
    )
    expect(steps.map(({ effect }) => effect)).toEqual(['gets prod, loses old'])
    expect(left[0]?.why).toBe('has these labels already')
  })

  it('asks by number, and says when there is nothing to do', () => {
    const one = plan({ do: 'stop' }, aVm())
    expect(bulkQuestion(one)).toBe('Stop 1 VM?')
    const none = plan({ do: 'stop' }, aVm(stopped))
    expect(bulkQuestion(none)).toBe('Nothing to stop')
    expect(bulkMeaning(none)).toBe('None of the 1 VM chosen can be asked; the list says why.')
  })
})

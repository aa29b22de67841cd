import { describe, expect, it } from 'vitest'
import type { Vm } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import {
  cloneDraft,
  cloneProblems,
  cloneRequest,
  whyNotCloned,
} from '../../../../../src/renderer/features/vms/clone-draft.ts'
import { at, aVm } from '../../../../support/fake-fleet/rows.ts'

const source = aVm({ name: 'db-3', diskGb: 80, power: 'stopped', desiredPower: 'stopped' })
const free = () => false

describe('a clone', () => {
  it('has the next free name, and is sized as its source', () => {
    expect(cloneDraft(source, free)).toMatchObject({ name: 'db-3-clone', diskGb: '80', start: true })
    expect(cloneDraft(source, (name) => ['db-3-clone', 'db-3-clone-2'].includes(name)).name).toBe('db-3-clone-3')
  })

  it('keeps the size of its source where a field is empty', () => {
    const draft = { ...cloneDraft(source, free), vcpus: '', start: false }
    expect(cloneRequest(source, draft)).toMatchObject({ vcpus: 0, diskGb: 80, power: 'stopped' })
  })

  it('has no smaller disk, no name in use, no words for numbers', () => {
    const of = (change: object, taken = free) =>
      cloneProblems(source, { ...cloneDraft(source, free), ...change }, taken)
    expect(of({})).toEqual([])
    expect(of({ diskGb: '10' })).toEqual([{ field: 'disk_gb', problem: 'the disk it is copied from has 80 GB' }])
    expect(of({}, () => true)).toEqual([{ field: 'name', problem: 'this name is in use' }])
    expect(of({ memMb: 'much' })).toEqual([{ field: 'mem_mb', problem: 'use a whole number' }])
  })

  it.each<[string | undefined, Vm]>([
    [undefined, source],
    ['It is to run. A disk is copied only while nothing writes to it: stop it first.', aVm()],
    ['It is still stopping.', aVm({ desiredPower: 'stopped' })],
    ['rack2-07 does not answer, and copying a disk needs it now.', { ...source, hostUnknown: true }],
    ['It has no whole disk yet to copy.', { ...source, phase: 'failed' }],
    ['It is in quarantine: undo its delete first.', { ...source, deletedAt: at(1) }],
  ])('waits, because: %s', (why, vm) => expect(whyNotCloned(vm)).toBe(why))
})

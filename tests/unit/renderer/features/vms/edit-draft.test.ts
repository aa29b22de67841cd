import { describe, expect, it } from 'vitest'
import {
  draftOf,
  type EditDraft,
  editChanges,
  editProblems,
  editRequest,
  fieldWords,
} from '../../../../../src/renderer/features/vms/edit-draft.ts'
import { aVm } from '../../../../support/fake-fleet/rows.ts'

const vm = aVm({
  name: 'web-1',
  vcpus: 1,
  memMb: 512,
  diskGb: 10,
  labels: { app: 'shop', old: '' },
  clockPolicy: 'auto',
})
const draft = (change: Partial<EditDraft> = {}): EditDraft => ({ ...draftOf(vm), ...change })
const problems = (change: Partial<EditDraft>) => editProblems(vm, draft(change), (name) => name === 'taken')
const changes = (change: Partial<EditDraft>, of = vm, backend = 'qemu') =>
  editChanges(of, draft(change), { backend }).map(({ label, before, after, atRestart }) => [
    label,
    before,
    after,
    atRestart,
  ])

describe('an edit of a VM', () => {
  it('asks for nothing when nothing differs', () => {
    expect(editRequest(vm, draft())).toEqual({ vm: vm.id })
    expect(changes({})).toEqual([])
    expect(problems({})).toEqual([])
  })

  it('asks for what differs alone', () => {
    expect(editRequest(vm, draft({ vcpus: '2', protected: true }))).toEqual({ vm: vm.id, vcpus: 2, protected: true })
    expect(editRequest(vm, draft({ autostart: false, autostartDelayS: '30' }))).toEqual({
      ...{ vm: vm.id, autostart: false, autostartDelayS: 30 },
    })
  })

  it('sets and takes away labels', () => {
    expect(editRequest(vm, draft({ labels: 'app=blog, prod' }))).toEqual({
      ...{ vm: vm.id, labels: { app: 'blog', prod: '' }, removeLabels: ['old'] },
    })
  })

  it('shows before and after, and what the running guest gets only at its next start', () => {
    expect(changes({ vcpus: '2', memMb: '2048', diskGb: '20', name: 'web-9', labels: 'app=shop' })).toEqual([
      ['Name', 'web-1', 'web-9', true],
      ['vCPUs', '1', '2', true],
      ['Memory', '512 MB', '2 GB', true],
      ['Disk', '10 GB', '20 GB', false],
      ['Labels', 'app=shop, old', 'app=shop', false],
    ])
  })

  it('needs no restart of one that is stopped', () => {
    const off = { ...vm, power: 'stopped' }
    expect(changes({ vcpus: '2' }, off)).toEqual([['vCPUs', '1', '2', false]])
  })

  it('grows the disk of another hypervisor than QEMU at its next start', () => {
    expect(changes({ diskGb: '20' }, vm, 'cloud-hypervisor')).toEqual([['Disk', '10 GB', '20 GB', true]])
  })

  it('needs a restart only for a clock of the other kind of guest', () => {
    expect(changes({ clockPolicy: 'host-only' })).toEqual([['Clock policy', 'auto', 'host-only', false]])
    expect(changes({ clockPolicy: 'windows-domain' })).toEqual([['Clock policy', 'auto', 'windows-domain', true]])
  })

  it.each<[string, Partial<EditDraft>, string, string]>([
    ['a disk that shrinks', { diskGb: '5' }, 'disk_gb', 'a disk is never made smaller, and this one has 10 GB'],
    ['a name in use', { name: 'taken' }, 'name', 'this name is in use'],
    ['no name', { name: '' }, 'name', 'name it'],
    ['words for a number', { vcpus: 'two' }, 'vcpus', 'use a whole number'],
    ['an empty number', { memMb: '' }, 'mem_mb', 'use a whole number'],
    ['no vCPU', { vcpus: '0' }, 'vcpus', 'at least 1'],
    ['too many', { vcpus: '9999' }, 'vcpus', 'vCPUs must be at most 256'],
    ['a delay of a day', { autostartDelayS: '86400' }, 'autostart_delay_s', 'a delay is at most 3600 seconds'],
    ['a label with spaces', { labels: 'my app=1' }, 'labels', 'letters, digits and ._/- only'],
  ])('refuses %s beside its field', (_, change, field, problem) => {
    expect(problems(change)).toEqual([{ field, problem }])
  })

  it('names fields as people do', () => {
    expect(fieldWords(['vcpus', 'mem_mb', 'name'])).toBe('vCPUs, memory and name')
    expect(fieldWords(['mem_mb'])).toBe('memory')
  })
})

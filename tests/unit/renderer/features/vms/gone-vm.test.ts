import { describe, expect, it } from 'vitest'
import { goneVm, type VmSheetKind } from '../../../../../src/renderer/features/vms/gone-vm.ts'
import { at, aVm } from '../../../../support/fake-fleet/rows.ts'

const vm = aVm({ name: 'db-3', hostName: 'rack2' })
const held = { ...vm, deletedAt: at(1) }
const KINDS: VmSheetKind[] = ['remove', 'purge', 'undelete', 'adopt', 'edit', 'clone', 'template', 'forceStop']

describe('a sheet of a VM', () => {
  it.each(KINDS)('says that the VM of %s is gone, by name, and what became of its disk', (kind) => {
    const gone = goneVm(kind, vm, { now: undefined, hostThere: true })
    expect(gone?.title).toBe('db-3 is gone')
    expect(gone?.what).toContain('destroyed on rack2 with its disk')
  })

  it('does not call a VM destroyed whose host left the fleet: there it goes on', () => {
    expect(goneVm('edit', vm, { now: undefined, hostThere: false })?.what).toContain('There it goes on as it was')
  })

  it.each(['remove', 'edit', 'clone', 'template', 'forceStop'] as const)(
    'says for %s that the VM was moved to quarantine meanwhile',
    (kind) => {
      expect(goneVm(kind, vm, { now: held, hostThere: true })?.title).toBe('db-3 is in quarantine')
    },
  )

  it('destroys nothing that was brought back meanwhile', () => {
    for (const kind of ['purge', 'undelete'] as const)
      expect(goneVm(kind, held, { now: vm, hostThere: true })?.title).toBe('db-3 is not in quarantine any more')
  })

  it('adopts nothing twice', () => {
    const now = { ...vm, unowned: false }
    expect(goneVm('adopt', { ...vm, unowned: true }, { now, hostThere: true })?.title).toBe(
      'db-3 is in this fleet already',
    )
  })

  it('acts while the VM is what it was opened for', () => {
    expect(goneVm('edit', vm, { now: { ...vm, power: 'stopped' }, hostThere: true })).toBeUndefined()
    expect(goneVm('purge', held, { now: held, hostThere: true })).toBeUndefined()
  })
})

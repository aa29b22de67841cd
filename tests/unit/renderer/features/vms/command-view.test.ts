import { describe, expect, it } from 'vitest'
import type { Vm } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { commandLineView, desiredSpec } from '../../../../../src/renderer/features/vms/command-view.ts'
import { at, aVm } from '../../../../support/fake-fleet/rows.ts'
import { aCommand } from '../../../../support/fake-fleet/vm-scene.ts'

const running = aVm({ name: 'web-1' })
const off = aVm({ name: 'web-1', power: 'stopped', desiredPower: 'stopped' })
const view = (vm: Vm, change = {}) => commandLineView({ ...aCommand(vm), ...change })

describe('the command line of a hypervisor', () => {
  it('is one line a shell splits again, for what runs and for what the next start would be', () => {
    const { what, lines, differs } = view(running)
    expect(what).toBe('QEMU, process 48211')
    expect(differs).toBe(true)
    expect(lines.map(({ label }) => label)).toEqual(['As it runs', 'As its next start would be'])
    expect(lines[0]?.text).toContain('-m 2048 ')
    expect(lines[0]?.text).not.toContain('-m 4096')
    expect(lines[1]?.text).toContain('-m 4096')
  })

  it('is one where nothing differs', () => {
    const parts = [{ ...aCommand(running).parts[0]!, args: ['qemu', '-name', "it's"] }]
    const { lines, differs } = view(running, { parts })
    expect(differs).toBe(false)
    expect(lines).toEqual([
      { of: 'running', label: 'As it runs, and would start again', text: `qemu -name 'it'\\''s'` },
    ])
  })

  it('is that of the next start alone for one that does not run', () => {
    const { what, lines } = view(off)
    expect(what).toBe('QEMU, not running')
    expect(lines.map(({ of }) => of)).toEqual(['next'])
  })

  it('says what nobody knows, and shows no line of it', () => {
    const unread = view(running, { runsKnown: false })
    expect(unread.unknown).toEqual(['What runs was started with arguments that its host cannot read.'])
    expect(unread.lines.map(({ of }) => of)).toEqual(['next'])
    const noNext = view(running, { nextUnknown: 'its image is not there yet.' })
    expect(noNext.unknown[0]).toContain('its image is not there yet.')
    expect(noNext.lines.map(({ of }) => of)).toEqual(['running'])
  })
})

describe('what is wanted of a VM', () => {
  it('has what its host is told, and nothing of what the host said', () => {
    const spec = desiredSpec(aVm({ name: 'web-1', ip: '10.0.0.1', labels: { app: 'shop' } }))
    expect(spec).toMatchObject({ name: 'web-1', desired_power: 'running', mem_mb: 512, labels: { app: 'shop' } })
    expect(JSON.stringify(spec)).not.toContain('10.0.0.1')
    expect(desiredSpec(aVm({ deletedAt: at(1) }))).toMatchObject({ deleted: true })
  })
})

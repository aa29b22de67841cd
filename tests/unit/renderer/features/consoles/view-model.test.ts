import { describe, expect, it } from 'vitest'
import type { ConsoleState } from '../../../../../src/renderer/features/consoles/console-session.ts'
import { consoleStatus } from '../../../../../src/renderer/features/consoles/view-model.ts'
import { aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = new Date(2026, 10, 30, 14, 2, 11).getTime()
const state = (change: Partial<ConsoleState> = {}): ConsoleState => ({
  ...{ link: 'live', detail: '', keyboard: true, replaying: false, silent: false, title: '' },
  ...{ resizes: false, notShown: 0n },
  ...change,
})
const off = aVm({ power: 'stopped', desiredPower: 'stopped' })

describe('what a console says of itself', () => {
  it('is live while its VM runs', () => {
    expect(consoleStatus(aVm(), state(), undefined, NOW)).toEqual({ word: 'Live', tone: 'good', notes: [], off: false })
    expect(consoleStatus(aVm(), state({ silent: true }), undefined, NOW).notes).toEqual(['nothing printed yet'])
  })

  it('is off when the VM is off, by the word of its broker or of its host', () => {
    const words = {
      word: 'Off',
      tone: 'quiet',
      notes: ['the VM is off; this is what it printed until 14:00'],
      off: true,
    }
    expect(consoleStatus(off, state({ link: 'stopped' }), NOW - 120_000, NOW)).toEqual(words)
    expect(consoleStatus(off, state(), NOW - 120_000, NOW)).toEqual(words)
  })

  it('says that a VM is on its way, and not that it is off', () => {
    const note = (vm: ReturnType<typeof aVm>) =>
      consoleStatus(vm, state({ link: 'stopped', silent: true }), undefined, NOW).notes[0]
    expect(note(aVm({ phase: 'creating' }))).toBe('the VM is being created; it has printed nothing')
    expect(note(aVm({ power: 'stopped', desiredPower: 'running' }))).toBe('the VM is starting; it has printed nothing')
    expect(note(aVm({ power: 'stopped', desiredPower: 'running', reason: 'vm/exited' }))).toBe(
      'the VM is off; it has printed nothing',
    )
  })

  it('says no time that nobody saw, and nothing of text where there is none', () => {
    const notes = (change: Partial<ConsoleState>) =>
      consoleStatus(off, state({ link: 'stopped', ...change }), undefined, NOW).notes
    expect(notes({})).toEqual(['the VM is off; this is what it printed before'])
    expect(notes({ silent: true })).toEqual(['the VM is off; it has printed nothing'])
  })

  it('is not called off for what a silent host last said', () => {
    const vm = aVm({ power: 'stopped', hostUnknown: true })
    expect(consoleStatus(vm, state({ link: 'reconnecting' }), undefined, NOW)).toMatchObject({
      tone: 'warn',
      off: false,
    })
  })

  it('keeps what the broker adds', () => {
    expect(consoleStatus(aVm(), state({ detail: 'the guest does not read', replaying: true }), 1, NOW).notes).toEqual([
      'the guest does not read',
      'replaying',
    ])
  })
})

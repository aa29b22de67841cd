import { describe, expect, it } from 'vitest'
import type { Vm } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import {
  autostartWords,
  toldAtMs,
  vmActions,
  vmImage,
  vmProgress,
  vmState,
  vmTrouble,
  vmUse,
  waitingWish,
} from '../../../../../src/renderer/features/vms/view-model.ts'
import { anUnreportedVm, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = new Date(2026, 10, 30, 14, 2, 11).getTime()
const HOUR = 3_600_000
const word = (vm: Vm) => vmState(vm, NOW).word

describe('the state word of a VM', () => {
  it.each<[string, Vm]>([
    ['Running', aVm()],
    ['Stopping', aVm({ desiredPower: 'stopped' })],
    ['Stopped', aVm({ power: 'stopped', desiredPower: 'stopped' })],
    ['Starting', aVm({ power: 'stopped' })],
    ['Starting', aVm({ power: 'stopped', reason: 'vm/start-failed' })],
    ['Crashed', aVm({ power: 'stopped', reason: 'vm/exited' })],
    ['Starting', aVm({ power: 'stopped', phase: 'failed', reason: 'vm/powered-off' })],
    ['Crashed', aVm({ power: 'stopped', phase: 'failed', reason: 'vm/exited' })],
    ['Starting', aVm({ power: 'stopped', phase: 'failed', reason: 'vm/start-failed' })],
    ['Stopping', aVm({ phase: 'failed', reason: 'vm/stop-failed', desiredPower: 'stopped' })],
    ['Starting', aVm({ power: 'stopped', phase: 'failed', reason: 'vm/over-capacity' })],
    ['Starting', aVm({ power: 'stopped', phase: 'failed', reason: 'host/disk-full' })],
    ['Needs a decision', aVm({ power: 'stopped', phase: 'failed', reason: 'vm/create-failed' })],
    ['Needs a decision', aVm({ power: 'stopped', phase: 'failed', reason: 'vm/crash-loop' })],
    ['Crashed', aVm({ power: 'paused', reason: 'vm/panicked' })],
    ['Running', aVm({ reason: 'vm/hung' })],
    ['Paused', aVm({ power: 'paused', reason: 'vm/io-error' })],
    ['Paused', aVm({ power: 'paused' })],
    ['Suspended', aVm({ power: 'suspended' })],
    ['Creating', anUnreportedVm()],
    ['Creating', aVm({ phase: 'creating', power: 'stopped' })],
    ['Creating 2/6', aVm({ phase: 'creating', progress: { step: 2, steps: 6, doneBytes: 0n } })],
    ['Needs a decision', aVm({ phase: 'failed', reason: 'image/digest-mismatch' })],
    ['Unowned', aVm({ unowned: true })],
    ['Unknown since 13:02', aVm({ hostUnknown: true, asOf: at(NOW - HOUR) })],
    ['Unknown since 29 Nov 14:02', aVm({ hostUnknown: true, asOf: at(NOW - 24 * HOUR) })],
    ['Unknown', aVm({ hostUnknown: true })],
    ['In quarantine', aVm({ deletedAt: at(NOW) })],
    ['In quarantine until 7 Dec', aVm({ deletedAt: at(NOW), quarantineEndsAt: at(NOW + 7 * 24 * HOUR) })],
    ['In quarantine until 16:02', aVm({ deletedAt: at(NOW), quarantineEndsAt: at(NOW + 2 * HOUR) })],
    ['In quarantine', aVm({ deletedAt: at(NOW), hostUnknown: true })],
  ])('%s', (expected, vm) => expect(word(vm)).toBe(expected))

  it('says unknown, never stopped, when its host is silent', () => {
    const state = vmState(aVm({ hostUnknown: true, power: 'stopped', desiredPower: 'stopped', asOf: at(NOW) }), NOW)
    expect(state.tone).toBe('unknown')
    expect(state.detail).toBe('Last known: stopped')
  })

  it('says unknown for a ready VM whose power was not told', () => {
    const vm = aVm({ asOf: at(NOW) })
    delete vm.power
    expect(word(vm)).toBe('Unknown since 14:02')
  })

  it('says unknown, not creating, of a VM that was ready and that its host leaves out', () => {
    expect(word(anUnreportedVm({ lifecycle: 'ready' }))).toBe('Unknown')
  })

  it('tells a start that goes wrong from one that goes on', () => {
    expect(vmState(aVm({ power: 'stopped' }), NOW).tone).toBe('busy')
    expect(vmState(aVm({ power: 'stopped', reason: 'vm/over-capacity' }), NOW).tone).toBe('warn')
  })

  it('asks for no decision where the host tries again by itself', () => {
    const vm = aVm({
      power: 'stopped',
      phase: 'failed',
      reason: 'vm/exited',
      detail: 'web ended by itself; next try in 9 s',
    })
    expect(vmState(vm, NOW)).toEqual({ word: 'Crashed', tone: 'bad', detail: vm.detail })
    expect(vmState(aVm({ power: 'stopped', phase: 'failed', reason: 'vm/start-failed' }), NOW).tone).toBe('warn')
    expect(vmState(aVm({ power: 'stopped', phase: 'failed', reason: 'vm/crash-loop' }), NOW).tone).toBe('bad')
  })

  it('tells a running guest in trouble from one that is well, with what its host says', () => {
    const vm = aVm({ reason: 'vm/hung', detail: 'The hypervisor of web does not answer.' })
    expect(vmState(vm, NOW)).toMatchObject({ tone: 'warn', detail: 'The hypervisor of web does not answer.' })
    expect(vmState(aVm({ power: 'paused', reason: 'vm/io-error' }), NOW).tone).toBe('warn')
    expect(vmState(aVm(), NOW).tone).toBe('good')
  })

  it('says what a person can do about a crash loop, and offers the start', () => {
    const detail = 'web ended by itself 3 times in a row, each soon after its start (out of memory).'
    const vm = aVm({ power: 'stopped', phase: 'failed', reason: 'vm/crash-loop', detail })
    expect(vmTrouble(vm)?.words).toEqual({
      what: detail,
      effect: 'It is not started any more; its disk is untouched.',
      next: 'Look at its console, then start it again or change it.',
    })
    expect(vmActions(vm).start).toBe(true)
  })

  it('counts down what is left of a quarantine', () => {
    const vm = aVm({ deletedAt: at(NOW), quarantineEndsAt: at(NOW + 148 * HOUR) })
    expect(vmState(vm, NOW).detail).toBe('6 d 4 h left')
    expect(vmState(vm, NOW + 149 * HOUR).detail).toBe('being destroyed')
  })
})

describe('the progress of a creation', () => {
  const progress = (p: { step: number; steps: number; doneBytes: bigint; totalBytes?: bigint }) =>
    vmProgress(aVm({ phase: 'creating', detail: 'sending the image', progress: p }))

  it('names step, detail and bytes', () => {
    expect(progress({ step: 2, steps: 4, doneBytes: 12_300_000n, totalBytes: 24_600_000n })).toEqual({
      step: 2,
      steps: 4,
      detail: 'sending the image',
      bytes: '12.3 MB of 24.6 MB',
      fraction: 0.375,
    })
  })

  it('is never whole before the host says it is ready', () => {
    expect(progress({ step: 4, steps: 4, doneBytes: 10n, totalBytes: 10n })?.fraction).toBe(0.99)
  })

  it('shows what has moved when nobody knows how much there is', () => {
    expect(progress({ step: 1, steps: 4, doneBytes: 2000n })?.bytes).toBe('2.0 KB')
  })

  it('moves no bytes in a step that has none', () => {
    expect(progress({ step: 3, steps: 4, doneBytes: 0n })?.bytes).toBeUndefined()
  })
})

describe('the age of what is shown of a VM', () => {
  const told = aVm({ asOf: at(NOW - HOUR) })

  it('is that of the last report of a host that answers', () => {
    expect(toldAtMs(told, { lastSeenAt: at(NOW) })).toBe(NOW)
    expect(toldAtMs(told, undefined)).toBe(NOW - HOUR)
  })

  it('stands still when the host does not answer, and is none when it never told of the VM', () => {
    expect(toldAtMs(aVm({ hostUnknown: true, asOf: at(NOW - HOUR) }), { lastSeenAt: at(NOW) })).toBe(NOW - HOUR)
    expect(toldAtMs(anUnreportedVm(), { lastSeenAt: at(NOW) })).toBeUndefined()
  })
})

describe('what keeps a VM from what is wanted', () => {
  it('says the sentence the host made, then effect and next move of its code', () => {
    const trouble = vmTrouble(aVm({ reason: 'vm/start-failed', detail: 'web-1 did not start (no space left).' }))
    expect(trouble?.words.what).toBe('web-1 did not start (no space left).')
    expect(trouble?.words.next).toBe('It is tried again by itself.')
  })

  it('has words of its own when the host made none', () => {
    expect(vmTrouble(aVm({ reason: 'vm/over-capacity' }))?.words.what).toBe('No room for web-1.')
  })

  it('is nothing for a VM without a reason', () => {
    expect(vmTrouble(aVm({ detail: 'booting' }))).toBeUndefined()
  })
})

describe('what can be asked of a VM', () => {
  it('offers a deleted VM only the way back and the end', () => {
    expect(vmActions(aVm({ deletedAt: at(NOW) }))).toMatchObject({
      start: false,
      stop: false,
      restart: false,
      remove: false,
      undelete: true,
      purge: true,
    })
  })

  it('offers only to adopt a VM that is not in this fleet', () => {
    const { adopt, ...others } = vmActions(aVm({ unowned: true }))
    expect(adopt).toBe(true)
    expect(Object.values(others)).not.toContain(true)
    expect(vmActions(aVm()).adopt).toBe(false)
    expect(vmActions(aVm({ unowned: true, hostUnknown: true })).adopt).toBe(false)
  })

  it('offers no stop by force of a protected one', () => {
    expect(vmActions(aVm({ protected: true }))).toMatchObject({ stop: true, forceStop: false })
    expect(vmActions(aVm()).forceStop).toBe(true)
  })

  it('offers start or stop by what is wanted, not by what is', () => {
    expect(vmActions(aVm({ desiredPower: 'stopped' }))).toMatchObject({ start: true, stop: false })
    expect(vmActions(aVm({ power: 'stopped' }))).toMatchObject({ start: false, stop: true })
  })
})

describe('what a VM takes of its host', () => {
  const metrics = { cpuBusyPermille: 1500, rssBytes: 1024n ** 3n, diskUsedBytes: 5n }

  it('is CPU on average over its own, disk of what it has, and the memory of its hypervisor for itself', () => {
    expect(vmUse(aVm({ vcpus: 2, memMb: 96, diskGb: 1, metrics }))).toEqual({
      cpu: { used: 750, total: 1000 },
      memoryBytes: 1024 ** 3,
      disk: { used: 5, total: 1024 ** 3 },
    })
  })

  it('is unknown, not zero, for what was not measured', () => {
    expect(vmUse(aVm())).toEqual({ cpu: undefined, memoryBytes: undefined, disk: undefined })
    expect(vmUse(aVm({ vcpus: 0, metrics: { cpuBusyPermille: 5, rssBytes: 0n } }))).toMatchObject({
      cpu: undefined,
      memoryBytes: 0,
    })
  })

  it('is disk alone once it is off: what was last measured was of a process that is gone', () => {
    const nothing = { cpu: undefined, memoryBytes: undefined, disk: { used: 5, total: 10 * 1024 ** 3 } }
    expect(vmUse(aVm({ power: 'stopped', metrics }))).toEqual(nothing)
    expect(vmUse(aVm({ power: 'paused', metrics })).memoryBytes).toBe(1024 ** 3)
  })
})

describe('what waits for a host that does not answer', () => {
  const silent = { hostUnknown: true }

  it('is a stop, a start or a delete, each with the act that takes it back', () => {
    expect(waitingWish(aVm({ ...silent, desiredPower: 'stopped' }))).toEqual({ text: 'its stop', undo: 'start' })
    expect(waitingWish(aVm({ ...silent, power: 'stopped' }))?.undo).toBe('stop')
    expect(waitingWish(aVm({ ...silent, deletedAt: at(NOW) }))?.undo).toBe('undelete')
  })

  it('is nothing once the host confirmed it, while it answers, and after a crash', () => {
    expect(waitingWish(aVm(silent))).toBeUndefined()
    expect(waitingWish(aVm({ ...silent, deletedAt: at(NOW), quarantineEndsAt: at(NOW + HOUR) }))).toBeUndefined()
    expect(waitingWish(aVm({ desiredPower: 'stopped' }))).toBeUndefined()
    expect(waitingWish(aVm({ ...silent, power: 'stopped', reason: 'vm/exited' }))).toBeUndefined()
  })
})

describe('its start with the host', () => {
  it('is said with its delay and its place where it has them', () => {
    expect(autostartWords(aVm({ autostart: false, autostartDelayS: 30 }))).toBe('no')
    expect(autostartWords(aVm())).toBe('yes')
    expect(autostartWords(aVm({ autostartDelayS: 30, autostartOrder: 5 }))).toBe(
      'yes, 30 s after its host booted, place 5',
    )
  })
})

describe('the image of a VM', () => {
  it('is named as in the store, else by the file of its URL', () => {
    expect(vmImage(aVm())).toBe('tiny')
    const of = (imageUrl: string) => vmImage(aVm({ imageName: '', imageUrl }))
    expect(of('https://images.example/a/debian-12.qcow2?x=1')).toBe('debian-12.qcow2')
    expect(of('https://images.example/')).toBe('images.example')
    expect(of('no url')).toBe('no url')
  })

  it('is gone from the store only when it was of the store', () => {
    expect(vmImage(aVm({ imageName: '' }))).toBe('not in the store any more')
    expect(vmImage(aVm({ imageName: '', unowned: true }))).toBe('not in this store')
    expect(vmImage(aVm({ imageName: '', imageSha256: '' }))).toBe('not known')
  })
})

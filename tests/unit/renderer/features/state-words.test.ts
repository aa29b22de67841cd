import { describe, expect, it } from 'vitest'
import { guestClockView, hasClock, hostClockView } from '../../../../src/renderer/features/clock/view-model.ts'
import { hostState } from '../../../../src/renderer/features/hosts/view-model.ts'
import { vmState } from '../../../../src/renderer/features/vms/view-model.ts'
import { SHOTS } from '../../../support/fake-fleet/shot-list.ts'
import { CLOCK_WORD, HOST_WORD, VM_WORD } from '../../../support/state-words.ts'

const NOW = Date.UTC(2026, 5, 1, 12)
const FLEETS = [...new Set(SHOTS.map(({ scene }) => scene))].map((scene) => scene(NOW))
const words = (list: readonly { word: string }[]) => [...new Set(list.map(({ word }) => word))]
const strangeTo = (known: RegExp, list: readonly string[]) => list.filter((word) => !known.test(word))

describe('the words for a state, over every scene there is', () => {
  it('of a host are those there are for one', () => {
    const told = words(FLEETS.flatMap(({ hosts }) => hosts.map((host) => hostState(host, NOW))))
    expect(told.length).toBeGreaterThan(7)
    expect(strangeTo(HOST_WORD, told)).toEqual([])
  })

  it('of a VM are those there are for one', () => {
    const told = words(FLEETS.flatMap(({ vms }) => vms.map((vm) => vmState(vm, NOW))))
    expect(told.length).toBeGreaterThan(10)
    expect(strangeTo(VM_WORD, told)).toEqual([])
  })

  it('of a clock are those there are for one', () => {
    const told = words(
      FLEETS.flatMap(({ hosts, vms }) => [...hosts.map(hostClockView), ...vms.filter(hasClock).map(guestClockView)]),
    )
    expect(told.length).toBeGreaterThan(4)
    expect(strangeTo(CLOCK_WORD, told)).toEqual([])
  })
})

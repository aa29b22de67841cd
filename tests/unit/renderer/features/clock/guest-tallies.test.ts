import { describe, expect, it } from 'vitest'
import { GuestTallies } from '../../../../../src/renderer/features/clock/guest-tallies.ts'
import { aGuestClock, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.UTC(2026, 10, 30, 14)
const off = aVm({ id: 'off', name: 'db-1', clock: aGuestClock(-41_200, NOW) })
const mute = aVm({ id: 'mute', name: 'web-1' })
const metrics = { cpuBusyPermille: 7 } as never

describe('guests counted for the clock headline', () => {
  it('counts those that run on a host that answers, and keeps those that are off', () => {
    const stopped = aVm({ id: 'stopped', power: 'stopped' })
    const away = aVm({ id: 'away', hostUnknown: true })
    const tally = new GuestTallies().update([off, mute, stopped, away])
    expect(tally).toEqual({ off: [off], silent: 1, all: 2 })
  })

  it('stays the same object while only what they use changes', () => {
    const tallies = new GuestTallies()
    const before = tallies.update([off, mute])
    expect(
      tallies.update([
        { ...off, metrics },
        { ...mute, metrics },
      ]),
    ).toBe(before)
  })

  it('is another once a clock, a name or who is there changed', () => {
    const tallies = new GuestTallies()
    const all = [off, mute]
    const before = tallies.update(all)
    const set = tallies.update([{ ...off, clock: aGuestClock(0, NOW) }, mute])
    expect(set).toEqual({ off: [], silent: 1, all: 2 })
    expect(tallies.update([{ ...off, name: 'db-2' }, mute]).off[0]?.name).toBe('db-2')
    expect(tallies.update([off])).toEqual({ off: [off], silent: 0, all: 1 })
    expect(tallies.update(all)).toEqual(before)
  })
})

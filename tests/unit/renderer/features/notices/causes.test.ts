import { describe, expect, it } from 'vitest'
import {
  datedCauses,
  endedTasks,
  isCrashed,
  isLost,
  liveCauses,
} from '../../../../../src/renderer/features/notices/causes.ts'
import { marksOf } from '../../../../../src/renderer/features/notices/marks.ts'
import { EMPTY_FLEET, type FleetSnapshot } from '../../../../../src/renderer/state/fleet-store.ts'
import { aGuestClock, aHost, aTask, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.parse('2026-03-02T14:00:00Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR

const byId = <T extends { id: string }>(rows: T[]) => new Map(rows.map((row) => [row.id, row]))
const fleet = (rows: {
  hosts?: ReturnType<typeof aHost>[]
  vms?: ReturnType<typeof aVm>[]
  tasks?: ReturnType<typeof aTask>[]
}): FleetSnapshot => ({
  ...EMPTY_FLEET,
  revision: 1n,
  hosts: byId(rows.hosts ?? []),
  vms: byId(rows.vms ?? []),
  tasks: byId(rows.tasks ?? []),
})

describe('what a person wants to be told of', () => {
  it('is a VM that crashed, with its host and what it is about', () => {
    const vm = aVm({ name: 'db-3', hostId: 'h1', reason: 'vm/panicked', detail: 'Kernel panic' })
    const [cause] = liveCauses(fleet({ vms: [vm] }), new Map(), NOW)
    expect(cause).toMatchObject({ kind: 'vm-crashed', title: 'db-3 crashed on rack2-07', subject: 'db-3' })
    expect(cause?.address).toBe(`eitri://host/h1/vm/${vm.id}`)
  })

  it('is not a VM that was stopped, deleted, or whose host does not answer', () => {
    const stopped = aVm({ reason: 'vm/exited', desiredPower: 'stopped', power: 'stopped' })
    expect(isCrashed(stopped)).toBe(false)
    const gone = aVm({ reason: 'vm/panicked', deletedAt: at(NOW) })
    const unknown = aVm({ reason: 'vm/panicked', hostUnknown: true })
    expect(liveCauses(fleet({ vms: [stopped, gone, unknown] }), new Map(), NOW)).toEqual([])
  })

  it('is a host lost for two minutes, and says that its VMs are unknown, not stopped', () => {
    const host = aHost({ name: 'edge-1', link: 'unreachable', lastSeenAt: at(NOW), vms: 14 })
    const since = new Map([[host.id, NOW - 125_000]])
    expect(liveCauses(fleet({ hosts: [host] }), new Map([[host.id, NOW - 60_000]]), NOW)).toEqual([])
    const [cause] = liveCauses(fleet({ hosts: [host] }), since, NOW)
    expect(cause).toMatchObject({ kind: 'host-lost', title: 'No answer from edge-1 for 2 min' })
    expect(cause?.text).toContain('14 VMs are unknown, not stopped')
  })

  it('is not a host that waits for a person or was never seen', () => {
    expect(isLost(aHost({ link: 'sign_in_needed', lastSeenAt: at(NOW) }))).toBe(false)
    expect(isLost(aHost({ link: 'unreachable' }))).toBe(false)
  })

  it('is a clock more than five seconds off, and not one that is a little off', () => {
    const off = aVm({ name: 'db-3', clock: aGuestClock(-41_200, NOW) })
    const near = aVm({ clock: aGuestClock(900, NOW) })
    const causes = liveCauses(fleet({ vms: [off, near] }), new Map(), NOW)
    expect(causes.map((c) => c.kind)).toEqual(['clock-jump'])
    expect(causes[0]?.address).toMatch(/\/clock$/)
  })

  it('is the end of a key in fourteen, three and one days, each once', () => {
    const ends = (ms: number) =>
      datedCauses(fleet({ hosts: [aHost({ id: 'h', credentialEndsAt: at(NOW + ms) })] }), NOW)
    expect(ends(15 * DAY)).toEqual([])
    const keys = [13 * DAY, 2.5 * DAY, 20 * HOUR].map((ms) => ends(ms)[0]?.key.split(':').at(-1))
    expect(keys).toEqual(['14', '3', '1'])
    expect(ends(-HOUR)[0]?.title).toContain('has ended')
  })

  it('is a quarantine that ends within a day', () => {
    const vm = (ms: number) => aVm({ name: 'old-ci', deletedAt: at(NOW - DAY), quarantineEndsAt: at(NOW + ms) })
    expect(datedCauses(fleet({ vms: [vm(30 * HOUR)] }), NOW)).toEqual([])
    expect(datedCauses(fleet({ vms: [vm(22 * HOUR)] }), NOW)[0]?.title).toBe('old-ci is destroyed in 22 h')
  })

  it('is a task that took its time and ended, with what came of it', () => {
    const task = (state: string, ms: number) =>
      aTask({ id: 't', kind: 'build_image', subject: 'tiny', state, createdAt: at(NOW - ms), endedAt: at(NOW) })
    const ended = (state: string, ms: number) =>
      endedTasks(fleet({ tasks: [task('running', ms)] }), fleet({ tasks: [task(state, ms)] }), NOW)
    expect(ended('done', 8000)).toEqual([])
    expect(ended('cancelled', 80_000)).toEqual([])
    expect(ended('done', 80_000)[0]).toMatchObject({ tone: 'good', title: 'Building image tiny: done' })
    expect(endedTasks(EMPTY_FLEET, fleet({ tasks: [task('done', 80_000)] }), NOW)).toEqual([])
  })
})

describe('the marks of the rail', () => {
  it('count what needs a person, each in its place', () => {
    const marks = marksOf(
      fleet({
        hosts: [aHost({ link: 'key_changed' }), aHost({ link: 'unreachable' }), aHost()],
        vms: [aVm({ reason: 'vm/panicked' }), aVm({ clock: aGuestClock(60_000, NOW) }), aVm({ unowned: true })],
      }),
      { trust: 2 },
    )
    expect(marks).toEqual({ hosts: 1, vms: 2, trust: 3, clock: 1 })
  })
})

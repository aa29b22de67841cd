import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostEvent } from '../../../../src/agent/clock/host-pulse.ts'
import type { GuestAgent } from '../../../../src/agent/guest/guest-agent.ts'
import { GuestAgentError } from '../../../../src/agent/guest/guest-agent.ts'
import { GuestRounds, type RunningGuest } from '../../../../src/agent/guest/guest-rounds.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { lineLog } from '../../../../src/ipc/base/log.ts'
import { FakeGuestAgent, returns } from '../../../support/fake-guest-agent.ts'
import { SteppedClock } from '../../../support/stepped-clock.ts'

const idOf = (n: number) => n.toString(16).padStart(32, '0')

describe('rounds over guests', () => {
  let clock: SteppedClock
  let running: RunningGuest[]
  let rounds: GuestRounds
  let happened: HostEvent | undefined
  let due: Set<string>
  /** What each visit does; absent = it answers at once. */
  let visit: (id: string, agent: GuestAgent, signal: AbortSignal) => Promise<void>
  const visited: string[] = []
  const silent: string[] = []
  const forgotten: string[] = []
  const noted: string[] = []
  const logged: string[] = []
  let channel: (id: string) => Promise<ReturnType<typeof connect>>

  beforeEach(() => {
    clock = new SteppedClock()
    running = []
    happened = undefined
    due = new Set()
    visit = async () => {}
    channel = async () => Promise.reject(new Error('ENOENT'))
    for (const list of [visited, silent, forgotten, noted, logged]) list.length = 0
    rounds = new GuestRounds({
      list: () => running,
      channel: (vm) => channel(vm.id),
      visitors: [
        {
          visit: async (guest, agent, signal) => {
            visited.push(guest.id)
            await visit(guest.id, agent, signal)
          },
          silent: ({ id }) => void silent.push(id),
          forget: (id) => void forgotten.push(id),
          wantsIn: (id) => (due.has(`${id} soon`) ? 5_000 : undefined),
        },
      ],
      pulse: { beat: () => happened },
      onHost: (cause, id) => void noted.push(`${id} ${cause}`),
      isDue: (id) => due.has(id),
      clock,
      log: lineLog((line) => void logged.push(line)),
    })
  })
  afterEach(() => rounds.stop())

  const runs = (n: number, startedAt = 1): RunningGuest => ({
    id: idOf(n),
    vm: agentLayout('/s').vmDir(idOf(n)),
    policy: 'auto',
    startedAt,
  })
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
  /** Beats every second and tells at which a VM was visited. */
  const secondsOf = async (seconds: number): Promise<number[]> => {
    const at: number[] = []
    for (let second = 0; second < seconds; second++) {
      const before = visited.length
      rounds.beat()
      await settled()
      if (visited.length > before) at.push(second)
      clock.advance(1_000)
    }
    return at
  }

  it('visit a guest that answers every 30 s', async () => {
    running = [runs(1)]
    expect(await secondsOf(91)).toEqual([0, 30, 60, 90])
  })

  it('visit sooner whom a visitor wants to see sooner', async () => {
    running = [runs(1)]
    due.add(`${idOf(1)} soon`)
    expect(await secondsOf(11)).toEqual([0, 5, 10])
  })

  it('visit a silent guest often while it may boot, then ever more rarely, and every 2 s while something waits for it', async () => {
    running = [runs(1)]
    visit = async () => Promise.reject(new GuestAgentError('silent', 'x'))
    const booting = await secondsOf(300)
    expect(booting.slice(0, 4)).toEqual([0, 10, 20, 30])
    const later = await secondsOf(1_200)
    expect(later.length).toBeGreaterThan(2)
    expect(later.length).toBeLessThan(8)
    due.add(idOf(1))
    rounds.nudge(idOf(1))
    await settled()
    visited.length = 0
    clock.advance(1_000)
    expect(await secondsOf(6)).toEqual([1, 3, 5])
  })

  it('let other visitors go on with a guest that refused one', async () => {
    running = [runs(1)]
    visit = async () => Promise.reject(new GuestAgentError('refused', 'x'))
    expect(await secondsOf(31)).toEqual([0, 30])
    expect(silent).toEqual([])
  })

  it('log what goes wrong on this side, and say nothing of the guest for it', async () => {
    running = [runs(1)]
    visit = async () => Promise.reject(new TypeError('no such field'))
    expect(await secondsOf(31)).toEqual([0, 30])
    expect(silent).toEqual([])
    expect(logged).toHaveLength(2)
    expect(logged[0]).toMatch(new RegExp(`guest[.]visit-failed.*${idOf(1)}.*no such field`))
  })

  it('ask at most eight guests at once, and all of them in the end', async () => {
    running = Array.from({ length: 20 }, (_, i) => runs(i))
    const gates: (() => void)[] = []
    visit = () => new Promise((resolve) => gates.push(resolve))
    rounds.beat()
    await settled()
    expect(visited).toHaveLength(8)
    while (visited.length < 20 || gates.length > 0) {
      gates.shift()?.()
      await settled()
    }
    expect(new Set(visited).size).toBe(20)
  })

  it('never visit one guest twice at once; one that is nudged meanwhile is visited again at once', async () => {
    running = [runs(1)]
    const gates: (() => void)[] = []
    visit = () => new Promise((resolve) => gates.push(resolve))
    rounds.beat()
    await settled()
    rounds.nudge(idOf(1))
    rounds.beat()
    await settled()
    expect(visited).toHaveLength(1)
    gates.shift()!()
    await settled()
    expect(visited).toHaveLength(2)
    gates.shift()!()
  })

  it.each(['host_wake', 'stall'] as const)('after a %s of the host ask every guest at once', async (event) => {
    running = [runs(1), runs(2)]
    await secondsOf(3)
    visited.length = 0
    happened = event
    rounds.beat()
    await settled()
    expect(noted).toEqual([`${idOf(1)} ${event}`, `${idOf(2)} ${event}`])
    expect(visited).toHaveLength(2)
  })

  it("after a step of the host's clock measure every guest, without a cause of its own", async () => {
    running = [runs(1)]
    await secondsOf(3)
    visited.length = 0
    happened = 'step'
    rounds.beat()
    await settled()
    expect([noted, visited]).toEqual([[], [idOf(1)]])
  })

  it('forget a VM that ended or started anew, and hang up', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'eitri-rounds-'))
    const peer = await FakeGuestAgent.listen(join(dir, 'qga'), { 'guest-ping': () => returns({}) })
    try {
      channel = async () => connect(join(dir, 'qga'))
      visit = async (_, agent, signal) => void (await agent.execute('guest-ping', undefined, signal))
      running = [runs(1)]
      rounds.beat()
      await expect.poll(() => peer.asked).toHaveLength(1)
      running = [runs(1, 2)]
      rounds.beat()
      await expect.poll(() => peer.asked).toHaveLength(2)
      expect([forgotten, peer.connections, peer.open]).toEqual([[idOf(1)], 2, 1])
      running = []
      rounds.beat()
      await expect.poll(() => peer.open).toBe(0)
      expect(forgotten).toEqual([idOf(1), idOf(1)])
      expect(rounds.has(idOf(1))).toBe(false)
    } finally {
      await peer.close()
      await rm(dir, { recursive: true })
    }
  })
})

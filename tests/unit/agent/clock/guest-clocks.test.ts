import { beforeEach, describe, expect, it } from 'vitest'
import { GuestClocks } from '../../../../src/agent/clock/guest-clocks.ts'
import { GuestAgentError, type GuestExec } from '../../../../src/agent/guest/guest-agent.ts'
import type { RunningGuest } from '../../../../src/agent/guest/guest-rounds.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import type { ClockPolicy } from '../../../../src/ipc/clock-policy.ts'

const ID = 'a'.repeat(32)
const TRACKS = '0A090001,10.9.0.1,9,1.0,-0.000002641,0,0,0,0,0,0,0,1.0,Normal\n'
const LOST = '00000000,,0,0.0,0.0,0,0,0,0,0,1,1,1.0,Not synchronised\n'
const S = 1_000_000

/** A guest with a clock of its own; every question takes it `tripMs`. */
class ClockedGuest {
  wall = Date.UTC(2026, 0, 1)
  mono = 0
  offsetMs = 0
  tripMs = 2
  answers = true
  /** What guest-set-time says; 'works' = it does it. */
  setTime: 'works' | 'does nothing' | 'sets and complains' | 'refuses' = 'works'
  tellsTime = true
  /** ms after a burst at which chrony has stepped; undefined = never. */
  burstMs: number | undefined
  chrony: 'runs' | 'stopped' | 'missing' = 'runs'
  tracking = TRACKS
  /** chrony corrects what it knows slowly, as its default is. */
  slews = false
  readonly did: string[] = []
  #stepAt = Number.POSITIVE_INFINITY

  readonly clock = {
    now: () => this.wall,
    monotonic: () => this.mono,
    sleep: async (ms: number) => this.pass(ms),
  }
  pass(ms: number): void {
    this.wall += ms
    this.mono += ms
    if (this.mono < this.#stepAt || this.slews) return
    this.offsetMs = 0
    this.#stepAt = Number.POSITIVE_INFINITY
  }
  #trip(): void {
    if (!this.answers) throw new GuestAgentError('silent', 'no answer')
    this.pass(this.tripMs)
  }
  async time(): Promise<number> {
    this.#trip()
    if (!this.tellsTime) throw new GuestAgentError('refused', 'Command guest-get-time has been disabled')
    return (this.wall - this.tripMs / 2 + this.offsetMs) * 1e6
  }
  async execute(command: string, args?: object): Promise<unknown> {
    this.#trip()
    if (command !== 'guest-set-time') return {}
    this.did.push('set')
    const { time } = args as { time: number }
    if (this.setTime === 'works' || this.setTime === 'sets and complains') this.offsetMs = time / 1e6 - this.wall
    if (this.setTime === 'refuses') throw new GuestAgentError('refused', 'Command guest-set-time has been disabled')
    if (this.setTime === 'sets and complains') throw new GuestAgentError('refused', 'hwclock failed')
    return {}
  }
  async exec(path: string, arg: readonly string[]): Promise<GuestExec> {
    this.#trip()
    const line = [path, ...arg].join(' ')
    this.did.push(line)
    if (this.chrony === 'missing') throw new GuestAgentError('refused', `Failed to execute child process “${path}”`)
    if (this.chrony === 'stopped') return { code: 1, stdout: '506 Cannot talk to daemon\n', stderr: '' }
    if (line === 'chronyc burst 4/8' && this.burstMs !== undefined) this.#stepAt = this.mono + this.burstMs
    if (line === 'chronyc makestep') this.offsetMs = 0
    return { code: 0, stdout: line === 'chronyc -c tracking' ? this.#tracks() : '200 OK\n', stderr: '' }
  }
  /** From a reset on it follows nobody until it has samples again. */
  #tracks(): string {
    if (this.burstMs === undefined) return this.tracking
    if (this.mono < this.#stepAt) return LOST
    return TRACKS.replace('-0.000002641', String(-this.offsetMs / 1000))
  }
}

const BURST = ['chronyc reset sources', 'chronyc burst 4/8']

describe("a guest's clock", () => {
  let guest: ClockedGuest
  let clocks: GuestClocks
  let host: string
  let acts: number
  beforeEach(() => {
    guest = new ClockedGuest()
    host = 'synchronised'
    acts = 0
    clocks = new GuestClocks({ clock: guest.clock, log: silentLog, host: () => host, onAct: () => acts++ })
  })
  const vm = (policy: ClockPolicy = 'auto'): RunningGuest => ({
    id: ID,
    vm: agentLayout('/s').vmDir(ID),
    policy,
    startedAt: 1,
  })
  const visit = async (policy?: ClockPolicy) => {
    await clocks.visit(vm(policy), guest, new AbortController().signal).catch((error: unknown) => {
      if (!(error instanceof GuestAgentError)) throw error
      clocks.silent(vm(policy))
    })
    return clocks.of(ID)
  }
  const act = () => clocks.of(ID)?.lastAct

  it('is measured against the host, known no better than half the way there and back', async () => {
    guest.offsetMs = -320
    expect(await visit('network')).toMatchObject({
      source: 'guest_agent',
      offsetUs: -320_000n,
      uncertaintyUs: 2_000n,
      detail: '',
    })
    expect(act()).toBeUndefined()
    expect(guest.did).toEqual([])
  })

  it('that begins a part of a second behind is set at the first look, and what it drifts later is not', async () => {
    guest.offsetMs = -320
    await visit()
    expect(act()).toMatchObject({ cause: 'start', means: 'set_time', result: 'done', offsetBeforeUs: -320_000n })
    guest.offsetMs = -320
    await visit()
    expect(guest.did).toEqual(['set'])
    clocks.forget(ID)
    await visit()
    expect(guest.did).toEqual(['set', 'set'])
  })

  it('is not reported before anybody asked, nor once nothing answers', async () => {
    expect(clocks.of(ID)).toBeUndefined()
    guest.answers = false
    const clock = await visit()
    expect(clock).toMatchObject({ source: '' })
    expect(clock?.offsetUs).toBeUndefined()
    expect(clock?.detail).not.toBe('')
    expect(act()).toBeUndefined()
  })

  it('after a resume is set by the guest agent, measured again and told', async () => {
    guest.offsetMs = -70_000
    clocks.note(ID, 'resume')
    await visit()
    expect(guest.did).toEqual(['set'])
    expect(act()).toMatchObject({ cause: 'resume', means: 'set_time', result: 'done', offsetBeforeUs: BigInt(-70 * S) })
    expect(Math.abs(Number(act()?.offsetAfterUs))).toBeLessThan(10_000)
    expect(Math.abs(Number(clocks.of(ID)?.offsetUs))).toBeLessThan(10_000)
    expect(acts).toBe(2)
  })

  it('after a resume waits for a guest that is slow to answer, and is given up after a minute', async () => {
    guest.answers = false
    clocks.note(ID, 'resume')
    await visit()
    expect([clocks.isDue(ID), act()]).toEqual([true, undefined])
    guest.pass(61_000)
    await visit()
    expect(clocks.isDue(ID)).toBe(false)
    expect(act()).toMatchObject({ cause: 'resume', means: 'none', result: 'failed' })
  })

  it('that nobody could set after a resume counts as seen right once it is measured in step', async () => {
    guest.answers = false
    clocks.note(ID, 'resume')
    guest.pass(61_000)
    await visit()
    guest.answers = true
    await visit()
    expect(act()?.offsetAfterUs).toBeDefined()
  })

  it('found an hour behind is set', async () => {
    guest.offsetMs = -3_600_000
    await visit()
    expect(act()).toMatchObject({ cause: 'offset', means: 'set_time', result: 'done' })
    expect(guest.offsetMs).toBeGreaterThan(-1_000)
  })

  it('whose guest agent sets it and fails to write the hardware clock is set all the same', async () => {
    guest.offsetMs = -70_000
    guest.setTime = 'sets and complains'
    clocks.note(ID, 'resume')
    await visit()
    expect(act()).toMatchObject({ means: 'set_time', result: 'done' })
  })

  it.each(['refuses', 'does nothing'] as const)(
    'whose guest agent %s is brought right by chrony, whose sources are reset before the burst',
    async (setTime) => {
      guest.offsetMs = -70_000
      guest.setTime = setTime
      guest.burstMs = 6_000
      clocks.note(ID, 'resume')
      await visit()
      expect(guest.did.filter((did) => did !== 'chronyc -c tracking')).toEqual(['set', ...BURST])
      expect(act()).toMatchObject({ means: 'chrony_burst', result: 'done', offsetBeforeUs: BigInt(-70 * S) })
    },
  )

  it.each([
    ['missing', 'Failed to execute'],
    ['stopped', '506 Cannot talk to daemon'],
  ] as const)('that can neither be set nor has chrony (%s) is told so', async (chrony, words) => {
    guest.offsetMs = -70_000
    guest.setTime = 'refuses'
    guest.chrony = chrony
    clocks.note(ID, 'resume')
    await visit()
    expect(act()).toMatchObject({ result: 'failed', offsetAfterUs: BigInt(-70 * S) })
    expect(act()?.detail).toContain('guest-set-time has been disabled')
    expect(act()?.detail).toContain(words)
  })

  it('under the policy network is never set from the host', async () => {
    guest.offsetMs = -70_000
    guest.burstMs = 6_000
    clocks.note(ID, 'resume')
    await visit('network')
    expect(guest.did.slice(0, 2)).toEqual(BURST)
    expect(guest.did).not.toContain('set')
    expect(act()).toMatchObject({ means: 'chrony_burst', result: 'done' })
  })

  it('whose chrony only steps at its start is told to, once it knows the time again', async () => {
    guest.offsetMs = -70_000
    guest.burstMs = 6_000
    guest.slews = true
    guest.setTime = 'refuses'
    clocks.note(ID, 'resume')
    await visit()
    expect(guest.did).toContain('chronyc makestep')
    expect(act()).toMatchObject({ means: 'chrony_burst', result: 'done' })
    expect(Math.abs(Number(act()?.offsetAfterUs))).toBeLessThan(10_000)
  })

  it('under the policy network may differ from a host that is wrong, as long as its own sources answer', async () => {
    guest.offsetMs = 5_000
    await visit('network')
    expect(act()).toMatchObject({ means: 'chrony_burst', result: 'done', offsetAfterUs: BigInt(5 * S) })
    guest.tracking = LOST
    clocks.note(ID, 'asked')
    await visit('network')
    expect(act()).toMatchObject({ means: 'chrony_burst', result: 'failed' })
    expect(guest.did).not.toContain('set')
  })

  it.each(['none', 'windows-domain'] as const)('under the policy %s is only measured', async (policy) => {
    guest.offsetMs = -70_000
    clocks.note(ID, 'resume')
    await visit(policy)
    await visit(policy)
    expect(guest.did).toEqual([])
    expect(act()).toMatchObject({ cause: 'resume', means: 'none', result: 'done' })
    expect(clocks.of(ID)?.offsetUs).toBe(BigInt(-70 * S))
  })

  it('found off on a host that is wrong itself is left to its own sources, which are asked first', async () => {
    host = 'not_synchronised'
    guest.offsetMs = 5_000
    await visit()
    expect(guest.did).not.toContain('set')
    expect(act()).toMatchObject({ means: 'chrony_burst', result: 'done' })
  })

  it('found off without any source that answers is set from the host, synchronised or not', async () => {
    host = 'not_synchronised'
    guest.offsetMs = -3_600_000
    guest.tracking = LOST
    await visit()
    expect(guest.did.at(-1)).toBe('set')
    expect(act()).toMatchObject({ means: 'set_time', result: 'done' })
  })

  it('that is set back by something else is not fought over', async () => {
    for (let i = 0; i < 6; i++) {
      guest.offsetMs = -3_600_000
      await visit()
      guest.pass(30_000)
    }
    expect(guest.did).toEqual(['set', 'set', 'set'])
    expect(act()).toMatchObject({ cause: 'offset', means: 'none', result: 'failed' })
    const told = act()?.at
    await visit()
    expect(act()?.at).toEqual(told)
    guest.pass(3_600_000)
    await visit()
    expect(guest.did).toHaveLength(4)
  })

  it('whose guest agent does not tell the time is not reported, and why', async () => {
    guest.tellsTime = false
    clocks.note(ID, 'resume')
    expect(await visit()).toMatchObject({ source: '' })
    expect(clocks.of(ID)?.detail).toContain('guest-get-time has been disabled')
    expect(act()).toMatchObject({ cause: 'resume', means: 'none', result: 'failed' })
  })

  it('that is asked for answers who asked, also when nothing in the guest does', async () => {
    guest.answers = false
    const acted = clocks.acted(ID, new AbortController().signal)
    clocks.note(ID, 'asked')
    await visit()
    await acted
    expect(act()).toMatchObject({ cause: 'asked', means: 'none', result: 'failed' })
  })

  it('that is asked for by who gave up is not waited for', async () => {
    expect(await clocks.acted(ID, AbortSignal.abort())).toBe(false)
  })

  it('that was asked for is not waited for once the VM is gone', async () => {
    const acted = clocks.acted(ID, new AbortController().signal)
    clocks.note(ID, 'asked')
    clocks.forget(ID)
    await acted
    expect(clocks.of(ID)).toBeUndefined()
  })

  it('is measured again when the host was set meanwhile', async () => {
    const { time } = guest
    let jumps = 2
    guest.time = async function (this: ClockedGuest) {
      const ns = await time.call(guest)
      if (jumps-- > 0) guest.wall += 60_000
      return ns
    }
    guest.offsetMs = 5
    expect(await visit()).toMatchObject({ offsetUs: 5_000n })
  })
})

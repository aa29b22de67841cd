import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault, type FaultCode } from '../../../../../src/ipc/faults.ts'
import type { AgentLink } from '../../../../../src/main/control/hosts/agent-link.ts'
import {
  HostLinks,
  LIVED_MS,
  RETRY_CAP_MS,
  RETRY_FLOOR_MS,
  SUPERSEDED_FLOOR_MS,
} from '../../../../../src/main/control/hosts/host-links.ts'
import { HostSecrets } from '../../../../../src/main/control/hosts/secrets.ts'
import type { LinkStatus } from '../../../../../src/main/control/sync/registry.ts'

const HOST = 'h1'
const fault = (code: FaultCode) => new Fault(code, 'transient', { host: HOST })

/** Time that stands still until a waiter is let go. */
function aClock() {
  let now = 0
  const sleeping: { ms: number; wake(): void }[] = []
  const waiting: (() => void)[] = []
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const entry = { ms, wake: resolve }
        const leave = () => {
          sleeping.splice(sleeping.indexOf(entry), 1)
          reject(signal?.reason)
        }
        if (signal?.aborted) return reject(signal.reason)
        signal?.addEventListener('abort', leave, { once: true })
        sleeping.push(entry)
        waiting.shift()?.()
      }),
  }
  return {
    clock,
    advance: (ms: number) => {
      now += ms
    },
    /** The next sleep anybody begins, or the one that is on. */
    async nextSleep(): Promise<number> {
      if (sleeping.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      return sleeping[0]!.ms
    },
    passSleep() {
      const entry = sleeping.shift()!
      now += entry.ms
      entry.wake()
    },
    sleeping,
  }
}

function aLink(): AgentLink & { end(fault: Fault): void; checks: number } {
  const { promise: closed, resolve: end } = Promise.withResolvers<Fault>()
  const link = {
    client: undefined as never,
    carrier: 'unix' as const,
    hostKeyFingerprint: '',
    bulk: () => Promise.reject(fault('host/unreachable')),
    drained: async () => {},
    closed,
    close: end,
    end,
    checks: 0,
    liveness: {
      stop() {},
      check() {
        link.checks++
      },
    },
  }
  return link
}

/** Links whose every try and session the test decides. */
function theLinks() {
  const time = aClock()
  const tries: (Fault | AgentLink)[] = []
  const states: LinkStatus[] = []
  const sessions: AgentLink[] = []
  const takeOvers: boolean[] = []
  const started: (() => void)[] = []
  const seen = { dialled: 0 }
  const links = new HostLinks({
    connectorOf: () => ({
      connect: async () => {
        seen.dialled++
        const next = tries.shift() ?? fault('host/unreachable')
        if (next instanceof Fault) throw next
        return next
      },
    }),
    runSession: async ({ connection, signal, takeOver }) => {
      sessions.push(connection as AgentLink)
      takeOvers.push(takeOver)
      started.shift()?.()
      const cancelled = new Promise<Fault>((resolve) =>
        signal.addEventListener('abort', () => resolve(fault('app/cancelled'))),
      )
      return Promise.race([connection.closed, cancelled])
    },
    setLink: (_, status) => states.push(status),
    secrets: new HostSecrets(),
    clock: time.clock,
    log: silentLog,
    random: () => 1,
  })
  const session = () => new Promise<void>((resolve) => started.push(resolve))
  return { ...time, tries, states, sessions, takeOvers, session, seen, links, last: () => states.at(-1)! }
}

describe('the loop of a host', () => {
  it('waits longer after each failure, between the floor and the cap, and says until when', async () => {
    const t = theLinks()
    t.links.add(HOST)
    const delays: number[] = []
    for (let i = 0; i < 9; i++) {
      delays.push(await t.nextSleep())
      expect(t.last().nextTryAt?.getTime()).toBe(t.clock.now() + delays.at(-1)!)
      expect(t.last()).toMatchObject({ state: 'unreachable', fault: { code: 'host/unreachable' } })
      t.passSleep()
    }
    expect(delays[0]).toBeGreaterThanOrEqual(RETRY_FLOOR_MS)
    expect(delays).toEqual([...delays].sort((a, b) => a - b))
    expect(delays.at(-1)).toBe(RETRY_CAP_MS)
    await t.links.stop()
  })

  it('says why the last try failed while it tries again, and no more once it is connected', async () => {
    const t = theLinks()
    t.tries.push(fault('host/unreachable'), aLink())
    t.links.add(HOST)
    await t.nextSleep()
    t.passSleep()
    await t.session()
    expect(t.states.map(({ state, fault: why }) => [state, why?.code])).toEqual([
      ['connecting', undefined],
      ['unreachable', 'host/unreachable'],
      ['connecting', 'host/unreachable'],
    ])
    await t.links.stop()
  })

  it('starts from the floor again only after a link that lived', async () => {
    const t = theLinks()
    const short = aLink()
    const long = aLink()
    t.tries.push(fault('host/unreachable'), fault('host/unreachable'), short, long)
    t.links.add(HOST)
    for (let i = 0; i < 2; i++) {
      await t.nextSleep()
      t.passSleep()
    }
    await t.session()
    t.advance(LIVED_MS - 1)
    short.end(fault('ssh/lost'))
    expect(await t.nextSleep()).toBe(RETRY_FLOOR_MS * 8)
    t.passSleep()
    await t.session()
    t.advance(LIVED_MS)
    long.end(fault('ssh/lost'))
    expect(await t.nextSleep()).toBe(RETRY_FLOOR_MS * 2)
    await t.links.stop()
  })

  it.each([
    ['ssh/auth-refused', 'sign_in_needed'],
    ['ssh/passphrase-wrong', 'sign_in_needed'],
    ['ssh/host-key-unknown', 'key_not_trusted'],
    ['ssh/host-key-changed', 'key_changed'],
    ['ssh/host-key-revoked', 'key_changed'],
    ['host/identity-mismatch', 'identity_mismatch'],
    ['agent/foreign-controller', 'held_by_other'],
  ] as const)('stops and asks after %s, until somebody says try now', async (code, state) => {
    const t = theLinks()
    t.tries.push(fault(code))
    t.links.add(HOST)
    expect(await t.nextSleep()).toBeGreaterThan(24 * 3600 * 1000)
    expect(t.last()).toMatchObject({ state })
    expect(t.last().nextTryAt).toBeUndefined()
    t.links.tryNow(HOST)
    expect(await t.nextSleep()).toBe(RETRY_FLOOR_MS * 2)
    expect(t.seen.dialled).toBe(2)
    await t.links.stop()
  })

  it('tries again at once when the person signs in, or the computer wakes with a key loaded', async () => {
    const t = theLinks()
    t.tries.push(fault('ssh/auth-refused'), fault('ssh/auth-refused'))
    t.links.add(HOST)
    await t.nextSleep()
    t.links.tryNow(HOST)
    await t.nextSleep()
    expect(t.seen.dialled).toBe(2)
    t.links.wake()
    await t.nextSleep()
    expect(t.seen.dialled).toBe(3)
    await t.links.stop()
  })

  it('waits for a person where a code is needed: neither time nor waking brings one', async () => {
    const t = theLinks()
    t.tries.push(fault('ssh/code-needed'))
    t.links.add(HOST)
    expect(await t.nextSleep()).toBeGreaterThan(RETRY_CAP_MS)
    expect(t.last()).toMatchObject({ state: 'sign_in_needed', fault: { code: 'ssh/code-needed' } })
    t.links.wake()
    await new Promise((resolve) => setImmediate(resolve))
    expect(t.seen.dialled).toBe(1)
    await t.links.stop()
  })

  it('tries again by itself where the host takes nobody at the moment', async () => {
    const t = theLinks()
    t.tries.push(new Fault('ssh/not-now', 'transient', {}, { retryAfterMs: 3_000 }))
    t.links.add(HOST)
    expect(await t.nextSleep()).toBe(3_000)
    t.passSleep()
    await t.nextSleep()
    expect(t.seen.dialled).toBe(2)
    await t.links.stop()
  })

  it('goes on with a connection a person signed in to, without dialling', async () => {
    const t = theLinks()
    t.tries.push(fault('ssh/code-needed'))
    t.links.add(HOST)
    await t.nextSleep()
    const link = aLink()
    const running = t.session()
    t.links.hand(HOST, link)
    await running
    expect([t.seen.dialled, t.sessions]).toEqual([1, [link]])
    const second = aLink()
    t.links.hand(HOST, second)
    expect((await second.closed).code).toBe('app/cancelled')
    const stray = aLink()
    t.links.hand('h2', stray)
    expect((await stray.closed).code).toBe('app/cancelled')
    await t.links.stop()
  })

  it('dials once more when told to while a try is under way, for that may end by what was true before', async () => {
    const t = theLinks()
    const answer = Promise.withResolvers<never>()
    t.tries.push(answer.promise as never)
    t.links.add(HOST)
    t.links.tryNow(HOST)
    answer.reject(fault('ssh/host-key-changed'))
    expect(await t.nextSleep()).toBe(RETRY_FLOOR_MS * 2)
    expect(t.seen.dialled).toBe(2)
    await t.links.stop()
  })

  it('takes the agent over at the try a person asked for, and at no later one', async () => {
    const t = theLinks()
    const [held, taken, later] = [aLink(), aLink(), aLink()]
    t.tries.push(held, taken, later)
    t.links.add(HOST)
    await t.session()
    held.end(fault('agent/foreign-controller'))
    await t.nextSleep()
    t.links.takeOver(HOST)
    await t.session()
    taken.end(fault('ssh/lost'))
    await t.nextSleep()
    t.passSleep()
    await t.session()
    expect(t.takeOvers).toEqual([false, true, false])
    await t.links.stop()
  })

  it('forgets that it was to take over when the host could not be reached', async () => {
    const t = theLinks()
    const [held, later] = [aLink(), aLink()]
    t.tries.push(held, fault('host/unreachable'), later)
    t.links.add(HOST)
    await t.session()
    held.end(fault('agent/foreign-controller'))
    await t.nextSleep()
    t.links.takeOver(HOST)
    await t.nextSleep()
    t.passSleep()
    await t.session()
    expect(t.takeOvers).toEqual([false, false])
    await t.links.stop()
  })

  it('does not take waking for trust in a changed key', async () => {
    const t = theLinks()
    t.tries.push(fault('ssh/host-key-changed'))
    t.links.add(HOST)
    await t.nextSleep()
    t.links.wake()
    expect(t.seen.dialled).toBe(1)
    await t.links.stop()
  })

  it('probes a living link when the computer wakes', async () => {
    const t = theLinks()
    const link = aLink()
    t.tries.push(link)
    t.links.add(HOST)
    await t.session()
    t.links.wake()
    expect(link.checks).toBe(1)
    await t.links.stop()
  })

  it('comes back after being superseded, but never fast enough to throw the other out twice a second', async () => {
    const t = theLinks()
    const link = aLink()
    t.tries.push(link)
    t.links.add(HOST)
    await t.session()
    t.advance(LIVED_MS * 2)
    link.end(fault('agent/superseded'))
    expect(await t.nextSleep()).toBeGreaterThanOrEqual(SUPERSEDED_FLOOR_MS)
    expect(t.last().state).toBe('held_by_other')
    await t.links.stop()
  })

  it('runs its first session on the connection onboarding hands over', async () => {
    const t = theLinks()
    const link = aLink()
    const running = t.session()
    t.links.add(HOST, link)
    await running
    expect(t.seen.dialled).toBe(0)
    expect(t.sessions).toEqual([link])
    await t.links.stop()
  })

  it('ends its session when the host is removed, and dials no more', async () => {
    const t = theLinks()
    const link = aLink()
    t.tries.push(link)
    t.links.add(HOST)
    await t.session()
    await t.links.remove(HOST)
    expect((await link.closed).code).toBe('app/cancelled')
    expect(t.sleeping).toEqual([])
    expect(t.seen.dialled).toBe(1)
  })

  it('is one per host, however often it is added', async () => {
    const t = theLinks()
    t.links.add(HOST)
    t.links.add(HOST)
    await t.nextSleep()
    expect(t.seen.dialled).toBe(1)
    await t.links.stop()
  })
})

import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Capabilities } from '../../../../src/agent/backends/backend.ts'
import { AgentSessions } from '../../../../src/agent/rpc/sessions.ts'
import type { AgentFacts } from '../../../../src/agent/rpc/sync-engine.ts'
import { runSyncSession, type SyncSessionParts } from '../../../../src/agent/rpc/sync-session.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { type HostFacts, HostFactsSchema, HostMetricsSchema } from '../../../../src/ipc/gen/eitri/agent/v1/host_pb.js'
import type { SyncRequest } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { TIMES } from '../../../../src/ipc/units.ts'
import { attachFrame, FakeEngine, FakeIdentity, Pushed, snapshotFrame } from '../../../support/agent-wire.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const never = () => new Promise<never>(() => {})

const CAN: Capabilities = {
  suspend: false,
  shares: false,
  serialInput: true,
  nested: true,
  addressSource: 'reservation',
  survivesAgentRestart: true,
  liveForward: false,
}

function session(
  engine = new FakeEngine(),
  facts: AgentFacts = { host: never, whole: never },
  more: Partial<SyncSessionParts> = {},
) {
  const identity = new FakeIdentity()
  const sessions = new AgentSessions(identity, engine)
  const self = {
    version: '1',
    digest: '',
    provisioner: '',
    capabilities: CAN,
    hostNetworks: [],
    bootId: '',
    stateDir: '/s',
  }
  const requests = new Pushed<SyncRequest>()
  const link = new AbortController()
  const parts = { engine, identity, sessions, facts, self, log: silentLog, ...more }
  return { engine, sessions, requests, link, frames: runSyncSession(parts, requests, link.signal) }
}

/** Ms of fake time until the next frame. */
async function timeTo(
  frames: AsyncGenerator<{ message: { case: string | undefined } }>,
): Promise<[number, string | undefined]> {
  const began = Date.now()
  let kind: string | undefined | null = null
  void frames.next().then((next) => {
    kind = next.done === true ? undefined : next.value.message.case
  })
  for (let i = 0; i < 1_000_000 && kind === null; i++) await vi.advanceTimersByTimeAsync(1)
  return [Date.now() - began, kind ?? undefined]
}

describe('what the backend can do', () => {
  it('is told by Hello, word for word', async () => {
    const { requests, frames } = session(new FakeEngine(), {
      host: async () => create(HostFactsSchema, {}),
      whole: never,
    })
    requests.push(attachFrame())
    const first = frames.next()
    await vi.advanceTimersByTimeAsync(100)
    const { message } = (await first).value!
    expect(message).toMatchObject({ case: 'hello', value: { capabilities: CAN } })
  })
})

describe('facts of a session', () => {
  it('are told by Hello before the probe is over, and once more by the report after it', async () => {
    const probe = Promise.withResolvers<HostFacts>()
    const pending = create(HostFactsSchema, { arch: 'x86_64', accelerationPending: true })
    const { engine, requests, frames } = session(new FakeEngine(), {
      host: async () => pending,
      whole: () => probe.promise,
    })
    const next = async () => {
      const frame = frames.next()
      await vi.advanceTimersByTimeAsync(100)
      const { message } = (await frame).value!
      return message.case === 'hello' || message.case === 'report' ? message.value.facts : message.case
    }
    requests.push(attachFrame())
    expect(await next()).toMatchObject({ arch: 'x86_64', accelerationPending: true })
    expect(await next()).toBeUndefined()
    probe.resolve(create(HostFactsSchema, { acceleration: 'tcg' }))
    expect(await next()).toMatchObject({ acceleration: 'tcg', accelerationPending: false })
    engine.change()
    expect(await next()).toBeUndefined()
  })
})

describe('the heartbeat of a session', () => {
  it('reports every 10 s when nothing changes', async () => {
    const { requests, frames } = session()
    requests.push(attachFrame())
    await timeTo(frames)
    expect((await timeTo(frames))[0]).toBeLessThan(5)
    for (let i = 0; i < 3; i++) {
      const [ms, kind] = await timeTo(frames)
      expect(kind).toBe('report')
      expect(Math.abs(ms - TIMES.reportMs)).toBeLessThan(5)
    }
  })

  it('tells the metrics the engine has, and none when it has none', async () => {
    const { engine, requests, frames } = session()
    requests.push(attachFrame())
    await timeTo(frames)
    const metricsOf = async () => {
      const frame = frames.next()
      await vi.advanceTimersByTimeAsync(TIMES.reportMs)
      const { message } = (await frame).value!
      return message.case === 'report' ? message.value.metrics : message.case
    }
    expect(await metricsOf()).toBeUndefined()
    const metrics = create(HostMetricsSchema, { load1: 0.5, uptimeS: 9n })
    engine.metrics = metrics
    expect(await metricsOf()).toEqual(metrics)
  })

  it('tells the network the control plane suggested as soon as it is settled', async () => {
    const suggested: string[] = []
    const settled = Promise.withResolvers<void>()
    const guestNetwork = {
      resolve: async (cidrs: readonly string[]) => {
        suggested.push(...cidrs)
        await settled.promise
      },
    }
    const { requests, frames } = session(new FakeEngine(), undefined, { guestNetwork })
    requests.push(attachFrame({ suggestedGuestCidr: '10.77.3.0/24' }))
    const first = timeTo(frames)
    await vi.advanceTimersByTimeAsync(0)
    expect(suggested).toEqual(['10.77.3.0/24'])
    settled.resolve()
    expect((await first)[1]).toBe('hello')
  })

  it('tells a change at once, and a storm of them at most every 50 ms', async () => {
    const { engine, requests, frames } = session()
    requests.push(attachFrame())
    await timeTo(frames)
    await timeTo(frames)
    await vi.advanceTimersByTimeAsync(1_000)
    for (let i = 0; i < 4; i++) {
      engine.change()
      engine.change()
      const [ms] = await timeTo(frames)
      expect(ms).toBeLessThanOrEqual(i === 0 ? 60 : 52)
      if (i > 0) expect(ms).toBeGreaterThanOrEqual(49)
    }
  })

  it('does not wait for a snapshot that is still being taken', async () => {
    const engine = new FakeEngine()
    engine.accept = never
    const { requests, frames } = session(engine)
    requests.push(attachFrame(), snapshotFrame(1n))
    await timeTo(frames)
    await timeTo(frames)
    expect(await timeTo(frames)).toEqual([expect.closeTo(TIMES.reportMs, -2), 'report'])
  })

  it('a snapshot that is not taken within 30 s ends the session as transient', async () => {
    const engine = new FakeEngine()
    engine.accept = never
    const { requests, frames } = session(engine)
    requests.push(attachFrame(), snapshotFrame(1n))
    const began = Date.now()
    let kind: string | undefined = ''
    while (kind !== 'end') [, kind] = await timeTo(frames)
    expect(Date.now() - began).toBeLessThan(TIMES.snapshotWriteMs + 6_000)
  })

  it('Hello waits at most half of what its reader waits for facts that do not come', async () => {
    const { requests, frames } = session()
    requests.push(attachFrame())
    expect(await timeTo(frames)).toEqual([expect.closeTo(TIMES.attachMs / 2, -2), 'hello'])
  })

  it('silence instead of Attach ends in time with auth_rejected', async () => {
    const { frames } = session()
    expect(await timeTo(frames)).toEqual([expect.closeTo(TIMES.attachMs, -2), 'end'])
  })

  it('the end of an older session leaves the newer one attached', async () => {
    const { requests, frames, sessions, link } = session()
    requests.push(attachFrame())
    await timeTo(frames)
    const newer = await sessions.attach(attachFrame().message.value as never)
    link.abort()
    await frames.return(undefined)
    expect(sessions.current).toBe(newer)
  })
})

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { UpgradeOffers } from '../../../../../src/main/control/hosts/upgrade-offers.ts'
import { runAgentSession, type SessionDeps } from '../../../../../src/main/control/sync/agent-session.ts'
import { Hub } from '../../../../../src/main/control/sync/hub.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { FakeSyncAgent } from '../../../../support/fake-sync-agent.ts'
import { ManualClock, until } from '../a-clock.ts'
import { aHost, aStore } from '../a-store.ts'

const HOUR = 3600_000
let agent: FakeSyncAgent
let stopAll: AbortController

beforeEach(async () => {
  agent = await FakeSyncAgent.start()
  stopAll = new AbortController()
})
afterEach(async () => {
  stopAll.abort(new Fault('app/cancelled', 'cancelled'))
  await agent.stop()
})

function aControlPlane(credential: 'login' | 'key' = 'key') {
  const stores = aStore()
  const registry = new Registry()
  const hub = new Hub()
  const clock = new ManualClock()
  const applied: string[] = []
  const template = aHost()
  const host = stores.hosts.create({
    ...template,
    name: 'rack',
    credential,
    agent: { ...template.agent, identityPublicKey: agent.identityPublicKey },
  })
  const upgrades = new UpgradeOffers({ poke: (id) => hub.poke(id), changed: () => {}, clock })
  const deps: SessionDeps = {
    ...stores,
    registry,
    hub,
    applier: { apply: (session, report) => void applied.push(`${session.hostId} ${report.lastSeenEpoch}`) },
    upgrades,
    clock,
    log: silentLog,
    fleetId: 'e'.repeat(32),
    controllerName: 'laptop',
    version: '0.1.0',
  }
  const run = () => {
    const connection = agent.connect('')
    const ended = runAgentSession(deps, { hostId: host.id, connection, signal: stopAll.signal })
    return ended.finally(() => connection.close(new Fault('app/cancelled', 'cancelled')))
  }
  const attached = () => until(() => agent.snapshots.length > 0, 'the first snapshot')
  return { ...stores, registry, clock, host, run, attached, applied, upgrades }
}

describe('the standing of a host', () => {
  it('is looked at with every report: one that was revoked is not heard any more, and not let in again', async () => {
    const { hostLife, host, registry, run, attached, applied } = aControlPlane()
    const ended = run()
    await attached()
    agent.report({})
    await until(() => applied.length === 1)
    hostLife.revoke(host.id)
    expect(registry.active(host.id)).toBeDefined()
    agent.report({ lastSeenEpoch: 1n })
    expect(await ended).toMatchObject({ code: 'host/revoked', disposition: 'permanent', params: { host: 'rack' } })
    expect(registry.active(host.id)).toBeUndefined()
    expect(applied).toHaveLength(1)
    expect(await run()).toMatchObject({ code: 'host/revoked' })
    expect(registry.active(host.id)).toBeUndefined()
  })

  it('of one by a key ends with the key, unless its host says that the key goes on', async () => {
    const { hosts, host, clock, run, attached, applied } = aControlPlane()
    const ended = run()
    await attached()
    const ends = (ms: number) => ({ seconds: BigInt(Math.floor((clock.now() + ms) / 1000)) })
    agent.report({ credentialEndsAt: ends(HOUR) })
    await until(() => hosts.get(host.id).credentialEndsAt !== null)
    agent.report({ credentialEndsAt: ends(2 * HOUR) })
    await until(() => applied.length === 2)
    // Its session is kept awake by reports, as a real one's.
    for (let slept = 0; slept < 2 * HOUR; slept += 20_000) {
      agent.report({})
      await until(() => applied.length === 3 + slept / 20_000)
      await clock.advance(20_000)
    }
    agent.report({})
    expect(await ended).toMatchObject({ code: 'host/credential-ended', params: { host: 'rack' } })
  }, 60_000)

  it('of one by a person’s login has no end that a host could set', async () => {
    const { hosts, host, run, attached, applied } = aControlPlane('login')
    void run()
    await attached()
    agent.report({ credentialEndsAt: { seconds: 5n } })
    await until(() => applied.length === 1)
    expect(hosts.get(host.id).credentialEndsAt).toBeNull()
  })

  it('cannot be told while the store fails, which is no verdict: the session ends to be tried again', async () => {
    const { hosts, run, attached } = aControlPlane()
    const ended = run()
    await attached()
    hosts.get = () => {
      throw new Fault('store/unavailable', 'transient')
    }
    agent.report({})
    expect(await ended).toMatchObject({ code: 'store/unavailable', disposition: 'transient' })
  })
})

describe('a host that another control plane takes', () => {
  it('says by whom, and it stands in the trail of the one who lost it', async () => {
    const { audit, host, run, attached } = aControlPlane('login')
    const ended = run()
    await attached()
    agent.endAs({ code: 'foreign_controller', controllerName: 'laptop-2' })
    expect(await ended).toMatchObject({
      code: 'agent/foreign-controller',
      params: { host: 'rack', controller: 'laptop-2' },
    })
    const [row] = audit.list({ hostId: host.id, limit: 1 })
    expect(row).toMatchObject({ action: 'host.taken-over', detail: { controller: 'laptop-2' } })
  })
})

describe('an offered upgrade on a session', () => {
  const offer = { version: '2.0.0', digest: '', sha256: 'e'.repeat(64), stagedPath: '/x' }

  it('rides in the next snapshot under an epoch of its own, and is gone from the one after a Hello of that version', async () => {
    const { host, run, attached, upgrades } = aControlPlane()
    agent.hello = { features: ['upgrade'] }
    const first = run()
    await attached()
    upgrades.offer(host.id, offer, undefined)
    await until(() => agent.snapshots.length > 1)
    const [before, offering] = agent.snapshots
    expect(before?.state?.agentUpgrade).toBeUndefined()
    expect(offering?.state?.agentUpgrade).toMatchObject({ version: '2.0.0', stagedPath: '/x' })
    expect(offering?.epoch).toBe(before!.epoch + 1n)
    agent.hello = { features: ['upgrade'], agentVersion: '2.0.0' }
    void run()
    await first
    await until(() => agent.snapshots.length > 2)
    expect(agent.snapshots.at(-1)?.state?.agentUpgrade).toBeUndefined()
    expect(upgrades.pending(host.id)).toBeUndefined()
  })

  it('is told to no agent that says nothing of upgrades', async () => {
    const { host, run, attached, upgrades } = aControlPlane()
    void run()
    await attached()
    upgrades.offer(host.id, offer, undefined)
    agent.report({})
    await until(() => upgrades.pending(host.id) !== undefined)
    expect(agent.snapshots.every(({ state }) => state?.agentUpgrade === undefined)).toBe(true)
  })

  it('that is refused is withdrawn', async () => {
    const { host, run, attached, upgrades } = aControlPlane()
    agent.hello = { features: ['upgrade'] }
    void run()
    await attached()
    upgrades.offer(host.id, offer, undefined)
    await until(() => agent.snapshots.length > 1)
    agent.report({ upgrade: { version: '2.0.0', sha256: offer.sha256, state: 'refused', detail: 'no' } })
    await until(() => agent.snapshots.length > 2)
    expect(agent.snapshots.at(-1)?.state?.agentUpgrade).toBeUndefined()
    expect(upgrades.pending(host.id)).toBeUndefined()
  })
})

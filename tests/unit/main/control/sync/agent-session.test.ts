import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { LIMITS, TIMES } from '../../../../../src/ipc/units.ts'
import { runAgentSession, type SessionDeps } from '../../../../../src/main/control/sync/agent-session.ts'
import { Hub } from '../../../../../src/main/control/sync/hub.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { ReportApplier } from '../../../../../src/main/control/sync/report-applier.ts'
import { digestOf } from '../../../../../src/main/control/sync/snapshot-builder.ts'
import { FakeSyncAgent } from '../../../../support/fake-sync-agent.ts'
import { ManualClock, until } from '../a-clock.ts'
import { aHost, aStore, aVm, faultOf } from '../a-store.ts'

const FLEET = 'e'.repeat(32)
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

function aControlPlane(pinned = '') {
  const stores = aStore()
  const registry = new Registry()
  const hub = new Hub()
  const clock = new ManualClock()
  const wanted: string[] = []
  const warned: string[] = []
  const applier = new ReportApplier({
    ...stores,
    registry,
    push: { want: (_, images) => wanted.push(...images.map((i) => i.sha256)) },
    transaction: (work) => stores.db.transaction(work),
    clock,
    log: silentLog,
  })
  stores.db.onCommit((changes) => {
    for (const { noun, id } of changes) if (noun === 'desired') hub.poke(id)
  })
  const template = aHost()
  const host = stores.hosts.create({
    ...template,
    agent: { ...template.agent, identityPublicKey: agent.identityPublicKey },
    hostKeyFingerprint: pinned,
  })
  const deps: SessionDeps = {
    ...stores,
    registry,
    hub,
    applier,
    clock,
    log: { ...silentLog, warn: (event) => warned.push(event) },
    fleetId: FLEET,
    controllerName: 'laptop',
    version: '0.1.0',
  }
  const run = (hostKey = '', takeOver = false) => {
    const connection = agent.connect(hostKey)
    const ended = runAgentSession(deps, { hostId: host.id, connection, signal: stopAll.signal, takeOver })
    return { connection, ended: ended.finally(() => connection.close(new Fault('app/cancelled', 'cancelled'))) }
  }
  const attached = () => until(() => agent.snapshots.length > 0, 'the first snapshot')
  return { ...stores, registry, clock, host, run, attached, wanted, warned }
}

const snapshotNames = () => agent.snapshots.map((s) => s.state?.vms.map((vm) => vm.name))

describe('agent session', () => {
  it('attaches with fleet and nonce, then sends the whole desired state with its digest', async () => {
    const { vms, hosts, host, registry, run, attached } = aControlPlane()
    vms.create(aVm(host.id, { name: 'web' }))
    run()
    await attached()
    expect(agent.attaches[0]).toMatchObject({ fleetId: FLEET, controllerName: 'laptop', takeOver: false })
    expect(agent.attaches[0]?.nonce).toHaveLength(32)
    expect(agent.attaches[0]?.suggestedGuestCidr).toMatch(/^10\.77\.\d+\.0\/24$/)
    const [snapshot] = agent.snapshots
    expect(snapshotNames()).toEqual([['web']])
    expect(snapshot?.epoch).toBe(hosts.get(host.id).epoch)
    expect(Buffer.from(snapshot?.contentSha256 ?? [])).toEqual(snapshot?.state && Buffer.from(digestOf(snapshot.state)))
    expect(registry.live(host.id).link).toEqual({ state: 'connected', carrier: 'unix' })
    expect(hosts.get(host.id)).toMatchObject({ agentVersion: '0.1.0', backend: 'qemu' })
  })

  it('sends one more snapshot for a burst of edits made in one go', async () => {
    const { db, vms, hosts, host, run, attached } = aControlPlane()
    run()
    await attached()
    db.transaction(() => {
      for (const name of ['a', 'b', 'c']) vms.create(aVm(host.id, { name }))
    })
    await until(() => agent.snapshots.length > 1, 'a snapshot')
    expect(snapshotNames()).toEqual([[], ['a', 'b', 'c']])
    expect(agent.snapshots[1]?.epoch).toBe(hosts.get(host.id).epoch)
  })

  it('an agent with another key is refused and nothing it says is applied', async () => {
    const { hosts, host, registry, run } = aControlPlane()
    agent.hello = { identityPublicKey: new Uint8Array(32) }
    expect(await run().ended).toMatchObject({ code: 'host/identity-mismatch', disposition: 'permanent' })
    expect(registry.active(host.id)).toBeUndefined()
    expect(hosts.get(host.id).agentVersion).toBe('')
    expect(agent.snapshots).toEqual([])
  })

  it('a copied identity without the private key is refused', async () => {
    agent.signWith = generateKeyPairSync('ed25519').privateKey
    expect(await aControlPlane().run().ended).toMatchObject({ code: 'host/identity-mismatch' })
  })

  it('the right agent behind another SSH host key is refused', async () => {
    expect(await aControlPlane('SHA256:pinned').run('SHA256:other').ended).toMatchObject({
      code: 'host/identity-mismatch',
    })
  })

  it('an agent that claims an epoch no fleet has had is refused, and nothing of it is stored', async () => {
    const { hosts, host, registry, run } = aControlPlane()
    agent.hello = { lastSeenEpoch: 2n ** 64n - 1n }
    expect(await run().ended).toMatchObject({ code: 'agent/misbehaved' })
    expect(registry.active(host.id)).toBeUndefined()
    expect(hosts.get(host.id)).toEqual(host)
  })

  it('T26: a spoofed host id in Hello changes nothing', async () => {
    const { host, registry, run, attached } = aControlPlane()
    agent.hostId = 'd'.repeat(32)
    run()
    await attached()
    expect(registry.active(host.id)?.hostId).toBe(host.id)
    expect(registry.active(agent.hostId)).toBeUndefined()
  })

  it.each([
    ['auth_rejected', 'agent/auth-rejected'],
    ['superseded', 'agent/superseded'],
    ['foreign_controller', 'agent/foreign-controller'],
    ['transient', 'host/no-answer'],
    ['something_new', 'host/no-answer'],
  ])('SYN-11: an agent that ends with %s is %s', async (code, fault) => {
    agent.refuseWith = { code, controllerName: 'laptop-2' }
    expect(await aControlPlane().run().ended).toMatchObject({ code: fault })
  })

  it('says on Attach when a person decided to take the host over', async () => {
    const { run, attached } = aControlPlane()
    run('', true)
    await attached()
    expect(agent.attaches[0]?.takeOver).toBe(true)
  })

  it('a host that was removed and added again is not fenced by what its agent saw before', async () => {
    const { vms, host, run, attached } = aControlPlane()
    agent.hello = { lastSeenEpoch: 40n }
    run()
    await attached()
    expect(agent.snapshots[0]?.epoch).toBe(41n)
    vms.create(aVm(host.id))
    await until(() => agent.snapshots.length > 1)
    expect(agent.snapshots[1]?.epoch).toBe(42n)
  })

  it('a host that saw more than this store ever sent is sent nothing, however often things change here', async () => {
    const { hosts, vms, host, registry, run, attached, warned } = aControlPlane()
    hosts.stampSnapshot(host.id, 'sent before')
    const { epoch } = hosts.get(host.id)
    agent.hello = { lastSeenEpoch: epoch + 2n }
    run()
    await until(() => registry.active(host.id) !== undefined)
    for (const name of ['a', 'b', 'c']) {
      vms.create(aVm(host.id, { name }))
      await until(() => warned.length > vms.listAll().length)
    }
    expect(hosts.get(host.id).epoch).toBe(epoch + 3n)
    expect(agent.snapshots).toEqual([])
    hosts.overrule(host.id, epoch + 2n)
    await attached()
    expect(agent.snapshots.map((s) => s.epoch)).toEqual([epoch + 4n])
    expect(snapshotNames()).toEqual([['a', 'b', 'c']])
  })

  it('T22: a second session takes over, the first is closed as superseded and its end changes nothing', async () => {
    const { host, registry, run, attached } = aControlPlane()
    const first = run()
    await attached()
    const second = run()
    expect(await first.ended).toMatchObject({ code: 'agent/superseded' })
    await until(() => agent.snapshots.length > 1, 'the second session')
    expect(registry.active(host.id)?.connection).toBe(second.connection)
    expect(registry.live(host.id).link.state).toBe('connected')
  })

  it('reports are applied, and what the host said stays known when the link is lost', async () => {
    const { vms, hosts, host, registry, clock, run, attached } = aControlPlane()
    const vm = vms.create(aVm(host.id))
    const { ended } = run()
    await attached()
    agent.report({ vms: [{ vmId: vm.id, phase: 'ready', power: 'running', ip: '10.0.0.9' }] })
    await until(() => vms.find(vm.id)?.status === 'ready')
    await clock.advance(1000)
    agent.cut()
    expect((await ended).disposition).toBe('transient')
    expect(registry.active(host.id)).toBeUndefined()
    expect(registry.live(host.id).vms?.get(vm.id)?.power).toBe('running')
    expect(hosts.get(host.id).lastSeenAt?.getTime()).toBe(clock.now() - 1000)
  })

  it('an agent that was started again comes straight back, and displaces the session it left open', async () => {
    const { host, registry, run, attached } = aControlPlane()
    const first = run()
    await attached()
    const former = agent
    agent = await FakeSyncAgent.start({ key: former.key })
    try {
      const { connection } = run()
      await attached()
      expect(await first.ended).toMatchObject({ code: 'agent/superseded' })
      expect(registry.active(host.id)?.connection).toBe(connection)
    } finally {
      await former.stop()
    }
  })

  it('a snapshot that cannot be written ends the session and its connection', async () => {
    const { vms, host, registry, run } = aControlPlane()
    agent.deaf = true
    for (let n = 0; n < 40; n++)
      vms.create(aVm(host.id, { name: `big-${n}`, cloudInit: new Uint8Array(LIMITS.cloudInitBytes) }))
    const { connection, ended } = run()
    await until(() => registry.active(host.id) !== undefined, 'the session')
    agent.cut()
    expect(await ended).toMatchObject({ disposition: 'transient' })
    expect(await connection.closed).toBeInstanceOf(Fault)
    expect(registry.active(host.id)).toBeUndefined()
  })

  it('a sender that fails takes the reader with it', async () => {
    const { vms, host, registry, run, attached } = aControlPlane()
    const { ended } = run()
    await attached()
    vms.listByHost = () => {
      throw new Error('broken')
    }
    vms.create(aVm(host.id))
    expect(await ended).toBeInstanceOf(Fault)
    expect(registry.active(host.id)).toBeUndefined()
  })

  it('a reader that ends takes the sender with it', async () => {
    let sending = true
    const connect = agent.connect.bind(agent)
    agent.connect = (hostKey) => {
      const link = connect(hostKey)
      const sync: typeof link.client.sync = (requests, options) =>
        link.client.sync(
          (async function* () {
            try {
              yield* requests
            } finally {
              sending = false
            }
          })(),
          options,
        )
      return { ...link, client: { ...link.client, sync }, close: () => {} }
    }
    const { run, attached } = aControlPlane()
    const { ended } = run()
    await attached()
    expect(sending).toBe(true)
    agent.end('transient')
    await ended
    await until(() => !sending, 'the sender to stop')
  })

  it('a host that left the fleet loses its session at its next report', async () => {
    const { hosts, host, run, attached } = aControlPlane()
    const { ended } = run()
    await attached()
    hosts.remove(host.id)
    agent.report({})
    expect(await ended).toMatchObject({ code: 'host/not-found' })
  })

  it('T25: an agent that stops reading is let go after the write deadline', async () => {
    const { vms, host, registry, clock, run } = aControlPlane()
    agent.deaf = true
    for (let n = 0; n < 40; n++) {
      vms.create(aVm(host.id, { name: `big-${n}`, cloudInit: new Uint8Array(LIMITS.cloudInitBytes) }))
    }
    const { ended } = run()
    const half = TIMES.snapshotWriteMs / 2
    for (const _ of [1, 2]) {
      await until(() => agent.attached > 0, 'Attach')
      agent.report({})
      await until(() => registry.live(host.id).reportedMonotonic === clock.monotonic(), 'the report')
      await clock.advance(half)
    }
    expect(await ended).toMatchObject({ code: 'host/no-answer', params: { detail: 'it stopped reading' } })
  })

  it('an agent that is attached and says nothing is let go after three report periods', async () => {
    const { clock, run, attached } = aControlPlane()
    const { ended } = run()
    await attached()
    await clock.advance(3 * TIMES.reportMs)
    expect(await ended).toMatchObject({ code: 'host/no-answer' })
  })

  it('an agent that never answers Attach is let go after its deadline', async () => {
    const { clock, run } = aControlPlane()
    agent.mute = true
    const { ended } = run()
    await until(() => agent.attaches.length > 0, 'Attach')
    await clock.advance(TIMES.attachMs)
    expect(await ended).toMatchObject({ code: 'host/no-answer' })
  })

  it('starts, hears reports and keeps its snapshot while the store cannot be written, and catches up', async () => {
    const { db, vms, hosts, registry, host, clock, run, warned } = aControlPlane()
    const vm = vms.create(aVm(host.id, { name: 'web' }))
    db.run('PRAGMA query_only = ON')
    const { ended } = run()
    const report = { vms: [{ vmId: vm.id, phase: 'ready', power: 'running' }] }
    await until(() => agent.attached > 0, 'Attach')
    agent.report(report)
    await until(() => registry.live(host.id).vms?.get(vm.id)?.power === 'running', 'the report')
    expect(registry.live(host.id).link.state).toBe('connected')
    expect(faultOf(() => vms.create(aVm(host.id))).code).toBe('store/unavailable')
    expect(agent.snapshots).toEqual([])

    const had = registry.live(host.id).report
    agent.report(report)
    await until(() => registry.live(host.id).report !== had, 'another report')
    expect(warned).toEqual(['session.hello-not-stored', 'session.snapshot-not-sent'])

    db.run('PRAGMA query_only = OFF')
    await clock.advance(TIMES.reportMs)
    agent.report(report)
    await until(() => agent.snapshots.length > 0, 'the snapshot')
    expect(snapshotNames()).toEqual([['web']])
    expect(agent.snapshots[0]?.epoch).toBe(hosts.get(host.id).epoch)
    expect(hosts.get(host.id).agentVersion).toBe('0.1.0')
    expect(vms.find(vm.id)?.status).toBe('ready')
    stopAll.abort(new Fault('app/cancelled', 'cancelled'))
    expect(await ended).toMatchObject({ code: 'app/cancelled' })
  })

  it('ends with an answer even where the store fails under it', async () => {
    const { db, registry, host, run, attached } = aControlPlane()
    const { ended } = run()
    await attached()
    agent.report({})
    await until(() => registry.live(host.id).report !== undefined)
    db.close()
    agent.cut()
    expect((await ended).disposition).toBe('transient')
    expect(registry.active(host.id)).toBeUndefined()
  })

  it('ends as cancelled when the control plane stops', async () => {
    const { run, attached } = aControlPlane()
    const { ended } = run()
    await attached()
    stopAll.abort(new Fault('app/cancelled', 'cancelled'))
    expect(await ended).toMatchObject({ code: 'app/cancelled' })
  })

  it('wanted images go to the image push', async () => {
    const { run, attached, wanted } = aControlPlane()
    run()
    await attached()
    agent.report({ wantedImages: [{ sha256: 'a'.repeat(64), haveBytes: 0n }] })
    await until(() => wanted.length === 1)
    expect(wanted).toEqual(['a'.repeat(64)])
  })
})

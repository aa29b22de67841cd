import { create, toJsonString } from '@bufbuild/protobuf'
import { afterEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { HelloSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { WatchFleetResponseSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { DELTA_MS } from '../../../../../src/main/control/api/fleet-feed.ts'
import { FleetFeeds } from '../../../../../src/main/control/api/fleet-feeds.ts'
import { FleetView } from '../../../../../src/main/control/api/fleet-view.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { ManualClock, settled, until } from '../a-clock.ts'
import { aHost, anId, anImage, aStore, aVm } from '../a-store.ts'

const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort()
})

function theFeeds() {
  const stores = aStore()
  for (const name of ['one', 'two'])
    stores.db.run("INSERT INTO tenants (name, created_at) VALUES ($name, '')", { name })
  const clock = new ManualClock()
  const registry = new Registry()
  const tasks = new TaskRunner(stores.tasks, clock, silentLog)
  const view = new FleetView({ ...stores, tasks, registry, pushes: { state: () => undefined }, clock })
  const feeds = new FleetFeeds(view, clock)
  stores.db.onCommit((changes) => feeds.rowsChanged(changes))
  registry.onChange((id) => feeds.hostChanged(id))
  tasks.onShown((id) => feeds.taskShown(id))
  const watch = (tenant: string) => {
    const stop = new AbortController()
    stops.push(stop)
    const seen: string[] = []
    const ended = (async () => {
      for await (const response of feeds.watch(tenant, stop.signal))
        seen.push(toJsonString(WatchFleetResponseSchema, response))
    })()
    return { seen, ended, stop: () => stop.abort() }
  }
  return { ...stores, clock, registry, tasks, feeds, watch }
}

describe('feeds of tenants', () => {
  it("the stream of one tenant never contains another's ids or names, in its state or in any delta", async () => {
    const { hosts, vms, exposures, images, tasks, registry, clock, watch } = theFeeds()
    const foreign: string[] = []
    const fill = async (tenant: string, secrets: string[]) => {
      const host = hosts.create(aHost({ tenant, name: `${tenant}-rack-${secrets.length}` }))
      const vm = vms.create(
        aVm(host.id, { name: `${tenant}-web-${secrets.length}`, labels: { of: `${tenant}-label` } }),
      )
      const port = anId()
      exposures.create({ id: port, vmId: vm.id, guestPort: 80, hostPort: 0, protocol: 'tcp', scope: 'lan' })
      const session = {
        ...{ hostId: host.id, sessionId: host.id, connection: { carrier: 'unix' } },
        hello: create(HelloSchema, { bootId: `${tenant}-boot` }),
      } as unknown as ActiveSession
      registry.sessionStarted(session)
      const stray = anId()
      registry.reported(
        session,
        create(ReportSchema, {
          vms: [
            { vmId: vm.id, power: 'running', phase: 'ready' },
            { vmId: stray, unowned: true, spec: { name: `${tenant}-stray` } },
          ],
          images: [{ sha256: 'a'.repeat(64) }],
        }),
        { date: new Date(clock.now()), monotonic: clock.monotonic() },
      )
      const task = tasks.start(tenant, 'add_host', `${tenant}-task`, async () => ({ resultId: '' }))
      await tasks.ended(task)
      secrets.push(host.id, vm.id, port, stray, task, `${tenant}-`)
      return { host, vm }
    }
    images.create(anImage({ name: 'shared', sha256: 'a'.repeat(64) }))
    const old = await fill('two', foreign)
    const own = await fill('one', [])
    const watcher = watch('one')
    await settled()
    await fill('two', foreign)
    await clock.advance(DELTA_MS)
    vms.edit(old.vm.id, 'vm.stop', { powerState: 'stopped' })
    await clock.advance(DELTA_MS)
    hosts.remove(old.host.id)
    await clock.advance(DELTA_MS)
    vms.edit(own.vm.id, 'vm.stop', { powerState: 'stopped' })
    await clock.advance(DELTA_MS)
    await until(() => watcher.seen.some((text) => text.includes('"stopped"')), 'the own change')
    for (const secret of foreign) expect(watcher.seen.filter((text) => text.includes(secret))).toEqual([])
    expect(watcher.seen[0]).toContain(own.vm.id)
    expect(watcher.seen[0]).toContain('shared')
    const other = watch('two')
    await settled()
    expect(other.seen[0]).toContain(foreign.at(-5))
  })

  it('work on images is shown to every tenant, as images are', async () => {
    const { tasks, watch } = theFeeds()
    const id = tasks.start('system', 'build_image', 'tiny', async () => ({ resultId: '' }))
    await tasks.ended(id)
    for (const tenant of ['one', 'two']) {
      const watcher = watch(tenant)
      await settled()
      expect(watcher.seen[0]).toContain(id)
    }
  })

  it('are bounded in watchers, of all tenants together', async () => {
    const { watch } = theFeeds()
    const first = watch('one')
    for (let n = 1; n < 64; n++) watch(n % 2 === 0 ? 'one' : 'two')
    await settled()
    await expect(watch('two').ended).rejects.toMatchObject({ code: 'input/too-large' })
    first.stop()
    await first.ended
    const again = watch('two')
    await settled()
    expect(again.seen).toHaveLength(1)
  })
})

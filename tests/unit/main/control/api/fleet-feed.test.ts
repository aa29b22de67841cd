import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterEach, describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import type { ClockActSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/clock_pb.js'
import { HelloSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmMetricsSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import {
  type FleetDelta,
  FleetDeltaSchema,
  type FleetState,
  type WatchFleetResponse,
} from '../../../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { TIMES } from '../../../../../src/ipc/units.ts'
import { DELTA_MS, FleetFeed } from '../../../../../src/main/control/api/fleet-feed.ts'
import { feedView } from '../../../../../src/main/control/api/fleet-feeds.ts'
import { FleetView } from '../../../../../src/main/control/api/fleet-view.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import type { PushState } from '../../../../../src/main/control/hosts/image-push.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { ManualClock, settled, until } from '../a-clock.ts'
import { aHost, anId, anImage, aStore, aVm } from '../a-store.ts'

const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort()
})

function aFeed() {
  const stores = aStore()
  const clock = new ManualClock()
  const registry = new Registry()
  const tasks = new TaskRunner(stores.tasks, clock, silentLog)
  const push: PushState = {}
  const feed = new FleetFeed(
    feedView(new FleetView({ ...stores, tasks, registry, pushes: { state: () => push }, clock }), 'default'),
    clock,
  )
  stores.db.onCommit((changes) => feed.rowsChanged(changes))
  registry.onChange((id) => feed.hostChanged(id))
  tasks.onShown((id) => feed.taskShown(id))
  const host = stores.hosts.create(aHost())
  const session = {
    hostId: host.id,
    sessionId: 's',
    hello: create(HelloSchema),
    connection: { carrier: 'unix' },
  } as unknown as ActiveSession
  const report = (value: MessageInitShape<typeof ReportSchema>) =>
    registry.reported(session, create(ReportSchema, value), {
      date: new Date(clock.now()),
      monotonic: clock.monotonic(),
    })
  return { ...stores, clock, registry, tasks, feed, push, host, session, report, watch: () => aWatcher(feed) }
}

function aWatcher(feed: FleetFeed) {
  const stop = new AbortController()
  stops.push(stop)
  const seen: WatchFleetResponse[] = []
  const ended = (async () => {
    for await (const response of feed.watch(stop.signal)) seen.push(response)
  })()
  const state = () => seen[0]?.message.value as FleetState
  const deltas = () => seen.slice(1).map((response) => response.message.value as FleetDelta)
  const next = async (clock: ManualClock) => {
    const had = seen.length
    await clock.advance(DELTA_MS)
    await until(() => seen.length > had, 'a delta')
    return deltas().at(-1) as FleetDelta
  }
  return { seen, state, deltas, next, stop: () => stop.abort(), ended }
}

describe('fleet feed', () => {
  it('shows an image on its way to a host at most every 100 ms', async () => {
    const { vms, registry, session, report, feed, push, host, clock, watch } = aFeed()
    const vm = vms.create(aVm(host.id))
    registry.sessionStarted(session)
    report({ vms: [{ vmId: vm.id, phase: 'creating' }], wantedImages: [{ sha256: vm.imageSha256 }] })
    const watcher = watch()
    await settled()
    for (let doneBytes = 1; doneBytes <= 9; doneBytes++) {
      push.progress = { doneBytes, totalBytes: 10 }
      feed.pushChanged(host.id)
    }
    const delta = await watcher.next(clock)
    expect(delta.vms).toMatchObject([{ id: vm.id, progress: { doneBytes: 9n, totalBytes: 10n } }])
    expect(watcher.deltas()).toHaveLength(1)
  })

  it('gives the whole state first', async () => {
    const { vms, images, host, watch } = aFeed()
    const vm = vms.create(aVm(host.id, { name: 'web' }))
    images.create(anImage({ name: 'debian' }))
    const watcher = watch()
    await settled()
    expect(watcher.seen[0]?.message.case).toBe('state')
    expect(watcher.state().hosts.map((h) => h.id)).toEqual([host.id])
    expect(watcher.state().vms).toMatchObject([{ id: vm.id, name: 'web', lifecycle: 'creating', hostUnknown: true }])
    expect(watcher.state().images.map((i) => i.name)).toEqual(['debian'])
  })

  it('coalesces what happens within 100 ms into one delta with the next revision', async () => {
    const { vms, host, clock, watch } = aFeed()
    const watcher = watch()
    await settled()
    const [a, b] = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    vms.edit(a.id, 'vm.stop', { powerState: 'stopped' })
    const delta = await watcher.next(clock)
    expect(delta.vms.map((vm) => [vm.id, vm.desiredPower]).sort()).toEqual(
      [
        [a.id, 'stopped'],
        [b.id, 'running'],
      ].sort(),
    )
    expect(delta.hosts.map((h) => h.vms)).toEqual([2])
    expect(watcher.seen.map((response) => response.revision)).toEqual([0n, 1n])
  })

  it('names what is gone by id', async () => {
    const { vms, hosts, images, host, clock, watch } = aFeed()
    const vm = vms.create(aVm(host.id))
    const image = images.create(anImage())
    const watcher = watch()
    await settled()
    images.remove('default', image.id)
    hosts.remove(host.id)
    const delta = await watcher.next(clock)
    expect([delta.removedHostIds, delta.removedVmIds, delta.removedImageIds]).toEqual([[host.id], [vm.id], [image.id]])
  })

  it('a report that says nothing new is a new age of the host and nothing of its VMs', async () => {
    const { vms, host, clock, registry, session, report, watch } = aFeed()
    const vm = vms.create(aVm(host.id))
    registry.sessionStarted(session)
    report({ vms: [{ vmId: vm.id, phase: 'ready', power: 'running' }] })
    const watcher = watch()
    await settled()
    expect(watcher.state().vms).toMatchObject([{ phase: 'ready', power: 'running', hostUnknown: false }])
    await clock.advance(1000)
    report({ vms: [{ vmId: vm.id, phase: 'ready', power: 'running' }] })
    const delta = await watcher.next(clock)
    expect([delta.hosts.length, delta.vms.length]).toEqual([1, 0])
  })

  it('sends what VMs take of their host without their rows, and only what a person would see', async () => {
    const { vms, host, clock, registry, session, report, watch } = aFeed()
    const [busy, idle] = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    registry.sessionStarted(session)
    const told = (metrics: MessageInitShape<typeof VmMetricsSchema>, vmId: string) => ({
      ...{ vmId, phase: 'ready', power: 'running' },
      metrics,
    })
    const quiet = { cpuTimeMs: 1000n, cpuBusyPermille: 10, rssBytes: 100_000_000n }
    report({ vms: [told(quiet, busy.id), told(quiet, idle.id)] })
    const watcher = watch()
    await settled()
    expect(watcher.state().vms.map(({ metrics }) => metrics?.rssBytes)).toEqual([100_000_000n, 100_000_000n])
    const stirring = { cpuTimeMs: 1100n, cpuBusyPermille: 19, rssBytes: 100_100_000n }
    const working = { cpuTimeMs: 11_000n, cpuBusyPermille: 1000, rssBytes: 100_000_000n }
    report({ vms: [told(working, busy.id), told(stirring, idle.id)] })
    const delta = await watcher.next(clock)
    expect([delta.vms, delta.vmMetrics]).toMatchObject([[], [{ vmId: busy.id, metrics: working }]])
    report({ vms: [told({}, busy.id), told({ ...stirring, diskUsedBytes: 0n }, idle.id)] })
    const { vmMetrics } = await watcher.next(clock)
    expect(vmMetrics.map(({ vmId }) => vmId).sort()).toEqual([busy.id, idle.id].sort())
    expect(vmMetrics.find(({ vmId }) => vmId === busy.id)?.metrics?.rssBytes).toBeUndefined()
    report({ vms: [{ vmId: busy.id, phase: 'ready', power: 'stopped' }, told(stirring, idle.id)] })
    const [stopped] = (await watcher.next(clock)).vms
    expect(stopped).toMatchObject({ id: busy.id, power: 'stopped' })
    expect(stopped?.metrics).toBeUndefined()
  })

  it('goes on with the metrics of a VM from those its row came with', async () => {
    const { clock, registry, session, report, watch } = aFeed()
    registry.sessionStarted(session)
    const watcher = watch()
    await settled()
    const vmId = anId()
    const told = (cpuBusyPermille: number) => {
      report({ vms: [{ vmId, unowned: true, phase: 'ready', power: 'running', metrics: { cpuBusyPermille } }] })
      return watcher.next(clock)
    }
    expect((await told(500)).vms).toMatchObject([{ id: vmId, metrics: { cpuBusyPermille: 500 } }])
    const same = await told(500)
    expect([same.vms, same.vmMetrics]).toEqual([[], []])
    const busier = await told(900)
    expect([busier.vms, busier.vmMetrics]).toMatchObject([[], [{ vmId, metrics: { cpuBusyPermille: 900 } }]])
  })

  it('a clock travels without its row, and only once a person would see a difference', async () => {
    const { vms, host, clock, registry, session, report, watch } = aFeed()
    const [calm, thrown] = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    registry.sessionStarted(session)
    const told = (vmId: string, offsetMs: number, lastAct?: MessageInitShape<typeof ClockActSchema>) => ({
      ...{ vmId, phase: 'ready', power: 'running', guest: { guestAgent: 'answering', asOf: now() } },
      clock: {
        ...{ source: 'guest_agent', offsetUs: BigInt(offsetMs * 1000), measuredAt: now() },
        ...(lastAct ? { lastAct } : {}),
      },
    })
    const now = () => timestampFromMs(clock.now())
    const reportBoth = (...rows: ReturnType<typeof told>[]) => report({ builtAt: now(), vms: rows })
    reportBoth(told(calm.id, 2), told(thrown.id, 2))
    const watcher = watch()
    await settled()
    expect(watcher.state().vms.map((vm) => vm.clock?.offsetUs)).toEqual([2000n, 2000n])
    await clock.advance(10_000)
    reportBoth(told(calm.id, 7), told(thrown.id, -41_200))
    const jumped = await watcher.next(clock)
    expect([jumped.vms, jumped.vmClocks]).toMatchObject([
      [],
      [{ vmId: thrown.id, clock: { offsetUs: -41_200_000n, source: 'guest_agent' } }],
    ])
    const at = now()
    reportBoth(told(calm.id, 7), told(thrown.id, 1, { cause: 'resume', means: 'set_time', result: 'done', at }))
    const set = await watcher.next(clock)
    expect(set.vmClocks).toMatchObject([{ vmId: thrown.id, clock: { lastAct: { cause: 'resume', result: 'done' } } }])
    await clock.advance(10_000)
    reportBoth(told(calm.id, 6), told(thrown.id, 3, { cause: 'resume', means: 'set_time', result: 'done', at }))
    const quiet = await watcher.next(clock)
    expect([quiet.vms, quiet.vmClocks]).toEqual([[], []])
    report({ builtAt: now(), vms: [{ vmId: calm.id, phase: 'ready', power: 'running' }, told(thrown.id, 3)] })
    const gone = await watcher.next(clock)
    expect(gone.vms).toMatchObject([{ id: calm.id }])
    expect(gone.vms[0]?.clock).toBeUndefined()
  })

  it('a clock that nobody measures any more is told of once', async () => {
    const { vms, host, clock, registry, session, report, watch } = aFeed()
    const vm = vms.create(aVm(host.id))
    registry.sessionStarted(session)
    const measuredAt = timestampFromMs(clock.now())
    const told = () =>
      report({
        builtAt: timestampFromMs(clock.now()),
        vms: [
          { vmId: vm.id, phase: 'ready', power: 'running', clock: { source: 'guest_agent', offsetUs: 1n, measuredAt } },
        ],
      })
    told()
    const watcher = watch()
    await settled()
    const sent: boolean[] = []
    for (let heard = 1; heard <= 30; heard++) {
      await clock.advance(TIMES.reportMs)
      told()
      sent.push(...(await watcher.next(clock)).vmClocks.map((change) => change.clock?.stale ?? false))
    }
    expect(sent).toEqual([true])
  })

  it('a thousand busy VMs cost a window less than 100 bytes each per report', async () => {
    const { clock, registry, session, report, watch } = aFeed()
    registry.sessionStarted(session)
    const ids = Array.from({ length: 1000 }, anId)
    const reportAll = (n: number) =>
      report({
        vms: ids.map((vmId) => ({
          ...{ vmId, unowned: true, phase: 'ready', power: 'running', spec: { name: 'stray' } },
          metrics: {
            cpuTimeMs: 10n ** 9n * BigInt(n),
            cpuBusyPermille: 1000 * n,
            rssBytes: 10n ** 11n * BigInt(n),
            pssBytes: 10n ** 11n * BigInt(n),
            diskUsedBytes: 10n ** 12n * BigInt(n),
          },
        })),
      })
    reportAll(1)
    const watcher = watch()
    await settled()
    reportAll(2)
    const delta = await watcher.next(clock)
    expect([delta.vms.length, delta.vmMetrics.length]).toEqual([0, 1000])
    expect(toBinary(FleetDeltaSchema, delta).length).toBeLessThan(100 * 1000)
  })

  it('shows what a report changes', async () => {
    const { vms, host, clock, registry, session, report, watch } = aFeed()
    const vm = vms.create(aVm(host.id))
    registry.sessionStarted(session)
    const watcher = watch()
    await settled()
    report({ vms: [{ vmId: vm.id, phase: 'creating', detail: 'booting', progress: { step: 4, steps: 5 } }] })
    const [seen] = (await watcher.next(clock)).vms
    expect(seen).toMatchObject({ phase: 'creating', detail: 'booting', progress: { step: 4, steps: 5 } })
    expect(seen?.power).toBeUndefined()
  })

  it('a lost session makes the VMs unknown with their last known values and the time of those', async () => {
    const { vms, host, clock, registry, session, report, watch } = aFeed()
    const vm = vms.create(aVm(host.id))
    registry.sessionStarted(session)
    report({ vms: [{ vmId: vm.id, phase: 'ready', power: 'running' }] })
    const reportedAt = clock.now()
    const watcher = watch()
    await settled()
    await clock.advance(2000)
    registry.sessionEnded(session)
    const [seen] = (await watcher.next(clock)).vms
    expect(seen).toMatchObject({ power: 'running', hostUnknown: true })
    expect(Number(seen?.asOf?.seconds) * 1000).toBe(reportedAt)
  })

  it('values that nobody renews become last known by themselves', async () => {
    const { vms, host, clock, registry, session, report, watch } = aFeed()
    const vm = vms.create(aVm(host.id))
    registry.sessionStarted(session)
    report({ vms: [{ vmId: vm.id, phase: 'ready', power: 'running' }] })
    const watcher = watch()
    await settled()
    await clock.advance(TIMES.staleMs + 5000)
    const delta = await watcher.next(clock)
    expect(delta.hosts).toMatchObject([{ stale: true }])
    expect(delta.vms).toMatchObject([{ hostUnknown: true, power: 'running' }])
  })

  it('shows a VM the host runs that no row names, and forgets it when the host does', async () => {
    const { vms, clock, registry, session, report, watch } = aFeed()
    registry.sessionStarted(session)
    const watcher = watch()
    await settled()
    const vmId = anId()
    report({ vms: [{ vmId, unowned: true, power: 'running', phase: 'ready', spec: { name: 'stray', vcpus: 2 } }] })
    expect((await watcher.next(clock)).vms).toMatchObject([{ id: vmId, name: 'stray', unowned: true, vcpus: 2 }])
    expect(vms.listAll()).toEqual([])
    report({})
    expect((await watcher.next(clock)).removedVmIds).toEqual([vmId])
  })

  it('a watcher that does not read is ended so that it opens again', async () => {
    const { tasks, clock, feed } = aFeed()
    const stream = feed.watch(new AbortController().signal)
    await stream.next()
    const idle = tasks.start(
      'default',
      'add_host',
      'x',
      (task) => new Promise((_, no) => task.signal.addEventListener('abort', no)),
    )
    for (let n = 0; n < 101; n++) {
      const go = tasks.start('default', 'add_host', `y${n}`, async () => ({ resultId: '' }))
      await tasks.ended(go)
      await clock.advance(DELTA_MS)
    }
    const left: unknown[] = []
    for await (const response of { [Symbol.asyncIterator]: () => stream }) left.push(response)
    expect(left.length).toBeLessThanOrEqual(100)
    tasks.cancel('default', idle)
  })

  it('does nothing while nobody watches', async () => {
    const { vms, host, clock, watch } = aFeed()
    const watcher = watch()
    await settled()
    watcher.stop()
    await watcher.ended
    vms.create(aVm(host.id))
    expect(clock.sleeping).toBe(0)
  })

  it('ends its watchers when the store cannot be read, so that they open again and see why', async () => {
    const { db, clock, registry, host, watch } = aFeed()
    const watcher = watch()
    await settled()
    db.close()
    registry.setLink(host.id, { state: 'unreachable' })
    await clock.advance(DELTA_MS)
    await watcher.ended
    expect(watcher.deltas()).toEqual([])
  })
})

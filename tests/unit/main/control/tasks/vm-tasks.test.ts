import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { HelloSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmRowSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { FleetView } from '../../../../../src/main/control/api/fleet-view.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { actingAs } from '../../../../../src/main/control/store/actor.ts'
import type { Stores } from '../../../../../src/main/control/store/stores.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { VmTasks } from '../../../../../src/main/control/tasks/vm-tasks.ts'
import { ManualClock } from '../a-clock.ts'
import { aHost, aStore, aVm, faultOf } from '../a-store.ts'

type Seen = Omit<MessageInitShape<typeof VmRowSchema>, '$typeName'>

/** What one process of the control plane has beside the store. */
function aProcess(stores: Stores, clock: ManualClock) {
  const registry = new Registry()
  const runner = new TaskRunner(stores.tasks, clock, silentLog)
  const view = new FleetView({ ...stores, tasks: runner, registry, pushes: { state: () => undefined }, clock })
  const vmTasks = new VmTasks({ ...stores, runner, registry, view, clock, log: silentLog })
  const stop = stores.db.onCommit((changes) => vmTasks.committed(changes))
  registry.onChange((id) => vmTasks.hostChanged(id))
  runner.recover()
  vmTasks.recover()
  return { registry, runner, stop }
}

function aFleet() {
  const stores = aStore()
  const clock = new ManualClock()
  const host = stores.hosts.create(aHost({ name: 'rack' }))
  let now = aProcess(stores, clock)
  const report = (vms: Seen[], more: MessageInitShape<typeof ReportSchema> = {}) => {
    const session = { hostId: host.id, hello: create(HelloSchema), connection: {} } as unknown as ActiveSession
    now.registry.sessionStarted(session)
    const told = { lastSeenEpoch: BigInt(stores.hosts.get(host.id).epoch), vms, ...more }
    const at = { date: new Date(clock.now()), monotonic: clock.monotonic() }
    now.registry.reported(session, create(ReportSchema, told), at)
  }
  const restart = () => {
    now.stop()
    now = aProcess(stores, clock)
  }
  const tasks = () => now.runner.list('default').toReversed()
  const last = () => {
    const task = now.runner.list('default').at(0)
    if (!task) throw new Error('there is no task')
    return task
  }
  const steps = () => last().steps.map(({ name, state, detail }) => `${name}: ${state}${detail && `, ${detail}`}`)
  const cancel = (id: string) => now.runner.cancel('default', id)
  /** A VM that was made and runs. */
  const running = async () => {
    const vm = stores.vms.create(aVm(host.id, { name: 'web' }))
    report([{ vmId: vm.id, phase: 'ready', power: 'running', startedAt: timestampFromMs(1000) }])
    await clock.advance(1000)
    return vm
  }
  return { ...stores, clock, host, report, restart, tasks, last, steps, cancel, running }
}

const ADA = { user: 'ada', client: 'app' as const, requestId: 'r-1' }

describe('the task of an act on a VM', () => {
  it('begins with the act, is whose the act is, and waits until its host was told', () => {
    const { vms, host, last, steps } = aFleet()
    const vm = actingAs(ADA, () => vms.create(aVm(host.id, { name: 'web' })))
    expect(last()).toMatchObject({ kind: 'create_vm', subject: 'web', state: 'running', owner: ADA, resultId: vm.id })
    expect(steps()).toEqual(['Tell rack: running, waits for rack', 'Make the VM: waiting', 'Start it: waiting'])
  })

  it('goes by what the host reports, and is done when the VM is as it was asked for', () => {
    const { vms, host, report, last, steps } = aFleet()
    const { id: vmId } = vms.create(aVm(host.id))
    const progress = { step: 2, steps: 3, doneBytes: 61n, totalBytes: 100n }
    report([{ vmId, phase: 'creating', detail: 'copying disk', progress }])
    expect(steps()).toEqual(['Tell rack: done', 'Make the VM: running, copying disk', 'Start it: waiting'])
    expect(last().steps[1]).toMatchObject({ doneBytes: 61, totalBytes: 100 })
    report([{ vmId, phase: 'ready', power: 'stopped', detail: 'booting' }])
    expect(steps()).toEqual(['Tell rack: done', 'Make the VM: done', 'Start it: running, booting'])
    report([{ vmId, phase: 'ready', power: 'running' }])
    expect([last().state, last().steps.every(({ state }) => state === 'done')]).toEqual(['done', true])
  })

  it('is done without a start where the VM was to be stopped', () => {
    const { vms, host, report, last } = aFleet()
    const { id: vmId } = vms.create(aVm(host.id, { powerState: 'stopped' }))
    report([{ vmId, phase: 'ready', power: 'stopped' }])
    expect(last().state).toBe('done')
  })

  it('does not end by what a host said that was not told yet', () => {
    const { vms, host, report, last } = aFleet()
    const { id: vmId } = vms.create(aVm(host.id))
    report([{ vmId, phase: 'ready', power: 'running' }], { lastSeenEpoch: 0n })
    expect(last().state).toBe('running')
  })

  it('fails with what its host says is wrong', () => {
    const { vms, host, report, last, steps } = aFleet()
    const { id: vmId, name } = vms.create(aVm(host.id))
    report([{ vmId, phase: 'failed', reason: 'vm/create-failed', detail: 'no space left on the disk' }])
    expect(last()).toMatchObject({ state: 'failed', fault: { code: 'vm/create-failed', params: { vm: name } } })
    expect(steps()[1]).toBe('Make the VM: failed, no space left on the disk')
  })

  it('goes on with the same id, start and steps in the next process, and ends by the truth it finds', async () => {
    const { vms, host, report, restart, last, steps, clock } = aFleet()
    const { id: vmId } = vms.create(aVm(host.id))
    report([{ vmId, phase: 'creating', detail: 'copying disk' }])
    const { id, createdAt } = last()
    await clock.advance(60_000)
    restart()
    expect(last()).toMatchObject({ id, createdAt, state: 'running' })
    expect(steps()).toEqual(['Tell rack: done', 'Make the VM: running, waits for rack', 'Start it: waiting'])
    report([{ vmId, phase: 'ready', power: 'running' }])
    expect(last()).toMatchObject({ id, state: 'done', createdAt })
  })

  it('fails in the next process when that is what became of it', () => {
    const { vms, host, report, restart, last } = aFleet()
    const { id: vmId } = vms.create(aVm(host.id))
    restart()
    report([{ vmId, phase: 'failed', reason: 'vm/create-failed', detail: 'no space' }])
    expect(last()).toMatchObject({ state: 'failed', fault: { code: 'vm/create-failed' } })
  })

  it('of a restart is done when the guest has started anew, not when it still runs', async () => {
    const { vms, running, report, last } = aFleet()
    const { id: vmId } = await running()
    vms.edit(vmId, 'vm.restart', { restartCount: 1 })
    report([{ vmId, phase: 'ready', power: 'running', startedAt: timestampFromMs(1000) }])
    expect(last()).toMatchObject({ kind: 'restart_vm', state: 'running' })
    report([{ vmId, phase: 'ready', power: 'running', startedAt: timestampFromMs(9000) }])
    expect(last().state).toBe('done')
  })

  it('of a start does not fail with what was wrong before it, unless that stays', async () => {
    const { vms, host, report, last, clock } = aFleet()
    const { id: vmId } = vms.create(aVm(host.id, { powerState: 'stopped' }))
    const wrong = { vmId, phase: 'failed', reason: 'vm/start-failed', detail: 'no kvm' }
    report([wrong])
    await clock.advance(1000)
    vms.edit(vmId, 'vm.start', { powerState: 'running' })
    report([wrong])
    expect(last().state).toBe('running')
    await clock.advance(20_001)
    report([wrong])
    expect(last()).toMatchObject({ state: 'failed', fault: { code: 'vm/start-failed' } })
  })

  it('ends as superseded when the opposite is asked, and is not told as cancelled in the trail', async () => {
    const { vms, running, tasks, audit } = aFleet()
    const { id: vmId } = await running()
    vms.edit(vmId, 'vm.stop', { powerState: 'stopped' })
    const stop = tasks().at(-1)
    vms.edit(vmId, 'vm.start', { powerState: 'running' })
    expect(tasks().find(({ id }) => id === stop?.id)).toMatchObject({
      state: 'cancelled',
      goesOn: { watch: { endedBy: 'start' } },
    })
    expect(
      tasks()
        .find(({ id }) => id === stop?.id)
        ?.steps.map(({ state }) => state),
    ).not.toContain('failed')
    expect(audit.ends([stop?.id ?? '']).get(stop?.id ?? '')?.result).toBe('superseded')
  })

  it('of a delete is done when the VM is in quarantine, of a purge when it is gone', async () => {
    const { vms, running, report, last, host, clock } = aFleet()
    const { id: vmId } = await running()
    vms.edit(vmId, 'vm.delete', { deletedAt: new Date(), graceS: 600 })
    report([{ vmId, phase: 'ready', power: 'running', detail: 'stopping' }])
    expect(last()).toMatchObject({ kind: 'delete_vm', state: 'running' })
    report([], { quarantined: [{ vmId, destroyAt: timestampFromMs(5_000_000) }] })
    expect(last().state).toBe('done')
    await clock.advance(1000)
    vms.edit(vmId, 'vm.purge', { graceS: 0 })
    vms.reap(host.id, [vmId])
    expect(last()).toMatchObject({ kind: 'purge_vm', state: 'done' })
  })

  it('is none where nothing of it is for the host to do', async () => {
    const { vms, running, tasks, audit } = aFleet()
    const { id } = await running()
    const before = tasks().length
    actingAs(ADA, () => vms.edit(id, 'vm.update', { protected: true }))
    expect(tasks()).toHaveLength(before)
    expect(audit.list({ limit: 1 })[0]).toMatchObject({ action: 'vm.update', taskId: '', result: 'done' })
  })

  it('is not cancelled: its host has it already', () => {
    const { vms, host, last, cancel } = aFleet()
    vms.create(aVm(host.id))
    expect(faultOf(() => cancel(last().id)).code).toBe('task/not-cancelled')
  })

  it('is undone with an act that is', () => {
    const { vms, host, db, tasks } = aFleet()
    const roll = () =>
      db.transaction(() => {
        vms.create(aVm(host.id))
        throw new Error('rolled back')
      })
    expect(roll).toThrow('rolled back')
    expect(tasks()).toEqual([])
  })
})

import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import type { FleetView } from '../api/fleet-view.ts'
import { currentActor } from '../store/actor.ts'
import type { Change } from '../store/database.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { TaskRow, VmWatch } from '../store/task-row.ts'
import type { TasksStore } from '../store/tasks-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { VmActDone, VmsStore } from '../store/vms-store.ts'
import type { Registry } from '../sync/registry.ts'
import type { RunningTask } from './running-task.ts'
import { VM_ACTS, type VmAct } from './task-context.ts'
import { newTask, type TaskRunner } from './task-runner.ts'
import { type ActVerdict, actSteps, isSupersededBy, judgeAct, startedAt, troubleOf } from './vm-act-judge.ts'

export interface VmTasksDeps {
  tasks: TasksStore
  runner: TaskRunner
  vms: VmsStore
  hosts: HostsStore
  registry: Registry
  view: FleetView
  clock: Clock
  log: Log
}

interface Watched {
  task: RunningTask
  watch: VmWatch
}

/**
 * Tasks of acts on VMs. The host carries an act out, whoever is connected; a task is a row beside the act, written with it,
 * and what the host reports tells how far it is, in this process or the next. At most one of a kind is open for a VM.
 */
export class VmTasks {
  readonly #deps: VmTasksDeps
  readonly #open = new Map<string, Watched>()
  readonly #byHost = new Groups()
  readonly #byVm = new Groups()

  constructor(deps: VmTasksDeps) {
    this.#deps = deps
    deps.vms.followWith((act) => this.#begin(act))
  }

  /** Takes up what a former process, or another file, left open. */
  recover(): void {
    for (const id of [...this.#open.keys()]) this.#close(id)
    for (const row of this.#deps.tasks.listUnended()) this.#take(row)
  }

  /** After each commit. */
  committed(changes: readonly Change[]): void {
    const { tasks } = this.#deps
    for (const { noun, id } of changes) {
      if (noun !== 'task' || this.#open.has(id)) continue
      const row = tasks.find(id)
      if (row && row.endedAt === null) this.#take(row)
    }
    for (const { noun, id: vmId } of changes) if (noun === 'vm') for (const id of this.#byVm.of(vmId)) this.#judge(id)
  }

  /** What a host says, or whether it says anything, changed. */
  hostChanged(hostId: string): void {
    for (const id of this.#byHost.of(hostId)) this.#judge(id)
  }

  /** Within the transaction of the act; undefined = its host has nothing to do. */
  #begin({ action, before, after, concernsHost }: VmActDone): string | undefined {
    const act = VM_ACTS.find((one) => `vm.${one}` === action)
    if (!act || !after || (!concernsHost && act === 'update')) return undefined
    const { tasks, clock, hosts } = this.#deps
    const { taskId: _, ...owner } = currentActor()
    const host = hosts.find(after.hostId)
    const row = newTask({
      ...{ tenant: after.tenant, kind: `${act}_vm` as const, subject: after.name, owner, resultId: after.id },
      goesOn: { how: 'watched', watch: this.#watchOf(act, before, after, Number(host?.epoch ?? 0)) },
      createdAt: new Date(clock.now()),
    })
    tasks.save({ ...row, steps: stepsAt(actSteps(act, host?.name ?? 'its host'), 0, '').map(asRow) })
    return row.id
  }

  #watchOf(act: VmAct, before: VmRow | undefined, { id, hostId }: VmRow, epoch: number): VmWatch {
    const seen = before && this.#deps.view.vm(before)
    return {
      ...{ act, vmId: id, hostId, epoch },
      before: { startedAt: seen ? startedAt(seen) : '', trouble: seen ? troubleOf(seen) : '' },
    }
  }

  #take(row: TaskRow): void {
    if (row.goesOn?.how !== 'watched') return
    const { watch } = row.goesOn
    for (const id of this.#byVm.of(watch.vmId)) {
      const other = this.#open.get(id)?.watch
      if (!other || !isSupersededBy(other.act, watch.act)) continue
      this.#end(id, 'cancelled', { goesOn: { how: 'watched', watch: { ...other, endedBy: watch.act } } })
    }
    this.#show(row, watch)
    this.#judge(row.id)
  }

  #judge(id: string): void {
    const watched = this.#open.get(id)
    if (!watched) return
    try {
      this.#apply(id, watched)
    } catch (error) {
      this.#deps.log.warn('task.not-judged', { task: id, message: asFault(error).message })
    }
  }

  #apply(id: string, { task, watch }: Watched): void {
    const { vms, registry, view, clock } = this.#deps
    const [tell] = task.row.steps
    const { report } = registry.live(watch.hostId)
    const told = tell?.state === 'done' || (report !== undefined && report.lastSeenEpoch >= BigInt(watch.epoch))
    const row = vms.find(watch.vmId)
    const toldForMs = tell?.endedAt ? clock.now() - Date.parse(tell.endedAt) : 0
    const verdict = judgeAct(watch, { vm: row && view.vm(row), told, toldForMs })
    const names = task.row.steps.map(({ name }) => name)
    if (!('end' in verdict)) task.follow(stepsAt(names, verdict.at, verdict.detail, verdict))
    else if (verdict.end === 'gone') this.#end(id, 'cancelled', {})
    else if (verdict.end === 'done') {
      task.follow(stepsAt(names, names.length, ''))
      this.#end(id, 'done', { resultId: watch.vmId })
    } else {
      task.follow(stepsAt(names, verdict.at, verdict.detail, { state: 'failed' }))
      const host = this.#deps.hosts.find(watch.hostId)?.name ?? ''
      const params = { vm: row?.name ?? task.row.subject, detail: verdict.detail, host }
      this.#end(id, 'failed', { fault: new Fault(verdict.code, 'permanent', params).toData() })
    }
  }

  /** One that could not be written is taken up again from its row. */
  #end(id: string, ...end: Parameters<RunningTask['end']>): void {
    const watched = this.#open.get(id)
    this.#close(id)
    try {
      watched?.task.end(...end)
    } catch (error) {
      this.#deps.log.error('task.not-saved', { task: id, message: asFault(error).message })
      if (watched) this.#reopen(id, watched)
    }
  }

  #reopen(id: string, { watch }: Watched): void {
    const row = this.#deps.tasks.find(id)
    if (row) this.#show(row, watch)
  }

  #show(row: TaskRow, watch: VmWatch): void {
    this.#open.set(row.id, { task: this.#deps.runner.adopt(row), watch })
    this.#byHost.add(watch.hostId, row.id)
    this.#byVm.add(watch.vmId, row.id)
  }

  #close(id: string): void {
    const watch = this.#open.get(id)?.watch
    if (!watch) return
    this.#byHost.remove(watch.hostId, id)
    this.#byVm.remove(watch.vmId, id)
    this.#open.delete(id)
    this.#deps.runner.release(id)
  }
}

/** Ids under what they belong to; a key without any is forgotten. */
class Groups {
  readonly #ids = new Map<string, Set<string>>()

  of(key: string): string[] {
    return [...(this.#ids.get(key) ?? [])]
  }

  add(key: string, id: string): void {
    this.#ids.set(key, (this.#ids.get(key) ?? new Set()).add(id))
  }

  remove(key: string, id: string): void {
    const ids = this.#ids.get(key)
    ids?.delete(id)
    if (ids?.size === 0) this.#ids.delete(key)
  }
}

type Going = Partial<Pick<Extract<ActVerdict, { at: number; doneBytes: number }>, 'doneBytes' | 'totalBytes'>> & {
  state?: 'failed'
}

/** Those before `at` are done, those after it wait. */
function stepsAt(names: readonly string[], at: number, detail: string, { doneBytes, totalBytes, state }: Going = {}) {
  return names.map((name, i) => ({
    name,
    state: i < at ? ('done' as const) : i > at ? ('waiting' as const) : (state ?? ('running' as const)),
    detail: i === at ? detail : '',
    doneBytes: i === at ? (doneBytes ?? 0) : 0,
    totalBytes: i === at ? (totalBytes ?? null) : null,
  }))
}

const asRow = (step: ReturnType<typeof stepsAt>[number]) => ({ ...step, startedAt: null, endedAt: null })

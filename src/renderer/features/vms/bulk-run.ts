import { create } from 'zustand'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { api } from '../../api/transport.ts'
import type { BulkAct, BulkPlan } from './bulk-plan.ts'
import type { BulkItem } from './bulk-progress.ts'

/** Asked of the control plane at once; it answers from its store, so this is only politeness. */
const AT_ONCE = 4
/** Runs kept on the screen. The oldest finished one gives way. */
const MAX_RUNS = 3

export interface BulkRun {
  id: number
  act: BulkAct
  items: BulkItem[]
  /** No more are asked. */
  stopped: boolean
}

const useRuns = create<{ runs: BulkRun[] }>(() => ({ runs: [] }))
let serial = 0

/** Bulk acts of this window, newest first; each stays until it is dismissed. */
export const useBulkRuns = () => useRuns((s) => s.runs)

export const dismissBulkRun = (id: number): void =>
  useRuns.setState((s) => ({ runs: s.runs.filter((run) => run.id !== id) }))

/** Asks no more; what was accepted goes on. */
export function stopBulkRun(id: number): void {
  change(id, (run) => ({
    ...run,
    stopped: true,
    items: run.items.map((item) => (item.asked === 'waiting' ? { ...item, asked: 'skipped' as const } : item)),
  }))
}

export function startBulkRun({ act, steps }: Pick<BulkPlan, 'act' | 'steps'>): void {
  begin(
    act,
    steps.map(({ vm: { id, name, hostName } }) => ({ id, name, hostName })),
  )
}

/** The same again for those that were refused. */
export function retryBulkRun({ id, act, items }: BulkRun): void {
  dismissBulkRun(id)
  begin(
    act,
    items.filter(({ asked }) => asked === 'refused'),
  )
}

/** Brings back what a delete of many moved to quarantine. */
export function undeleteBulkRun({ id, items }: BulkRun): void {
  dismissBulkRun(id)
  begin(
    { do: 'undelete' },
    items.filter(({ asked }) => asked === 'accepted'),
  )
}

function begin(act: BulkAct, vms: readonly Pick<Vm, 'id' | 'name' | 'hostName'>[]): void {
  const id = ++serial
  const items = vms.map(({ id: vm, name, hostName }): BulkItem => ({ id: vm, name, hostName, asked: 'waiting' }))
  useRuns.setState((s) => ({ runs: [{ id, act, items, stopped: false }, ...s.runs].slice(0, MAX_RUNS) }))
  for (let lane = 0; lane < AT_ONCE; lane++) void askNext(id, act)
}

/** One lane: takes the next that waits until none is left. */
async function askNext(runId: number, act: BulkAct): Promise<void> {
  for (let item = claim(runId); item; item = claim(runId)) {
    try {
      await call(act, item.id)
      settle(runId, item.id, { asked: 'accepted' })
    } catch (error) {
      settle(runId, item.id, { asked: 'refused', fault: fromConnectError(error).toData() })
    }
  }
}

/** Being asked now, so that no second lane takes it. */
const claimed = new Set<string>()

function claim(runId: number): BulkItem | undefined {
  const run = useRuns.getState().runs.find(({ id }) => id === runId)
  const item = run?.items.find(({ id, asked }) => asked === 'waiting' && !claimed.has(`${runId} ${id}`))
  if (!item) return undefined
  claimed.add(`${runId} ${item.id}`)
  return item
}

function settle(runId: number, vmId: string, outcome: Partial<BulkItem>): void {
  claimed.delete(`${runId} ${vmId}`)
  change(runId, (run) => ({
    ...run,
    items: run.items.map((item) => (item.id === vmId ? { ...item, ...outcome } : item)),
  }))
}

const change = (id: number, edit: (run: BulkRun) => BulkRun) =>
  useRuns.setState((s) => ({ runs: s.runs.map((run) => (run.id === id ? edit(run) : run)) }))

function call(act: BulkAct, vm: string): Promise<unknown> {
  switch (act.do) {
    case 'start':
      return api.vms.startVm({ vm })
    case 'stop':
      return api.vms.stopVm({ vm })
    case 'restart':
      return api.vms.restartVm({ vm })
    case 'delete':
      return api.vms.deleteVm({ vm })
    case 'undelete':
      return api.vms.undeleteVm({ vm })
    case 'protect':
      return api.vms.updateVm({ vm, protected: true })
    case 'unprotect':
      return api.vms.updateVm({ vm, protected: false })
    case 'labels':
      return api.vms.updateVm({ vm, labels: { ...act.set }, removeLabels: [...act.remove] })
  }
}

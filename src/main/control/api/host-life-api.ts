import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { HostService, UpdateHostRequest } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { check } from '../../../ipc/rules.ts'
import { type DrainDeps, drainHost } from '../hosts/drain.ts'
import type { AuditStore } from '../store/audit-store.ts'
import type { HostLifeStore } from '../store/host-life-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { Registry } from '../sync/registry.ts'
import type { TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'
import type { FleetView } from './fleet-view.ts'
import { principalOf } from './principal.ts'
import { taskView } from './task-view.ts'

type Methods = 'updateHost' | 'drainHost' | 'createJoinBlob' | 'revokeHost' | 'upgradeHost'

/** What hosts go through between being added and being removed. */
export interface HostLife {
  /** Raises what an upgrade of a host raises; its result is the host's id. */
  upgrade(hostId: string, task: TaskContext): Promise<TaskOutcome>
  /** Version this app would put there; '' = it has that one. Looks anew. Raises app/part-missing. */
  upgradeAvailable(host: HostRow): Promise<string>
  /** A blob for one host of this tenant, and its end. Raises host/own-key-unusable, input/too-large. */
  joinBlob(tenant: string, expiresS: number): Promise<{ blob: string; expiresAt: Date }>
  /** Asks the host, should it answer, to forget the key it is reached with. Never rejects. */
  dropKey(host: HostRow): Promise<void>
}

export interface HostLifeApiDeps extends Pick<DrainDeps, 'vms'> {
  hostLife: HostLifeStore
  audit: Pick<AuditStore, 'add'>
  registry: Registry
  tasks: TaskRunner
  view: FleetView
  life: HostLife
  db: { transaction<T>(work: () => T): T }
  clock: { now(): number }
}

/** Seconds a join blob is good for where nobody says how long. */
const JOIN_BLOB_S = 900

/** Rename, labels, drain, upgrade, join and revoke. Nothing here waits for a host. */
export function hostLifeApi(
  deps: HostLifeApiDeps,
  resolve: (request: { host: string }, context: HandlerContext) => HostRow,
): Pick<ServiceImpl<typeof HostService>, Methods> {
  const { hostLife, view, life, clock, db } = deps
  const upgrading = new Map<string, string>()
  return {
    updateHost: (request, context) => ({ host: view.host(update(deps, resolve(request, context), request)) }),
    drainHost: (request, context) => {
      const transaction = <T>(work: () => T): T => db.transaction(work)
      const drained = drainHost({ ...deps, transaction, now: () => clock.now() }, resolve(request, context), request)
      const { host, stopping, leftRunning } = drained
      return { host: view.host(host), stopping, leftRunning }
    },
    createJoinBlob: async (request, context) => {
      const { expiresS } = check('createJoinBlob', { expiresS: request.expiresS || JOIN_BLOB_S })
      const { blob, expiresAt } = await life.joinBlob(principalOf(context).tenant, expiresS)
      return { blob, expiresAt: timestampFromDate(expiresAt) }
    },
    revokeHost: (request, context) => {
      const host = resolve(request, context)
      hostLife.revoke(host.id)
      // Its next report ends its session; the answer does not wait for the host.
      void life.dropKey(host)
      return {}
    },
    upgradeHost: async (request, context) => {
      const host = resolve(request, context)
      return upgrade(deps, upgrading, host)
    },
  }
}

function update({ hostLife }: HostLifeApiDeps, host: HostRow, request: UpdateHostRequest): HostRow {
  const { name, labels: set, removeLabels } = check('updateHost', request)
  const kept = Object.entries(host.labels).filter(([key]) => !removeLabels.includes(key))
  const { labels } = check('allLabels', { labels: { ...Object.fromEntries(kept), ...set } })
  return hostLife.edit(host.id, { name: name || host.name, labels })
}

async function upgrade(
  { registry, tasks, life, audit }: HostLifeApiDeps,
  upgrading: Map<string, string>,
  host: HostRow,
) {
  const { id: hostId, tenant, name } = host
  const running = upgrading.get(hostId)
  if (running) return { task: taskView(tasks.get(tenant, running)) }
  if (host.status !== 'enrolled') throw new Fault('host/not-accepting', 'permanent', { host: name })
  if (!registry.active(hostId)) throw new Fault('host/no-answer', 'transient', { host: name })
  const version = await life.upgradeAvailable(host)
  if (version === '') return {}
  const id = tasks.start(tenant, 'upgrade_host', name, (task) =>
    life.upgrade(hostId, task).finally(() => upgrading.delete(hostId)),
  )
  upgrading.set(hostId, id)
  audit.add({ action: 'host.upgrade', tenant, hostId, detail: { version } })
  return { task: taskView(tasks.get(tenant, id)) }
}

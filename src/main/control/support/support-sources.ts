import { statSync } from 'node:fs'
import { cpus, release } from 'node:os'
import type { FleetState } from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { FleetView } from '../api/fleet-view.ts'
import { controlPaths } from '../node-ports.ts'
import type { Ports } from '../ports.ts'
import type { AuditRetention } from '../store/audit-retention.ts'
import { shownTo } from '../store/audit-store.ts'
import { copiesBeside } from '../store/backup.ts'
import { MIGRATIONS } from '../store/migrations.ts'
import type { Stores } from '../store/stores.ts'
import type { StoreFacts } from './control-files.ts'
import type { SupportSources } from './support-bundle.ts'

export interface SupportDeps {
  ports: Ports
  stores: Stores
  view: FleetView
  retention: AuditRetention
  /** Words of GetStore for a tenant. */
  storeState(tenant: string): Pick<StoreFacts, 'problem' | 'readOnlyReason'> & { hostsAhead: string[]; lost: string[] }
}

/** Where the parts of a bundle come from in a running control plane. */
export function supportSources({ ports, stores, view, retention, storeState }: SupportDeps): SupportSources {
  const { clock, paths, env, version, platform, arch, keychain } = ports
  const began = clock.monotonic()
  return {
    now: () => clock.now(),
    logPath: paths.logFile,
    home: env['HOME'],
    about: () => ({
      ...{ version, platform, arch, node: process.versions.node, osRelease: release() },
      ...{ upMs: clock.monotonic() - began, memoryBytes: process.memoryUsage().rss, cpus: cpus().length },
      ...{ keychain: keychain !== undefined, defaultFolder: controlPaths({ env }).dataDir === paths.dataDir },
      now: new Date(clock.now()),
    }),
    store(tenant) {
      const { problem, readOnlyReason, hostsAhead, lost } = storeState(tenant)
      return {
        ...{ schema: MIGRATIONS.length, problem, readOnlyReason, hostsAhead: hostsAhead.length, lost: lost.length },
        ...{ sizeBytes: sizeOf(paths.database), copies: copiesBeside(paths.database).length, writes: stores.db.writes },
        ...{ rows: countsOf(view.state(tenant)), auditDays: retention.days() },
      }
    },
    fleet: (tenant) => view.state(tenant),
    audit: (tenant, limit) => stores.audit.list({ tenants: shownTo(tenant), limit }),
    foreignNames: (tenant) => [
      ...stores.hosts.listAll().flatMap((host) => (host.tenant === tenant ? [] : [host.id, host.name])),
      ...stores.vms.listAll().flatMap((vm) => (vm.tenant === tenant ? [] : [vm.id, vm.name])),
      ...stores.tenants.list().flatMap(({ name }) => (name === tenant ? [] : [name])),
    ],
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

function countsOf({ hosts, vms, images, ports, tasks }: FleetState): Record<string, number> {
  const deleted = vms.filter(({ deletedAt }) => deletedAt !== undefined).length
  const rows = { hosts: hosts.length, vms: vms.length, 'vms in quarantine': deleted, images: images.length }
  return { ...rows, ports: ports.length, tasks: tasks.length }
}

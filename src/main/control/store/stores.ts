import type { Clock } from '../../../ipc/base/clock.ts'
import { AuditStore } from './audit-store.ts'
import { Database } from './database.ts'
import { ExposuresStore } from './exposures-store.ts'
import { HostKeysStore } from './host-keys-store.ts'
import { HostsStore } from './hosts-store.ts'
import { ImagesStore } from './images-store.ts'
import { SettingsStore } from './settings-store.ts'
import { TasksStore } from './tasks-store.ts'
import { TenantsStore } from './tenants-store.ts'
import { VmsStore } from './vms-store.ts'

export interface Stores {
  db: Database
  audit: AuditStore
  settings: SettingsStore
  tenants: TenantsStore
  hosts: HostsStore
  hostKeys: HostKeysStore
  vms: VmsStore
  exposures: ExposuresStore
  images: ImagesStore
  tasks: TasksStore
}

/** Opens the database file and every store on it; `db.close` ends them all. Raises store/unavailable. */
export function openStores(file: string, clock: Pick<Clock, 'now'>): Stores {
  const db = new Database(file)
  const now = () => clock.now()
  const audit = new AuditStore(db, now)
  return {
    db,
    audit,
    settings: new SettingsStore(db),
    tenants: new TenantsStore(db),
    hosts: new HostsStore(db, audit, now),
    hostKeys: new HostKeysStore(db),
    vms: new VmsStore(db, audit, now),
    exposures: new ExposuresStore(db, audit, now),
    images: new ImagesStore(db, audit, now),
    tasks: new TasksStore(db),
  }
}

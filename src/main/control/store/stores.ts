import type { Clock } from '../../../ipc/base/clock.ts'
import { AuditStore } from './audit-store.ts'
import { CasStore } from './cas-store.ts'
import { CertificatesStore } from './certificates-store.ts'
import type { Database } from './database.ts'
import { openDatabase } from './database-open.ts'
import { ExposuresStore } from './exposures-store.ts'
import { keepFleetBeside } from './fleet-beside.ts'
import { HostKeysStore } from './host-keys-store.ts'
import { HostLifeStore } from './host-life-store.ts'
import { HostsStore } from './hosts-store.ts'
import { ImagesStore } from './images-store.ts'
import { JoinTokensStore } from './join-tokens-store.ts'
import { SettingsStore } from './settings-store.ts'
import { TasksStore } from './tasks-store.ts'
import { TemplatesStore } from './templates-store.ts'
import { TenantsStore } from './tenants-store.ts'
import { freezeUnrecorded } from './unrecorded-trust.ts'
import { VmsStore } from './vms-store.ts'

export interface Stores {
  db: Database
  audit: AuditStore
  settings: SettingsStore
  tenants: TenantsStore
  hosts: HostsStore
  hostLife: HostLifeStore
  joinTokens: JoinTokensStore
  hostKeys: HostKeysStore
  vms: VmsStore
  cas: CasStore
  certificates: CertificatesStore
  exposures: ExposuresStore
  images: ImagesStore
  tasks: TasksStore
  templates: TemplatesStore
}

/** Opens the database file and every store on it; `db.close` ends them all. Raises what openDatabase does. */
export function openStores(file: string, clock: Pick<Clock, 'now'>): Stores {
  const now = () => clock.now()
  const db = openDatabase(file, now)
  const audit = new AuditStore(db, now)
  const settings = new SettingsStore(db)
  if (!db.damage) keepFleetBeside(file, settings.fleetId())
  const hosts = new HostsStore(db, audit, now)
  const vms = new VmsStore(db, audit, now)
  const cas = new CasStore(db, audit, now)
  if (!db.damage) freezeUnrecorded({ cas, vms })
  return {
    db,
    audit,
    settings,
    tenants: new TenantsStore(db, audit, now),
    hosts,
    hostLife: new HostLifeStore(db, audit, hosts),
    joinTokens: new JoinTokensStore(db, audit, now),
    hostKeys: new HostKeysStore(db),
    vms,
    cas,
    certificates: new CertificatesStore(db, audit, now),
    exposures: new ExposuresStore(db, audit, now),
    images: new ImagesStore(db, audit, now),
    tasks: new TasksStore(db, audit),
    templates: new TemplatesStore(db, audit, now),
  }
}

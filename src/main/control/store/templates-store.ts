import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import { brokeConstraint, type Database } from './database.ts'

const MAX_TEMPLATES = 256

/** What a VM gets where its request says nothing. Neither keys nor CAs. */
export interface TemplateSpec {
  /** Name in the catalogue; empty = by URL. */
  image: string
  imageUrl: string
  imageSha256: string
  vcpus: number
  /** MiB. */
  memMb: number
  /** GiB. */
  diskGb: number
  network: string
  backend: string
  labels: Record<string, string>
  autostart: boolean
  autostartDelayS: number
  autostartOrder: number
  clockPolicy: string
  protected: boolean
}

export interface NewTemplate {
  /** 32 hex characters. */
  id: string
  name: string
  description: string
  spec: TemplateSpec
  /** user-data; never shown. */
  cloudInit: Uint8Array
}

export interface TemplateRow extends NewTemplate {
  tenant: string
  createdAt: Date
}

interface Raw {
  id: string
  tenant: string
  name: string
  spec: string
  cloud_init: Uint8Array
  description: string
  created_at: string
}

const rowOf = ({ created_at, cloud_init, spec, ...raw }: Raw): TemplateRow => ({
  ...raw,
  spec: JSON.parse(spec) as TemplateSpec,
  cloudInit: cloud_init,
  createdAt: new Date(created_at),
})

/** How VMs are made, under names of their tenant. */
export class TemplatesStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  list(tenant: string): TemplateRow[] {
    return this.#db.list<Raw>('SELECT * FROM templates WHERE tenant = $tenant ORDER BY name', { tenant }).map(rowOf)
  }

  findByName(tenant: string, name: string): TemplateRow | undefined {
    const sql = 'SELECT * FROM templates WHERE tenant = $tenant AND name = $name'
    const raw = this.#db.find<Raw>(sql, { tenant, name })
    return raw && rowOf(raw)
  }

  /** By name or id; raises template/not-found, for another tenant's too. */
  resolve(tenant: string, ref: string): TemplateRow {
    const sql = 'SELECT * FROM templates WHERE tenant = $tenant AND id = $id'
    const byId = () => this.#db.find<Raw>(sql, { tenant, id: ref })
    const row = this.findByName(tenant, ref) ?? (byId() && rowOf(byId()!))
    if (!row) throw new Fault('template/not-found', 'permanent', { template: ref })
    return row
  }

  /** Raises template/name-taken, and input/too-large past 256 of a tenant. */
  create(tenant: string, template: NewTemplate): TemplateRow {
    return this.#db.transaction(() => {
      const { id, name, description, spec, cloudInit } = template
      if (this.list(tenant).length >= MAX_TEMPLATES)
        throw new Fault('input/too-large', 'permanent', { detail: `there are ${MAX_TEMPLATES} templates already` })
      const createdAt = new Date(this.#now()).toISOString()
      try {
        this.#db.run(
          `INSERT INTO templates (id, tenant, name, spec, cloud_init, description, created_at)
           VALUES ($id, $tenant, $name, $spec, $cloudInit, $description, $createdAt)`,
          { id, tenant, name, spec: JSON.stringify(spec), cloudInit, description, createdAt },
        )
      } catch (error) {
        if (!brokeConstraint(error, 'templates.tenant, templates.name')) throw error
        throw new Fault('template/name-taken', 'conflict', { template: name }, { cause: error })
      }
      this.#audit.changed({ action: 'template.create', tenant, detail: { name } }, undefined, { name, ...spec })
      return this.resolve(tenant, id)
    })
  }

  /** Raises template/not-found. VMs made by it stay as they are. */
  remove(tenant: string, ref: string): TemplateRow {
    return this.#db.transaction(() => {
      const row = this.resolve(tenant, ref)
      this.#db.run('DELETE FROM templates WHERE id = $id', { id: row.id })
      const { name, spec } = row
      this.#audit.changed({ action: 'template.remove', tenant, detail: { name } }, { name, ...spec }, undefined)
      return row
    })
  }
}

import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import { brokeConstraint, type Database } from './database.ts'

export type CaKind = 'host' | 'user'
/** Where its private key is. */
export type CaHeld = 'keychain' | 'file' | 'elsewhere'
export type CaState = 'signing' | 'trusted' | 'retired'

export interface NewCa {
  /** 32 hex characters. */
  id: string
  tenant: string
  kind: CaKind
  name: string
  /** Type and key, without a comment. */
  publicKey: string
  /** SHA256:… */
  fingerprint: string
  held: CaHeld
  state: CaState
}

export interface CaRow extends NewCa {
  createdAt: Date
  /** Null = in use. */
  retiredAt: Date | null
}

interface RawCa {
  id: string
  tenant: string
  kind: CaKind
  name: string
  public_key: string
  fingerprint: string
  held: CaHeld
  state: CaState
  created_at: string
  retired_at: string | null
}

/** CAs in use of one kind in one tenant: what a guest is told of is a line of each. */
const MAX_CAS = 16

/** SSH authorities by their public keys. What a guest is told depends on them: every edit audits, and pokes the tenant's hosts. */
export class CasStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** Retired ones included, oldest first. */
  list(tenant: string, kind?: CaKind): CaRow[] {
    const rows = this.#db.list<RawCa>('SELECT * FROM cas WHERE tenant = $tenant ORDER BY created_at, rowid', { tenant })
    return rows.map(rowOf).filter((row) => kind === undefined || row.kind === kind)
  }

  /** In use, the signing one first, then the newest. */
  inUse(tenant: string, kind: CaKind): CaRow[] {
    return this.list(tenant, kind)
      .filter(({ state }) => state !== 'retired')
      .reverse()
      .sort((a, b) => Number(b.state === 'signing') - Number(a.state === 'signing'))
  }

  /** Undefined = none signs. */
  signing(tenant: string, kind: CaKind): CaRow | undefined {
    return this.inUse(tenant, kind).find(({ state }) => state === 'signing')
  }

  /** By name, id or fingerprint. Raises ca/not-found, and ca/ambiguous where a host and a user CA share the name. */
  get(tenant: string, ref: string): CaRow {
    const all = this.list(tenant)
    const named = all.filter(({ name }) => name === ref)
    if (named.length > 1)
      throw new Fault('ca/ambiguous', 'permanent', { ca: ref, cas: named.map(described).join(', ') })
    const row = named[0] ?? all.find(({ id, fingerprint }) => id === ref || fingerprint === ref)
    if (!row) throw new Fault('ca/not-found', 'permanent', { ca: ref })
    return row
  }

  findNamed(tenant: string, kind: CaKind, name: string): CaRow | undefined {
    return this.list(tenant, kind).find((row) => row.name === name)
  }

  /** Whose CA a key is, in whichever tenant; the key without a comment. */
  findByKey(publicKey: string): CaRow | undefined {
    const raw = this.#db.find<RawCa>('SELECT * FROM cas WHERE public_key = $publicKey', { publicKey })
    return raw && rowOf(raw)
  }

  /** Tenants that have CAs, or VMs. */
  tenants(): string[] {
    return this.#db
      .list<{ tenant: string }>('SELECT tenant FROM cas UNION SELECT tenant FROM vms ORDER BY tenant')
      .map(({ tenant }) => tenant)
  }

  /** One that signs takes over from the one that did. Raises ca/name-taken, ca/key-taken and ca/too-many. */
  add(action: 'ca.create' | 'ca.import' | 'ca.recover', ca: NewCa): CaRow {
    return this.#db.transaction(() => {
      const { tenant, kind } = ca
      if (this.inUse(tenant, kind).length >= MAX_CAS)
        throw new Fault('ca/too-many', 'permanent', { kind, max: String(MAX_CAS) })
      if (ca.state === 'signing') this.#stopSigning(tenant, kind)
      this.#insert(ca)
      return this.#noted(action, ca)
    })
  }

  /** From now on it signs; one that was retired is in use again. Idempotent. */
  setSigning(ca: CaRow): CaRow {
    if (ca.state === 'signing') return ca
    return this.#db.transaction(() => {
      this.#stopSigning(ca.tenant, ca.kind)
      this.#db.run(`UPDATE cas SET state = 'signing', retired_at = NULL WHERE id = $id`, { id: ca.id })
      return this.#noted('ca.use', ca)
    })
  }

  /** Idempotent; `cutOff` = names of VMs that trust no other. */
  retire(ca: CaRow, cutOff: readonly string[]): CaRow {
    if (ca.state === 'retired') return ca
    return this.#db.transaction(() => {
      const retiredAt = new Date(this.#now()).toISOString()
      this.#db.run(`UPDATE cas SET state = 'retired', retired_at = $retiredAt WHERE id = $id`, { id: ca.id, retiredAt })
      const detail = cutOff.length === 0 ? undefined : { cut_off: cutOff.join(', ').slice(0, 400) }
      return this.#noted('ca.retire', ca, detail)
    })
  }

  /** Its private key is kept there now. */
  setHeld(ca: CaRow, held: CaHeld): CaRow {
    return this.#db.transaction(() => {
      this.#db.run('UPDATE cas SET held = $held WHERE id = $id', { id: ca.id, held })
      return this.#noted('ca.import', ca)
    })
  }

  #stopSigning(tenant: string, kind: CaKind): void {
    this.#db.run(`UPDATE cas SET state = 'trusted' WHERE tenant = $tenant AND kind = $kind AND state = 'signing'`, {
      tenant,
      kind,
    })
  }

  #insert(ca: NewCa): void {
    const { name, kind } = ca
    try {
      this.#db.run(
        `INSERT INTO cas (id, tenant, kind, name, public_key, fingerprint, held, state, created_at)
         VALUES ($id, $tenant, $kind, $name, $publicKey, $fingerprint, $held, $state, $createdAt)`,
        { ...ca, createdAt: new Date(this.#now()).toISOString() },
      )
    } catch (error) {
      if (brokeConstraint(error, 'cas.tenant, cas.kind, cas.name'))
        throw new Fault('ca/name-taken', 'conflict', { ca: name, kind }, { cause: error })
      if (!brokeConstraint(error, 'cas.public_key')) throw error
      const holder = this.findByKey(ca.publicKey)
      const whose = holder?.tenant === ca.tenant ? { ca: holder.name, kind: holder.kind } : undefined
      throw new Fault('ca/key-taken', 'conflict', whose, { cause: error })
    }
  }

  #noted(action: string, { id, tenant, kind, name, fingerprint }: NewCa, more: Record<string, string> = {}): CaRow {
    this.#audit.add({ action, tenant, detail: { name, kind, fingerprint, ...more } })
    pokeHosts(this.#db, tenant)
    return this.get(tenant, id)
  }
}

/** What all hosts of a tenant are told of its trust is another. */
export function pokeHosts(db: Database, tenant: string): void {
  for (const { id } of db.list<{ id: string }>('SELECT id FROM hosts WHERE tenant = $tenant', { tenant }))
    db.changed('desired', id)
}

const described = ({ kind, fingerprint }: CaRow): string => `${kind} ${fingerprint}`

const rowOf = (raw: RawCa): CaRow => ({
  id: raw.id,
  tenant: raw.tenant,
  kind: raw.kind,
  name: raw.name,
  publicKey: raw.public_key,
  fingerprint: raw.fingerprint,
  held: raw.held,
  state: raw.state,
  createdAt: new Date(raw.created_at),
  retiredAt: raw.retired_at === null ? null : new Date(raw.retired_at),
})

import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import { brokeConstraint, type Database } from './database.ts'
import { quotaFault, wantedMore } from './quotas.ts'
import {
  type AdoptedVm,
  editParams,
  type NewVm,
  type RawVm,
  type VmEdit,
  type VmRow,
  type VmStatus,
  vmOf,
  vmParams,
} from './vm-row.ts'

/** Of the trust of a tenant, as it is when a VM is created. */
export interface FrozenTrust {
  /** User CAs the guest will trust, one key line each. */
  trustedCas: string[]
  hostCertRequired: boolean
}

/** An act on a VM as it is written, within its transaction. */
export interface VmActDone {
  /** `vm.verb`. */
  action: string
  before: VmRow | undefined
  after: VmRow | undefined
  /** Its host has something to do: what it is to be told changed. */
  concernsHost: boolean
}

/** VMs as they should be, tombstoned ones included until the agent's destroyed-ack. Every edit audits and pokes by itself. */
export class VmsStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number
  #frozen: ((tenant: string) => FrozenTrust) | undefined
  #followed: ((act: VmActDone) => string | undefined) | undefined

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** Of every tenant: for the control plane's own work, never for an answer. */
  listAll(): VmRow[] {
    return this.#db.list<RawVm>('SELECT * FROM vms ORDER BY name, id').map(vmOf)
  }

  list(tenant: string): VmRow[] {
    return this.#db.list<RawVm>('SELECT * FROM vms WHERE tenant = $tenant ORDER BY name, id', { tenant }).map(vmOf)
  }

  listByHost(hostId: string): VmRow[] {
    return this.#db.list<RawVm>('SELECT * FROM vms WHERE host_id = $hostId ORDER BY id', { hostId }).map(vmOf)
  }

  /** Quarantined ones included. */
  countByImage(tenant: string, sha256: string): number {
    const sql = 'SELECT count(*) n FROM vms WHERE image_sha256 = $sha256 AND tenant = $tenant'
    return this.#db.find<{ n: number }>(sql, { tenant, sha256 })?.n ?? 0
  }

  find(id: string): VmRow | undefined {
    const raw = this.#db.find<RawVm>('SELECT * FROM vms WHERE id = $id', { id })
    return raw && vmOf(raw)
  }

  /** One of another tenant is none. */
  findIn(tenant: string, id: string): VmRow | undefined {
    const row = this.find(id)
    return row?.tenant === tenant ? row : undefined
  }

  /** A VM that is not deleted, by its name within a tenant. */
  findLive(tenant: string, name: string): VmRow | undefined {
    const raw = this.#db.find<RawVm>(
      'SELECT * FROM vms WHERE tenant = $tenant AND name = $name AND deleted_at IS NULL',
      {
        tenant,
        name,
      },
    )
    return raw && vmOf(raw)
  }

  /** Deleted VMs of a name, newest deletion first. */
  listDeleted(tenant: string, name: string): VmRow[] {
    return this.#db
      .list<RawVm>(
        'SELECT * FROM vms WHERE tenant = $tenant AND name = $name AND deleted_at IS NOT NULL ORDER BY deleted_at DESC',
        { tenant, name },
      )
      .map(vmOf)
  }

  /** What every VM created from now on is given of the trust of its tenant, read in the transaction of its insert. */
  freezeWith(frozen: (tenant: string) => FrozenTrust): void {
    this.#frozen = frozen
  }

  /** Called with every act within its transaction; answers the task that follows it, if one does. */
  followWith(followed: (act: VmActDone) => string | undefined): void {
    this.#followed = followed
  }

  /** Tenant is the host's. Raises vm/name-taken, host/not-accepting, tenant/over-quota, ca/none, store/conflict (id exists). */
  create(vm: NewVm, action: 'vm.create' | 'vm.clone' = 'vm.create'): VmRow {
    return this.#db.transaction(() => {
      const frozen = this.#frozenFor(vm.hostId)
      return this.#add(action, {
        ...vm,
        trustedCas: vm.trustedCas ?? frozen?.trustedCas ?? null,
        hostCertRequired: vm.hostCertRequired ?? frozen?.hostCertRequired ?? false,
        forceStop: false,
        restartCount: 0,
      })
    })
  }

  /** A VM that its host has already; raises what `create` does. */
  adopt(vm: AdoptedVm): VmRow {
    return this.#add('vm.adopt', vm)
  }

  /** Edits desired state; raises vm/not-found, vm/name-taken, vm/protected and tenant/over-quota. An edit that changes nothing leaves the epoch. */
  edit(id: string, action: string, edit: VmEdit, detail: Record<string, string> = {}): VmRow {
    return this.#db.transaction(() => {
      const before = this.#get(id)
      const epoch = this.#epochOf(before.hostId)
      const next = { ...before, ...edit }
      try {
        this.#db.run(
          `UPDATE vms SET name = $name, power_state = $powerState, force_stop = $forceStop, restart_count = $restartCount,
             deleted_at = $deletedAt, grace_s = $graceS, clock_policy = $clockPolicy, vcpus = $vcpus, mem_mb = $memMb,
             disk_gb = $diskGb, labels = $labels, protected = $protected, autostart = $autostart,
             autostart_delay_s = $autostartDelayS, autostart_order = $autostartOrder WHERE id = $id`,
          editParams(next),
        )
      } catch (error) {
        throw quotaFault(this.#db, refused(error, next.name), before.tenant, wantedMore(before, next))
      }
      const row = this.#get(id)
      this.#note(action, before, row, { detail, concernsHost: this.#epochOf(row.hostId) !== epoch })
      this.#touched(row)
      return row
    })
  }

  /** Raises vm/not-found when the VM is not this host's. The address actually stored. */
  setStatus(id: string, hostId: string, status: VmStatus): { ip: string } {
    const raw = this.#db.find<{ assigned_ip: string }>(
      `UPDATE vms SET status = $status, last_error = $lastError, last_reason = $lastReason,
         assigned_ip = CASE WHEN $ip = '' THEN assigned_ip ELSE $ip END
       WHERE id = $id AND host_id = $hostId RETURNING assigned_ip`,
      { id, hostId, ...status },
    )
    if (!raw) throw new Fault('vm/not-found', 'permanent', { vm: id })
    this.#db.changed('vm', id)
    return { ip: raw.assigned_ip }
  }

  /** Address on the operator network; nothing happens when the VM is not this host's. */
  setNetworkIp(id: string, hostId: string, ip: string): void {
    const changed = this.#db.run(
      'UPDATE vms SET network_ip = $ip WHERE id = $id AND host_id = $hostId AND network_ip <> $ip',
      { id, hostId, ip },
    )
    if (changed > 0) this.#db.changed('vm', id)
  }

  /** The guest's host key; nothing happens when the VM is not this host's. */
  setHostPublicKey(id: string, hostId: string, key: string): void {
    this.#db.run(
      'UPDATE vms SET host_public_key = $key WHERE id = $id AND host_id = $hostId AND host_public_key <> $key',
      { id, hostId, key },
    )
  }

  /** The certificate of exactly this key of a live VM of this host; whether it was stored. Pokes the host. */
  setHostCertificate(id: string, hostId: string, key: string, certificate: string): boolean {
    return this.#db.transaction(() => {
      const changed = this.#db.run(
        `UPDATE vms SET host_certificate = $certificate
         WHERE id = $id AND host_id = $hostId AND host_public_key = $key AND deleted_at IS NULL`,
        { id, hostId, key, certificate },
      )
      if (changed > 0) this.#touched(this.#get(id))
      return changed > 0
    })
  }

  /** Freezes these CAs onto every VM of the tenant that has no set recorded; how many. */
  freezeUnrecorded(tenant: string, trustedCas: readonly string[]): number {
    return this.#db.transaction(() => {
      const rows = this.#db.list<RawVm>('SELECT * FROM vms WHERE tenant = $tenant AND trusted_cas IS NULL', { tenant })
      this.#db.run('UPDATE vms SET trusted_cas = $cas WHERE tenant = $tenant AND trusted_cas IS NULL', {
        tenant,
        cas: JSON.stringify(trustedCas),
      })
      for (const row of rows) this.#touched(vmOf(row))
      return rows.length
    })
  }

  /** Removes tombstoned VMs of this host that the agent destroyed, with a `vm.reap` row each; the ids really removed. */
  reap(hostId: string, ids: readonly string[]): string[] {
    if (ids.length === 0) return []
    return this.#db.transaction(() => ids.filter((id) => this.#reapOne(hostId, id)))
  }

  /** A host that is not there has no tenant: the insert says so. */
  #frozenFor(hostId: string): FrozenTrust | undefined {
    const host = this.#db.find<{ tenant: string }>('SELECT tenant FROM hosts WHERE id = $hostId', { hostId })
    return host && this.#frozen?.(host.tenant)
  }

  #add(action: string, vm: AdoptedVm): VmRow {
    return this.#db.transaction(() => {
      this.#insert(vm)
      const row = this.#get(vm.id)
      this.#note(action, undefined, row, { detail: { image_sha256: row.imageSha256 }, concernsHost: true })
      this.#touched(row)
      return row
    })
  }

  #reapOne(hostId: string, id: string): boolean {
    const row = this.find(id)
    if (!row || row.hostId !== hostId || row.deletedAt === null) return false
    this.#db.run('DELETE FROM vms WHERE id = $id AND host_id = $hostId AND deleted_at IS NOT NULL', { id, hostId })
    this.#note('vm.reap', row, undefined, { detail: {}, concernsHost: false })
    this.#touched(row)
    return true
  }

  #epochOf(hostId: string): number {
    return this.#db.find<{ epoch: number }>('SELECT epoch FROM hosts WHERE id = $hostId', { hostId })?.epoch ?? 0
  }

  #get(id: string): VmRow {
    const row = this.find(id)
    if (!row) throw new Fault('vm/not-found', 'permanent', { vm: id })
    return row
  }

  #note(
    action: string,
    before: VmRow | undefined,
    after: VmRow | undefined,
    { detail, concernsHost }: { detail: Record<string, string>; concernsHost: boolean },
  ): void {
    const row = after ?? before
    if (!row) return
    const { tenant, id: vmId, hostId, name } = row
    const taskId = this.#followed?.({ action, before, after, concernsHost })
    const ended = taskId === undefined ? (concernsHost ? {} : { result: 'done' }) : { taskId }
    this.#audit.changed({ action, tenant, vmId, hostId, detail: { name, ...detail }, ...ended }, before, after)
  }

  #touched(row: VmRow): void {
    this.#db.changed('vm', row.id)
    this.#db.changed('host', row.hostId)
    this.#db.changed('desired', row.hostId)
  }

  #insert(vm: AdoptedVm): void {
    try {
      this.#db.run(
        `INSERT INTO vms (id, host_id, tenant, name, image_url, image_sha256, image_kind, image_format, cloud_init,
           vcpus, mem_mb, disk_gb, power_state, force_stop, restart_count, autostart, network, backend, labels, ssh_authorized_keys, trusted_cas, host_cert_required, host_certificate, injected_key,
           clock_policy, protected, autostart_delay_s, autostart_order, clone_of, created_at)
         VALUES ($id, $hostId, coalesce((SELECT tenant FROM hosts WHERE id = $hostId), 'default'), $name, $imageUrl,
           $imageSha256, $imageKind, $imageFormat, $cloudInit, $vcpus, $memMb, $diskGb, $powerState, $forceStop, $restartCount,
           $autostart, $network, $backend, $labels, $sshAuthorizedKeys, $trustedCas, $hostCertRequired, $hostCertificate, $injectedKey, $clockPolicy,
           $protected, $autostartDelayS, $autostartOrder, $cloneOf, $createdAt)`,
        vmParams(vm, new Date(this.#now()).toISOString()),
      )
    } catch (error) {
      if (brokeConstraint(error, 'host not accepting new VMs')) {
        const host = this.#db.find<{ name: string; draining: string }>(
          'SELECT name, draining FROM hosts WHERE id = $id',
          {
            id: vm.hostId,
          },
        )
        if (!host) throw new Fault('host/not-found', 'permanent', { host: vm.hostId }, { cause: error })
        throw notAccepting(host, error)
      }
      const tenant = this.#db.find<{ tenant: string }>('SELECT tenant FROM hosts WHERE id = $id', { id: vm.hostId })
      throw quotaFault(this.#db, refused(error, vm.name), tenant?.tenant ?? '', { ...vm, vms: 1 })
    }
  }
}

/** Says which of the two ways out of the fleet the host is on. */
export const notAccepting = ({ name, draining }: { name: string; draining: string }, cause?: unknown): Fault =>
  new Fault('host/not-accepting', 'permanent', { host: name, ...(draining ? { why: 'draining' } : {}) }, { cause })

function refused(error: unknown, name: string): unknown {
  if (brokeConstraint(error, 'vm is protected'))
    return new Fault('vm/protected', 'permanent', { vm: name }, { cause: error })
  if (!brokeConstraint(error, 'vms.tenant, vms.name')) return error
  return new Fault('vm/name-taken', 'conflict', { vm: name }, { cause: error })
}

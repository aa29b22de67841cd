import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import { brokeConstraint, type Database } from './database.ts'
import {
  type AdoptedVm,
  type NewVm,
  type RawVm,
  type VmEdit,
  type VmRow,
  type VmStatus,
  vmOf,
  vmParams,
} from './vm-row.ts'

/** VMs as they should be, tombstoned ones included until the agent's destroyed-ack. Every edit audits and pokes by itself. */
export class VmsStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

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

  /** Tenant is the host's. Raises vm/name-taken, host/not-accepting, store/conflict (id exists). */
  create(vm: NewVm): VmRow {
    return this.#add('vm.create', { ...vm, forceStop: false, restartCount: 0 })
  }

  /** A VM that its host has already; raises what `create` does. */
  adopt(vm: AdoptedVm): VmRow {
    return this.#add('vm.adopt', vm)
  }

  /** Edits desired state; raises vm/not-found and vm/name-taken. An edit that changes nothing leaves the epoch. */
  edit(id: string, action: string, edit: VmEdit, detail: Record<string, string> = {}): VmRow {
    return this.#db.transaction(() => {
      const next = { ...this.#get(id), ...edit }
      try {
        this.#db.run(
          `UPDATE vms SET name = $name, power_state = $powerState, force_stop = $forceStop,
             restart_count = $restartCount, deleted_at = $deletedAt, grace_s = $graceS, clock_policy = $clockPolicy WHERE id = $id`,
          {
            id,
            name: next.name,
            powerState: next.powerState,
            forceStop: Number(next.forceStop),
            restartCount: next.restartCount,
            deletedAt: next.deletedAt?.toISOString() ?? null,
            graceS: next.graceS,
            clockPolicy: next.clockPolicy,
          },
        )
      } catch (error) {
        throw nameTaken(error, next.name)
      }
      const row = this.#get(id)
      this.#audit.add({
        action,
        tenant: row.tenant,
        vmId: id,
        hostId: row.hostId,
        detail: { name: row.name, ...detail },
      })
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

  /** Removes tombstoned VMs of this host that the agent destroyed, with a `vm.reap` row each; the ids really removed. */
  reap(hostId: string, ids: readonly string[]): string[] {
    if (ids.length === 0) return []
    return this.#db.transaction(() => ids.filter((id) => this.#reapOne(hostId, id)))
  }

  #add(action: string, vm: AdoptedVm): VmRow {
    return this.#db.transaction(() => {
      this.#insert(vm)
      const row = this.#get(vm.id)
      this.#audit.add({
        action,
        tenant: row.tenant,
        vmId: row.id,
        hostId: row.hostId,
        detail: { name: row.name, image_sha256: row.imageSha256 },
      })
      this.#touched(row)
      return row
    })
  }

  #reapOne(hostId: string, id: string): boolean {
    const row = this.find(id)
    if (!row || row.hostId !== hostId || row.deletedAt === null) return false
    this.#db.run('DELETE FROM vms WHERE id = $id AND host_id = $hostId AND deleted_at IS NOT NULL', { id, hostId })
    this.#audit.add({ action: 'vm.reap', tenant: row.tenant, vmId: id, hostId, detail: { name: row.name } })
    this.#touched(row)
    return true
  }

  #get(id: string): VmRow {
    const row = this.find(id)
    if (!row) throw new Fault('vm/not-found', 'permanent', { vm: id })
    return row
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
           vcpus, mem_mb, disk_gb, power_state, force_stop, restart_count, autostart, network, backend, labels, ssh_authorized_keys, trusted_cas, injected_key,
           clock_policy, created_at)
         VALUES ($id, $hostId, coalesce((SELECT tenant FROM hosts WHERE id = $hostId), 'default'), $name, $imageUrl,
           $imageSha256, $imageKind, $imageFormat, $cloudInit, $vcpus, $memMb, $diskGb, $powerState, $forceStop, $restartCount,
           $autostart, $network, $backend, $labels, $sshAuthorizedKeys, $trustedCas, $injectedKey, $clockPolicy, $createdAt)`,
        vmParams(vm, new Date(this.#now()).toISOString()),
      )
    } catch (error) {
      if (brokeConstraint(error, 'host not accepting new VMs')) {
        const host = this.#db.find<{ name: string }>('SELECT name FROM hosts WHERE id = $id', { id: vm.hostId })
        if (!host) throw new Fault('host/not-found', 'permanent', { host: vm.hostId }, { cause: error })
        throw new Fault('host/not-accepting', 'permanent', { host: host.name }, { cause: error })
      }
      throw nameTaken(error, vm.name)
    }
  }
}

function nameTaken(error: unknown, name: string): unknown {
  if (!brokeConstraint(error, 'vms.tenant, vms.name')) return error
  return new Fault('vm/name-taken', 'conflict', { vm: name }, { cause: error })
}

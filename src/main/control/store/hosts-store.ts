import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import { brokeConstraint, type Database } from './database.ts'
import {
  type HostAgent,
  type HostRow,
  type HostSsh,
  type HostStatus,
  type HostTold,
  hostOf,
  type NewHost,
  type RawHost,
} from './host-row.ts'

/** Hosts of the fleet. A host's epoch rises by SQL trigger with its VMs' desired state, never by a caller. */
export class HostsStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** Of every tenant: for the control plane's own work, never for an answer. */
  listAll(): HostRow[] {
    return this.#db.list<RawHost>('SELECT * FROM hosts ORDER BY name').map(hostOf)
  }

  list(tenant: string): HostRow[] {
    return this.#db.list<RawHost>('SELECT * FROM hosts WHERE tenant = $tenant ORDER BY name', { tenant }).map(hostOf)
  }

  find(id: string): HostRow | undefined {
    const raw = this.#db.find<RawHost>('SELECT * FROM hosts WHERE id = $id', { id })
    return raw && hostOf(raw)
  }

  /** One of another tenant is none. */
  findIn(tenant: string, id: string): HostRow | undefined {
    const row = this.find(id)
    return row?.tenant === tenant ? row : undefined
  }

  /** Raises host/not-found. */
  get(id: string): HostRow {
    const row = this.find(id)
    if (!row) throw new Fault('host/not-found', 'permanent', { host: id })
    return row
  }

  /** By name, else by id; one of another tenant is none. Raises host/not-found. */
  resolve(tenant: string, nameOrId: string): HostRow {
    const row = this.findByName(tenant, nameOrId) ?? this.findIn(tenant, nameOrId)
    if (!row) throw new Fault('host/not-found', 'permanent', { host: nameOrId })
    return row
  }

  findByName(tenant: string, name: string): HostRow | undefined {
    const raw = this.#db.find<RawHost>('SELECT * FROM hosts WHERE tenant = $tenant AND name = $name', { tenant, name })
    return raw && hostOf(raw)
  }

  findByIdentity(identityPublicKey: string): HostRow | undefined {
    const raw = this.#db.find<RawHost>('SELECT * FROM hosts WHERE agent_identity = $identityPublicKey', {
      identityPublicKey,
    })
    return raw && hostOf(raw)
  }

  /** Raises host/name-taken and host/already-added (same agent identity). */
  create(host: NewHost): HostRow {
    return this.#db.transaction(() => {
      this.#insert(host)
      const row = this.get(host.id)
      const address = host.ssh ? { address: `${host.ssh.user}@${host.ssh.host}:${host.ssh.port}` } : {}
      this.#note('host.add', undefined, row, { name: host.name, kind: host.kind, ...address })
      this.#db.changed('host', host.id)
      return row
    })
  }

  /** Changes where and how the agent is reached (a reinstall, another socket); the identity may change only here. */
  setAgent(id: string, agent: HostAgent): void {
    this.#db.transaction(() => {
      const row = this.get(id)
      this.#db.run(
        `UPDATE hosts SET agent_socket_path = $socketPath, agent_executable = $executable, agent_state_dir = $stateDir,
         agent_identity = $identityPublicKey, agent_runs_as = $runsAs, agent_started_by = $startedBy WHERE id = $id`,
        { id, ...agent },
      )
      this.#note('host.agent', row, this.get(id), { executable: agent.executable })
      this.#db.changed('host', id)
    })
  }

  /** Changes how the host is dialled. */
  setSsh(id: string, ssh: HostSsh): void {
    this.#db.transaction(() => {
      const row = this.get(id)
      this.#db.run('UPDATE hosts SET ssh = $ssh WHERE id = $id', { id, ssh: JSON.stringify(ssh) })
      this.#note('host.ssh', row, this.get(id), { client: ssh.client ?? 'ssh2', detail: ssh.clientDetail ?? '' })
      this.#db.changed('host', id)
    })
  }

  /** A key a person accepted in place of the pinned one. */
  setHostKey(id: string, fingerprint: string): void {
    this.#db.transaction(() => {
      const row = this.get(id)
      this.#db.run('UPDATE hosts SET host_key_fingerprint = $fingerprint WHERE id = $id', { id, fingerprint })
      this.#note('host.accept-key', row, this.get(id), { fingerprint, known: row.hostKeyFingerprint })
      this.#db.changed('host', id)
    })
  }

  setStatus(id: string, status: HostStatus): void {
    this.#db.transaction(() => {
      const row = this.get(id)
      if (row.status === status) return
      this.#db.run('UPDATE hosts SET status = $status WHERE id = $id', { id, status })
      this.#note('host.status', row, this.get(id), { status })
      this.#db.changed('host', id)
    })
  }

  /** What the agent told of its host. Absent and empty leave what is known; equal values write nothing. */
  setTold(id: string, told: HostTold): void {
    const changed = this.#db.run(
      `UPDATE hosts SET facts = coalesce($facts, facts), capacity = coalesce($capacity, capacity),
         agent_version = coalesce(nullif($agentVersion, ''), agent_version), backend = coalesce(nullif($backend, ''), backend),
         guest_cidr = coalesce(nullif($guestCidr, ''), guest_cidr),
         uplink_address = coalesce(nullif($uplinkAddress, ''), uplink_address)
       WHERE id = $id AND (
         coalesce($facts, facts) IS NOT facts OR coalesce($capacity, capacity) IS NOT capacity
         OR coalesce(nullif($agentVersion, ''), agent_version) IS NOT agent_version
         OR coalesce(nullif($backend, ''), backend) IS NOT backend
         OR coalesce(nullif($guestCidr, ''), guest_cidr) IS NOT guest_cidr
         OR coalesce(nullif($uplinkAddress, ''), uplink_address) IS NOT uplink_address)`,
      {
        id,
        facts: told.facts ? JSON.stringify(told.facts) : null,
        capacity: told.capacity ? JSON.stringify(told.capacity) : null,
        agentVersion: told.agentVersion ?? '',
        backend: told.backend ?? '',
        guestCidr: told.guestCidr ?? '',
        uplinkAddress: told.uplinkAddress ?? '',
      },
    )
    if (changed > 0) this.#db.changed('host', id)
  }

  setLastSeen(id: string, at: Date): void {
    this.#db.run('UPDATE hosts SET last_seen_at = $at WHERE id = $id', { id, at: at.toISOString() })
  }

  /** A row that never sent its host anything begins above what the agent saw in an earlier life in this fleet. */
  startAbove(id: string, lastSeenEpoch: bigint): void {
    const at = { id, seen: lastSeenEpoch }
    if (lastSeenEpoch === 0n || !this.#db.find('SELECT 1 FROM hosts WHERE id = $id AND sent_epoch = 0', { id })) return
    this.#db.transaction(() => {
      this.#db.run('UPDATE hosts SET epoch = max(epoch, $seen + 1) WHERE id = $id', at)
      this.#db.run("INSERT OR REPLACE INTO sent_snapshots (host_id, epoch, digest) VALUES ($id, $seen, '')", at)
    })
  }

  /** A person decided that this store's data counts although the host has seen a newer epoch: the next one is above it. */
  overrule(id: string, hostEpoch: bigint): void {
    this.#db.transaction(() => {
      const row = this.get(id)
      this.#db.run(
        `UPDATE hosts SET epoch = max(epoch, $hostEpoch) + 1, sent_epoch = max(sent_epoch, $hostEpoch), sent_digest = ''
         WHERE id = $id`,
        { id, hostEpoch },
      )
      // Whatever the host was told under it is known from now on, and overruled.
      this.#db.run("INSERT OR REPLACE INTO sent_snapshots (host_id, epoch, digest) VALUES ($id, $hostEpoch, '')", {
        id,
        hostEpoch,
      })
      const detail = { epoch: String(row.sentEpoch), host_epoch: String(hostEpoch) }
      this.#note('host.use-older-data', row, row, detail)
      this.#db.changed('host', id)
      this.#db.changed('desired', id)
    })
  }

  /** Whether what an agent was told last may have come from here, as far back as is kept. `sha256` '' = it does not say. */
  maySent(id: string, { epoch, sha256 }: { epoch: bigint; sha256: string }): boolean {
    if (epoch === 0n || sha256 === '') return true
    const at = { id, epoch }
    const sent = this.#db.find<{ digest: string }>(
      'SELECT digest FROM sent_snapshots WHERE host_id = $id AND epoch = $epoch',
      at,
    )
    if (sent) return sent.digest === '' || sent.digest === sha256
    return !this.#db.find('SELECT 1 FROM sent_snapshots WHERE host_id = $id AND epoch < $epoch LIMIT 1', at)
  }

  /** The epoch to send this content under: raised when the same epoch was already sent with other content. */
  stampSnapshot(id: string, digest: string): bigint {
    return this.#db.transaction(() => {
      const row = this.#db.find<{ epoch: number; sent_epoch: number; sent_digest: string }>(
        'SELECT epoch, sent_epoch, sent_digest FROM hosts WHERE id = $id',
        { id },
      )
      if (!row) throw new Fault('host/not-found', 'permanent', { host: id })
      if (row.sent_epoch === row.epoch && row.sent_digest === digest) return BigInt(row.epoch)
      const epoch = row.sent_epoch === row.epoch ? row.epoch + 1 : row.epoch
      this.#db.run('UPDATE hosts SET epoch = $epoch, sent_epoch = $epoch, sent_digest = $digest WHERE id = $id', {
        id,
        epoch,
        digest,
      })
      return BigInt(epoch)
    })
  }

  /** Forgets a host and, by cascade, its VM rows. Idempotent. */
  remove(id: string, detail: Record<string, string> = {}): void {
    this.#db.transaction(() => {
      const row = this.find(id)
      if (!row) return
      const vms = this.#db.list<{ id: string; name: string }>('SELECT id, name FROM vms WHERE host_id = $id', { id })
      this.#db.run('DELETE FROM hosts WHERE id = $id', { id })
      for (const { id: vmId, name } of vms)
        this.#audit.add({ action: 'vm.forget', tenant: row.tenant, vmId, hostId: id, detail: { name } })
      this.#note('host.remove', row, undefined, { name: row.name, ...detail })
      for (const vm of vms) this.#db.changed('vm', vm.id)
      this.#db.changed('host', id)
    })
  }

  #note(action: string, before: HostRow | undefined, after: HostRow | undefined, detail: Record<string, string>) {
    const row = after ?? before
    if (!row) return
    const { id: hostId, tenant } = row
    this.#audit.changed({ action, tenant, hostId, detail }, before, after)
  }

  #insert(host: NewHost): void {
    try {
      this.#db.run(
        `INSERT INTO hosts (id, tenant, name, kind, ssh, agent_socket_path, agent_executable, agent_state_dir, agent_identity,
           agent_runs_as, agent_started_by, host_key_fingerprint, facts, created_at, credential)
         VALUES ($id, $tenant, $name, $kind, $ssh, $socketPath, $executable, $stateDir, $identityPublicKey,
           $runsAs, $startedBy, $hostKeyFingerprint, $facts, $createdAt, $credential)`,
        {
          id: host.id,
          tenant: host.tenant,
          name: host.name,
          kind: host.kind,
          ssh: host.ssh ? JSON.stringify(host.ssh) : null,
          ...host.agent,
          hostKeyFingerprint: host.hostKeyFingerprint,
          facts: host.facts ? JSON.stringify(host.facts) : null,
          createdAt: new Date(this.#now()).toISOString(),
          credential: host.credential ?? 'login',
        },
      )
    } catch (error) {
      if (brokeConstraint(error, 'hosts.tenant, hosts.name'))
        throw new Fault('host/name-taken', 'conflict', { host: host.name }, { cause: error })
      if (brokeConstraint(error, 'hosts.agent_identity') || brokeConstraint(error, 'hosts.id')) {
        const known = this.findByIdentity(host.agent.identityPublicKey)
        throw alreadyAdded(host.tenant, known ?? host, error)
      }
      throw error
    }
  }
}

/** A host of another tenant is not named. */
export const alreadyAdded = (tenant: string, known: Pick<NewHost, 'tenant' | 'name'>, cause?: unknown): Fault =>
  new Fault('host/already-added', 'conflict', { host: known.tenant === tenant ? known.name : '' }, { cause })

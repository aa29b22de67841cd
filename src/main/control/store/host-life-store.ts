import { isDeepStrictEqual } from 'node:util'
import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import { brokeConstraint, type Database } from './database.ts'
import type { HostAgent, HostDraining, HostRow, HostSsh } from './host-row.ts'
import type { HostsStore } from './hosts-store.ts'

/** A host that is let in again after its credential was revoked, or under another key. */
export interface Readmission {
  ssh: HostSsh | null
  agent: Omit<HostAgent, 'identityPublicKey'>
  hostKeyFingerprint: string
  credential: 'login' | 'key'
}

/** What happens to a host between being added and leaving. Each change is one transaction with its audit row. */
export class HostLifeStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #hosts: HostsStore

  constructor(db: Database, audit: AuditStore, hosts: HostsStore) {
    this.#db = db
    this.#audit = audit
    this.#hosts = hosts
  }

  /** Raises host/name-taken. No-op when nothing differs. */
  edit(id: string, { name, labels }: { name: string; labels: Record<string, string> }): HostRow {
    const known = this.#hosts.get(id)
    if (known.name === name && isDeepStrictEqual(known.labels, labels)) return known
    return this.#change('host.edit', id, () => {
      try {
        this.#db.run('UPDATE hosts SET name = $name, labels = $labels WHERE id = $id', {
          id,
          name,
          labels: JSON.stringify(labels),
        })
      } catch (error) {
        if (!brokeConstraint(error, 'hosts.tenant, hosts.name')) throw error
        throw new Fault('host/name-taken', 'conflict', { host: name }, { cause: error })
      }
    })
  }

  setDraining(id: string, draining: HostDraining): HostRow {
    const known = this.#hosts.get(id)
    if (known.draining === draining) return known
    return this.#change('host.drain', id, () => {
      this.#db.run('UPDATE hosts SET draining = $draining WHERE id = $id', { id, draining })
    })
  }

  /** It stays out until `readmit`. Idempotent. */
  revoke(id: string): HostRow {
    const known = this.#hosts.get(id)
    if (known.credential === 'revoked') return known
    return this.#change('host.revoke', id, () => {
      this.#db.run("UPDATE hosts SET credential = 'revoked', credential_ends_at = NULL WHERE id = $id", { id })
    })
  }

  /** The same agent by another way; its VMs, name and labels stay. */
  readmit(id: string, { ssh, agent, hostKeyFingerprint, credential }: Readmission): HostRow {
    return this.#change('host.readmit', id, () => {
      this.#db.run(
        `UPDATE hosts SET ssh = $ssh, credential = $credential, credential_ends_at = NULL,
           host_key_fingerprint = $hostKeyFingerprint, agent_socket_path = $socketPath, agent_executable = $executable,
           agent_state_dir = $stateDir, agent_runs_as = $runsAs, agent_started_by = $startedBy WHERE id = $id`,
        { id, ssh: ssh ? JSON.stringify(ssh) : null, hostKeyFingerprint, credential, ...agent },
      )
    })
  }

  /** As the agent says; equal values write nothing, and nobody is told in the trail. */
  setCredentialEnds(id: string, endsAt: Date): void {
    const changed = this.#db.run(
      'UPDATE hosts SET credential_ends_at = $at WHERE id = $id AND credential_ends_at IS NOT $at',
      { id, at: endsAt.toISOString() },
    )
    if (changed > 0) this.#db.changed('host', id)
  }

  #change(action: string, id: string, write: () => void): HostRow {
    return this.#db.transaction(() => {
      const before = this.#hosts.get(id)
      write()
      const row = this.#hosts.get(id)
      this.#audit.changed({ action, tenant: row.tenant, hostId: id, detail: { name: row.name } }, before, row)
      this.#db.changed('host', id)
      return row
    })
  }
}

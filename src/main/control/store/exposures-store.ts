import { Fault } from '../../../ipc/faults.ts'
import { RESERVED_PORTS } from '../../../ipc/units.ts'
import type { AuditStore } from './audit-store.ts'
import { brokeConstraint, type Database } from './database.ts'

export type Protocol = 'tcp' | 'udp'
export type Scope = 'lan' | 'loopback'

export interface NewExposure {
  /** 32 hex characters. */
  id: string
  vmId: string
  guestPort: number
  /** 0 = the first free one of the reserved range. */
  hostPort: number
  protocol: Protocol
  scope: Scope
}

export interface ExposureRow extends NewExposure {
  tenant: string
  hostId: string
  createdAt: Date
}

interface RawExposure {
  id: string
  tenant: string
  vm_id: string
  host_id: string
  guest_port: number
  host_port: number
  protocol: Protocol
  scope: Scope
  created_at: string
}

/** Published ports. The unique index (host, protocol, host port) alone decides who has a port; rows go with their VM. */
export class ExposuresStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** Ascending by host port. */
  listByVm(vmId: string): ExposureRow[] {
    return this.#db
      .list<RawExposure>('SELECT * FROM exposures WHERE vm_id = $vmId ORDER BY host_port, protocol', { vmId })
      .map(rowOf)
  }

  /** Ascending by host port. */
  listByHost(hostId: string): ExposureRow[] {
    return this.#db
      .list<RawExposure>('SELECT * FROM exposures WHERE host_id = $hostId ORDER BY host_port, protocol', { hostId })
      .map(rowOf)
  }

  /** One of another tenant is none. */
  findIn(tenant: string, id: string): ExposureRow | undefined {
    const row = this.find(id)
    return row?.tenant === tenant ? row : undefined
  }

  find(id: string): ExposureRow | undefined {
    const raw = this.#db.find<RawExposure>('SELECT * FROM exposures WHERE id = $id', { id })
    return raw && rowOf(raw)
  }

  /** The first port of the reserved range that nothing on the host is published on; undefined = none is free. */
  freePort(hostId: string, protocol: Protocol, from: number = RESERVED_PORTS.first): number | undefined {
    return this.#db.find<{ port: number }>(
      `WITH RECURSIVE range(port) AS (SELECT $from UNION ALL SELECT port + 1 FROM range WHERE port < $last)
       SELECT port FROM range WHERE port NOT IN
         (SELECT host_port FROM exposures WHERE host_id = $hostId AND protocol = $protocol)
         AND NOT ($protocol = 'tcp' AND port IS (SELECT json_extract(ssh, '$.port') FROM hosts WHERE id = $hostId))
       ORDER BY port LIMIT 1`,
      { hostId, protocol, from, last: Math.max(from, RESERVED_PORTS.last) },
    )?.port
  }

  /**
   * Tenant and host are those of the VM, which must not be deleted. Raises vm/not-found, port/taken with the port's VM
   * and a free one, port/none-free, input/invalid for the port by which the host itself is reached.
   */
  create(exposure: NewExposure): ExposureRow {
    return this.#db.transaction(() => {
      const vm = this.#db.find<{ host_id: string; name: string; host: string; door: number | null }>(
        `SELECT vms.host_id, vms.name, hosts.name AS host, json_extract(hosts.ssh, '$.port') AS door
         FROM vms JOIN hosts ON hosts.id = vms.host_id WHERE vms.id = $vmId AND vms.deleted_at IS NULL`,
        { vmId: exposure.vmId },
      )
      if (!vm) throw new Fault('vm/not-found', 'permanent', { vm: exposure.vmId })
      if (exposure.protocol === 'tcp' && exposure.hostPort === vm.door) throw itsDoor(vm.host, vm.door)
      const hostPort = exposure.hostPort || this.freePort(vm.host_id, exposure.protocol)
      if (hostPort === undefined) throw this.#noneFree(vm.host_id)
      this.#insert({ ...exposure, hostPort }, vm.host_id)
      const row = this.#get(exposure.id)
      this.#note('port.publish', row, vm.name, { after: row })
      return row
    })
  }

  /** Raises port/not-found, for one of another tenant too. */
  remove(tenant: string, id: string): ExposureRow {
    return this.#db.transaction(() => {
      const row = this.findIn(tenant, id)
      if (!row) throw new Fault('port/not-found', 'permanent', { port: id })
      const vm = this.#db.find<{ name: string }>('SELECT name FROM vms WHERE id = $vmId', { vmId: row.vmId })
      this.#db.run('DELETE FROM exposures WHERE id = $id', { id })
      this.#note('port.unpublish', row, vm?.name ?? '', { before: row })
      return row
    })
  }

  #insert(exposure: NewExposure, hostId: string): void {
    try {
      this.#db.run(
        `INSERT INTO exposures (id, tenant, vm_id, host_id, guest_port, host_port, protocol, scope, created_at)
         SELECT $id, tenant, id, host_id, $guestPort, $hostPort, $protocol, $scope, $createdAt
         FROM vms WHERE id = $vmId AND deleted_at IS NULL`,
        { ...exposure, createdAt: new Date(this.#now()).toISOString() },
      )
    } catch (error) {
      const { hostPort, protocol } = exposure
      if (!brokeConstraint(error, 'exposures.host_id, exposures.protocol, exposures.host_port')) throw error
      throw this.#taken(hostId, protocol, hostPort, error)
    }
  }

  #taken(hostId: string, protocol: Protocol, hostPort: number, cause: unknown): Fault {
    const holder = this.#db.find<{ host: string; vm: string }>(
      `SELECT hosts.name host, vms.name vm FROM exposures
       JOIN hosts ON hosts.id = exposures.host_id JOIN vms ON vms.id = exposures.vm_id
       WHERE exposures.host_id = $hostId AND protocol = $protocol AND host_port = $hostPort`,
      { hostId, protocol, hostPort },
    )
    const free = this.#nextFree(hostId, protocol, hostPort)
    const params = { host: holder?.host ?? '', vm: holder?.vm ?? '', port: String(hostPort), protocol, free }
    return new Fault('port/taken', 'conflict', params, { cause })
  }

  /** Beside the one that was asked for, where people look for it. '' = none. */
  #nextFree(hostId: string, protocol: Protocol, hostPort: number): string {
    const near = hostPort < 65_535 ? this.freePort(hostId, protocol, hostPort + 1) : undefined
    return String(near ?? this.freePort(hostId, protocol) ?? '')
  }

  #noneFree(hostId: string): Fault {
    const host = this.#db.find<{ name: string }>('SELECT name FROM hosts WHERE id = $hostId', { hostId })
    const range = `${RESERVED_PORTS.first} to ${RESERVED_PORTS.last}`
    return new Fault('port/none-free', 'permanent', { host: host?.name ?? '', range })
  }

  #get(id: string): ExposureRow {
    const row = this.find(id)
    if (!row) throw new Fault('port/not-found', 'permanent', { port: id })
    return row
  }

  #note(
    action: string,
    row: ExposureRow,
    name: string,
    { before, after }: { before?: ExposureRow; after?: ExposureRow },
  ) {
    const { tenant, vmId, hostId, guestPort, hostPort, protocol, scope } = row
    const detail = { name: `${hostPort}/${protocol}`, for_vm: name, guest_port: String(guestPort), scope }
    this.#audit.changed({ action, tenant, vmId, hostId, detail }, before, after)
    this.#db.changed('host', hostId)
    this.#db.changed('desired', hostId)
  }
}

const rowOf = (raw: RawExposure): ExposureRow => ({
  id: raw.id,
  tenant: raw.tenant,
  vmId: raw.vm_id,
  hostId: raw.host_id,
  guestPort: raw.guest_port,
  hostPort: raw.host_port,
  protocol: raw.protocol,
  scope: raw.scope,
  createdAt: new Date(raw.created_at),
})

/** The agent would take the port when sshd lets go of it, at its restart, and nobody came in any more. */
const itsDoor = (host: string, port: number): Fault =>
  new Fault('input/invalid', 'permanent', {
    field: 'host port',
    value: String(port),
    problem: `${host} itself is reached by SSH on it`,
  })

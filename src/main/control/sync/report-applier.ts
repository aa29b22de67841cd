import { isIP } from 'node:net'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import type { WantedImage } from '../../../ipc/gen/eitri/agent/v1/image_pb.js'
import type { Report } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmRow as ReportedVm } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import type { AuditEvent } from '../store/audit-store.ts'
import type { HostRow, HostTold } from '../store/host-row.ts'
import type { VmRow, VmStatus } from '../store/vm-row.ts'
import { capacityRowOf, factsRowOf } from './host-told.ts'
import type { Registry } from './registry.ts'
import { FactTracker, StatusTracker } from './status-tracker.ts'
import { VmEvents } from './vm-events.ts'

const ERROR_CHARS = 2_000
const KEY_CHARS = 1_000

export interface ApplierVms {
  find(id: string): VmRow | undefined
  setStatus(id: string, hostId: string, status: VmStatus): { ip: string }
  setNetworkIp(id: string, hostId: string, ip: string): void
  setHostPublicKey(id: string, hostId: string, key: string): void
  reap(hostId: string, ids: readonly string[]): string[]
}

export interface ApplierHosts {
  find(id: string): HostRow | undefined
  setTold(id: string, told: HostTold): void
}

/** Gives guests' host keys their certificates. Absent = nobody does. */
export interface ApplierCertifier {
  /** This key of one of the host's VMs is stored; raises what went wrong with this one. */
  reported(hostId: string, vmId: string, key: string): void
  /** What was done may not have been stored. */
  forget(vmId: string): void
}

export interface ApplierDeps {
  registry: Registry
  hosts: ApplierHosts
  vms: ApplierVms
  audit: { add(event: AuditEvent): void }
  images: { setSize(sha256: string, sizeBytes: number): void }
  push: { want(hostId: string, wanted: WantedImage[]): void }
  certifier?: ApplierCertifier
  /** All or nothing, one write to disk. */
  transaction<T>(work: () => T): T
  clock: Clock
  log: Log
}

/** Applies what agents report. A report that says nothing new writes nothing durable. */
export class ReportApplier {
  readonly #deps: ApplierDeps
  readonly #status: StatusTracker
  readonly #events: VmEvents
  readonly #networkIp = new FactTracker()
  readonly #hostKey = new FactTracker()
  readonly #told = new FactTracker()
  readonly #sizes = new FactTracker()

  constructor(deps: ApplierDeps) {
    this.#deps = deps
    this.#events = new VmEvents((event) => deps.audit.add(event), deps.clock)
    this.#status = new StatusTracker((vmId) => statusOf(deps.vms.find(vmId)))
  }

  /** Raises host/not-found when the host left the fleet; other faults are logged and the next report tries again. */
  apply(session: ActiveSession, report: Report): void {
    const { registry, hosts, clock, push } = this.#deps
    const { hostId } = session
    const host = hosts.find(hostId)
    if (!host) throw new Fault('host/not-found', 'permanent', { host: hostId })
    if (!registry.reported(session, report, { date: new Date(clock.now()), monotonic: clock.monotonic() })) return
    this.#guard('report.not-stored', hostId, '', () => this.#store(host, report))
    this.#checkEpoch(host, report)
    this.#guard('report.destroyed', hostId, '', () => this.#reap(hostId, report.destroyed))
    push.want(hostId, report.wantedImages)
  }

  /** The host left: it is written afresh should it return. */
  forgetHost(hostId: string, vmIds: readonly string[]): void {
    this.#told.forget(hostId)
    for (const id of vmIds) this.#forgetVm(id)
  }

  /** Every row may be another: what was written before counts for nothing. */
  forgetAll(): void {
    for (const memory of [this.#told, this.#status, this.#networkIp, this.#hostKey, this.#sizes]) memory.clear()
  }

  /** One commit for the whole report; a commit that fails leaves nothing remembered as written. */
  #store(host: HostRow, report: Report): void {
    const hostId = host.id
    try {
      this.#deps.transaction(() => {
        for (const row of report.vms)
          this.#guard('report.host-key', hostId, row.vmId, () => this.#applyHostKey(hostId, row))
        for (const row of report.vms) this.#guard('report.vm', hostId, row.vmId, () => this.#applyVm(hostId, row))
        this.#guard('report.host', hostId, '', () => this.#applyHost(host, report))
      })
    } catch (error) {
      this.forgetHost(
        hostId,
        report.vms.map((row) => row.vmId),
      )
      for (const image of report.images) this.#sizes.forget(image.sha256)
      throw error
    }
  }

  #applyHostKey(hostId: string, row: ReportedVm): void {
    if (row.unowned || !isKeyLine(row.hostPublicKey)) return
    this.#hostKey.apply(row.vmId, row.hostPublicKey, (key) => this.#deps.vms.setHostPublicKey(row.vmId, hostId, key))
    this.#deps.certifier?.reported(hostId, row.vmId, row.hostPublicKey)
  }

  #applyVm(hostId: string, row: ReportedVm): void {
    const { vms } = this.#deps
    if (row.unowned) return
    this.#networkIp.apply(row.vmId, address(row.networkIp), (ip) => vms.setNetworkIp(row.vmId, hostId, ip))
    if (row.phase !== 'ready' && row.phase !== 'failed') return
    const failed = row.phase === 'failed'
    this.#status.apply(
      row.vmId,
      {
        status: row.phase,
        lastError: failed ? row.detail.slice(0, ERROR_CHARS) : '',
        lastReason: row.reason.slice(0, 100),
        ip: address(row.ip),
      },
      (status, known) => {
        const stored = vms.setStatus(row.vmId, hostId, status)
        const vm = vms.find(row.vmId)
        if (vm) this.#events.note(vm, known, status, { said: row.detail, power: row.power })
        return stored
      },
    )
  }

  #applyHost({ id: hostId, facts: known }: HostRow, report: Report): void {
    const { guestCidr, hostUplinkAddr, capacity, facts } = report
    const told: HostTold = {
      guestCidr,
      uplinkAddress: address(hostUplinkAddr),
      ...(capacity ? { capacity: capacityRowOf(capacity) } : {}),
      ...(facts ? { facts: factsRowOf(facts, known) } : {}),
    }
    this.#told.apply(hostId, JSON.stringify(told), () => this.#deps.hosts.setTold(hostId, told))
    for (const image of report.images) {
      const size = Number(image.sizeBytes)
      if (size === 0) continue
      this.#sizes.apply(image.sha256, String(size), () => this.#deps.images.setSize(image.sha256, size))
    }
  }

  #checkEpoch(host: HostRow, report: Report): void {
    if (report.lastSeenEpoch <= host.epoch && !report.fenced) return
    this.#deps.log.warn('report.epoch', {
      host: host.name,
      epoch: host.epoch,
      agentEpoch: report.lastSeenEpoch,
      fenced: report.fenced,
    })
  }

  #reap(hostId: string, destroyed: readonly string[]): void {
    for (const id of this.#deps.vms.reap(hostId, destroyed)) this.#forgetVm(id)
  }

  #forgetVm(id: string): void {
    this.#status.forget(id)
    this.#events.forget(id)
    this.#networkIp.forget(id)
    this.#hostKey.forget(id)
    this.#deps.certifier?.forget(id)
  }

  #guard(event: string, host: string, vm: string, work: () => void): void {
    try {
      work()
    } catch (error) {
      const { code, message } = asFault(error)
      this.#deps.log.warn(event, { host, vm, code, message })
    }
  }
}

/** One line that others may put into their files; anything else is no answer. */
const isKeyLine = (text: string): boolean =>
  text.length <= KEY_CHARS && /^[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( [\x21-\x7e]+)?$/.test(text)

/** An unusable address is no answer. */
const address = (text: string): string => (isIP(text) ? text : '')

function statusOf(row: VmRow | undefined): VmStatus | undefined {
  if (!row || row.status === '') return undefined
  return { status: row.status, lastError: row.lastError, lastReason: row.lastReason, ip: row.assignedIp }
}

import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { Backend, RunningVm } from '../backends/backend.ts'
import type { OnProgress } from '../images/download.ts'
import type { BootImage } from '../images/image-cache.ts'
import type { NetworkedVm, VmNetwork } from '../network/vm-network.ts'
import type { Processes } from '../os/process.ts'
import type { AgentLayout, VmLayout } from '../records/layout.ts'
import { sizeOf, startedWith, type VmRecord } from '../records/vm-record.ts'
import type { VmRecords } from '../records/vm-records.ts'
import type { SeedInput } from '../seed/seed-documents.ts'
import type { Waits } from './autostart-turns.ts'
import type { CreateSlots } from './create-slots.ts'
import type { DiskHolds } from './disk-holds.ts'
import type { BootTime } from './quarantine-clock.ts'
import type { QuotaLedger } from './quota.ts'
import type { UnreadableRecord } from './unreadable-records.ts'
import type { Wanted } from './vm-plan.ts'

/** The image cache as a pass uses it. */
export interface Images {
  stat(sha256: string): { haveBytes: number; complete: boolean }
  fetch(url: string, sha256: string, progress: OnProgress, signal: AbortSignal): Promise<void>
  bootImage(sha256: string, kind: string, format: string): Promise<BootImage>
  /** Raises `host/disk-full` unless so many bytes fit beside what is kept free, even with unused images gone. */
  requireRoom(bytes: number): Promise<void>
}

/** The seed medium and the guest's host key. */
export interface Seeds {
  write(path: string, input: SeedInput): Promise<void>
  /** The private half at `path`, made when it is not there; resolves with both halves. */
  hostKey(path: string, comment: string): Promise<{ privateKey: string; publicKey: string }>
}

/** What every pass shares; each part does its own locking. */
export interface PassDeps {
  layout: AgentLayout
  records: VmRecords
  backend: Backend
  network: VmNetwork
  images: Images
  seeds: Seeds
  ledger: QuotaLedger
  slots: CreateSlots
  holds: DiskHolds
  /** What the last accepted snapshot says of a VM, another's than the pass's too. */
  wanted(vmId: string): Wanted
  /** Certificates that guests are to refuse, as the last accepted snapshot says. */
  revoked(): Uint8Array
  /** Why a VM that the host starts by itself does not start yet; undefined = it may. */
  awaitsTurn(spec: VmSpec): Waits | undefined
  processes: Pick<Processes, 'bootId' | 'uptimeMs'>
  clock: Clock
  log: Log
  /** How long a guest may take to power itself off, ms. */
  stopGraceMs: number
}

/** What a pass needs of who ordered it. */
export interface Orders {
  /** What is wanted by now; differs from the pass's own assignment once a newer one waits. */
  latest(): Wanted
  /** A record that cannot be read changes nothing and publishes nothing: the last result stands. */
  unreadable(read: UnreadableRecord): void
}

/** One VM as a pass acts on it. */
export interface VmScope {
  vm: VmLayout
  name: string
}

export const bootTime = ({ processes }: Pick<PassDeps, 'processes'>): BootTime => ({
  bootId: processes.bootId(),
  uptimeMs: processes.uptimeMs(),
})

/** The record with what network and backend know of the guest's addresses; "no answer" never clears a known one. */
export async function withAddresses(deps: PassDeps, vm: VmLayout, record: VmRecord): Promise<VmRecord> {
  const { network, backend } = deps
  const ip = network.address(vm.id) || (await backend.address(vm)) || record.ip
  const networkIp = network.networkAddress(vm.id) || (await backend.networkAddress(vm)) || record.networkIp
  return ip === record.ip && networkIp === record.networkIp ? record : { ...record, ip, networkIp }
}

/** What of a VM its network is made from. */
export const networked = ({ vmId, name, network }: NetworkedVm): NetworkedVm => ({ vmId, name, network })

/** The record after a good boot: proof of it, and nothing left of what went wrong before. */
export function booted(record: VmRecord, machine: string, now: BootTime): VmRecord {
  return {
    ...record,
    bootId: now.bootId,
    startedUptimeMs: now.uptimeMs,
    createAttempts: 0,
    lastError: '',
    lastReason: '',
    stopRequested: false,
    restartCount: record.spec.restartCount,
    exit: undefined,
    machine,
    admitted: sizeOf(record.spec),
    started: startedWith(record.spec),
  }
}

export const runningPart = ({ acceleration, startedAt, identity }: RunningVm): RunningVm => ({
  acceleration,
  startedAt,
  ...(identity ? { identity } : {}),
})

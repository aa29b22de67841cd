import type { ClockPolicy } from '../../../ipc/clock-policy.ts'
import type { Row } from './database.ts'
import type { ImageFormat } from './images-store.ts'

export type DesiredPower = 'running' | 'stopped'

export interface NewVm {
  /** 32 hex characters. */
  id: string
  hostId: string
  name: string
  /** Empty = the control plane pushes it. */
  imageUrl: string
  imageSha256: string
  imageKind: 'disk' | 'kernel'
  /** What a disk image has to be by its content; empty = either. */
  imageFormat: ImageFormat
  cloudInit: Uint8Array
  vcpus: number
  /** MiB. */
  memMb: number
  /** GiB. */
  diskGb: number
  powerState: DesiredPower
  autostart: boolean
  network: string
  backend: string
  labels: Record<string, string>
  sshAuthorizedKeys: string[]
  /** User CAs, one key line each, frozen at create; null = none was recorded, which is not an empty set. */
  trustedCas: string[] | null
  /** Its create waits for a certificate of its host key. Absent = frozen at create, too. */
  hostCertRequired?: boolean
  /** Null = the control plane put no key in. */
  injectedKey: { fingerprint: string; comment: string } | null
  clockPolicy: ClockPolicy
  /** It is not deleted before this is taken away. Absent = false. */
  protected?: boolean
  /** Seconds after its host booted; absent = 0. */
  autostartDelayS?: number
  /** Lower ones first; absent = 0. */
  autostartOrder?: number
  /** The VM its disk is made from; absent or empty = its image. */
  cloneOf?: string
}

/** A VM that exists already, with what its host was told of it so far. */
export interface AdoptedVm extends NewVm {
  forceStop: boolean
  restartCount: number
  /** Of its host key, one line; absent or empty = none. */
  hostCertificate?: string
}

export interface VmRow extends AdoptedVm {
  tenant: string
  hostCertRequired: boolean
  hostCertificate: string
  protected: boolean
  autostartDelayS: number
  autostartOrder: number
  cloneOf: string
  /** Last durable phase; empty = none yet. Live ones are in the registry. */
  status: '' | 'ready' | 'failed'
  lastError: string
  /** Fault code; also of trouble that leaves it running. */
  lastReason: string
  assignedIp: string
  networkIp: string
  hostPublicKey: string
  createdAt: Date
  /** Null = live. */
  deletedAt: Date | null
  /** Seconds in quarantine; null while live; 0 = purge now. */
  graceS: number | null
}

/** An edit of desired state; fields left out stay. */
export interface VmEdit {
  name?: string
  powerState?: DesiredPower
  forceStop?: boolean
  restartCount?: number
  deletedAt?: Date | null
  graceS?: number | null
  clockPolicy?: ClockPolicy
  vcpus?: number
  memMb?: number
  diskGb?: number
  labels?: Record<string, string>
  protected?: boolean
  autostart?: boolean
  autostartDelayS?: number
  autostartOrder?: number
}

export interface VmStatus {
  status: 'ready' | 'failed'
  lastError: string
  lastReason: string
  /** Empty = no answer: keeps the known one. */
  ip: string
}

/** A row as SQLite gives it. */
export interface RawVm {
  id: string
  host_id: string
  tenant: string
  name: string
  image_url: string
  image_sha256: string
  image_kind: 'disk' | 'kernel'
  image_format: ImageFormat
  cloud_init: Uint8Array
  vcpus: number
  mem_mb: number
  disk_gb: number
  power_state: DesiredPower
  force_stop: number
  restart_count: number
  autostart: number
  network: string
  backend: string
  labels: string
  ssh_authorized_keys: string
  trusted_cas: string | null
  injected_key: string | null
  status: '' | 'ready' | 'failed'
  last_error: string
  last_reason: string
  assigned_ip: string
  network_ip: string
  host_public_key: string
  host_cert_required: number
  host_certificate: string
  created_at: string
  deleted_at: string | null
  grace_s: number | null
  clock_policy: ClockPolicy
  protected: number
  autostart_delay_s: number
  autostart_order: number
  clone_of: string
}

export const vmOf = (raw: RawVm): VmRow => ({
  id: raw.id,
  hostId: raw.host_id,
  tenant: raw.tenant,
  name: raw.name,
  imageUrl: raw.image_url,
  imageSha256: raw.image_sha256,
  imageKind: raw.image_kind,
  imageFormat: raw.image_format,
  cloudInit: raw.cloud_init,
  vcpus: raw.vcpus,
  memMb: raw.mem_mb,
  diskGb: raw.disk_gb,
  powerState: raw.power_state,
  forceStop: raw.force_stop === 1,
  restartCount: raw.restart_count,
  autostart: raw.autostart === 1,
  network: raw.network,
  backend: raw.backend,
  labels: JSON.parse(raw.labels) as Record<string, string>,
  sshAuthorizedKeys: JSON.parse(raw.ssh_authorized_keys) as string[],
  trustedCas: raw.trusted_cas === null ? null : (JSON.parse(raw.trusted_cas) as string[]),
  injectedKey: raw.injected_key === null ? null : (JSON.parse(raw.injected_key) as VmRow['injectedKey']),
  status: raw.status,
  lastError: raw.last_error,
  lastReason: raw.last_reason,
  assignedIp: raw.assigned_ip,
  networkIp: raw.network_ip,
  hostPublicKey: raw.host_public_key,
  hostCertRequired: raw.host_cert_required === 1,
  hostCertificate: raw.host_certificate,
  createdAt: new Date(raw.created_at),
  deletedAt: raw.deleted_at === null ? null : new Date(raw.deleted_at),
  graceS: raw.grace_s,
  clockPolicy: raw.clock_policy,
  protected: raw.protected === 1,
  autostartDelayS: raw.autostart_delay_s,
  autostartOrder: raw.autostart_order,
  cloneOf: raw.clone_of,
})

/** The parameters of its insert. */
export const vmParams = (vm: AdoptedVm, createdAt: string): Row => ({
  ...vm,
  forceStop: Number(vm.forceStop),
  autostart: Number(vm.autostart),
  labels: JSON.stringify(vm.labels),
  sshAuthorizedKeys: JSON.stringify(vm.sshAuthorizedKeys),
  trustedCas: vm.trustedCas && JSON.stringify(vm.trustedCas),
  hostCertRequired: Number(vm.hostCertRequired ?? false),
  hostCertificate: vm.hostCertificate ?? '',
  injectedKey: vm.injectedKey && JSON.stringify(vm.injectedKey),
  protected: Number(vm.protected ?? false),
  autostartDelayS: vm.autostartDelayS ?? 0,
  autostartOrder: vm.autostartOrder ?? 0,
  cloneOf: vm.cloneOf ?? '',
  createdAt,
})

/** The parameters of its update. */
export const editParams = (vm: VmRow): Row => ({
  id: vm.id,
  name: vm.name,
  powerState: vm.powerState,
  forceStop: Number(vm.forceStop),
  restartCount: vm.restartCount,
  deletedAt: vm.deletedAt?.toISOString() ?? null,
  graceS: vm.graceS,
  clockPolicy: vm.clockPolicy,
  vcpus: vm.vcpus,
  memMb: vm.memMb,
  diskGb: vm.diskGb,
  labels: JSON.stringify(vm.labels),
  protected: Number(vm.protected),
  autostart: Number(vm.autostart),
  autostartDelayS: vm.autostartDelayS,
  autostartOrder: vm.autostartOrder,
})

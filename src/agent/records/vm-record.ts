import { fromJson, type JsonValue, toJson } from '@bufbuild/protobuf'
import { z } from 'zod'
import { type VmSpec, VmSpecSchema } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'

/** Time a VM has spent in quarantine, counted by the host's uptime so that no wall-clock jump shortens it. */
export interface Quarantine {
  /** Counted before `sinceUptimeMs`. Time while the host was down does not count. */
  elapsedMs: number
  /** Uptime at which counting (re)started; undefined = the clock stands still. */
  sinceUptimeMs: number | undefined
  /** Boot in which `sinceUptimeMs` was read. */
  bootId: string
  /** Which deletion it counts for; '' = unknown (written by an agent that did not tell them apart). */
  tombstone: string
}

/** What a VM takes of its host. */
export interface Size {
  vcpus: number
  /** MiB. */
  memMb: number
  /** GiB. */
  diskGb: number
}

/** What of a spec a running guest has as it was at its start. */
export interface Started {
  vcpus: number
  /** MiB. */
  memMb: number
  name: string
  clockPolicy: string
}

export const startedWith = ({ vcpus, memMb, name, clockPolicy }: Started): Started => ({
  vcpus,
  memMb,
  name,
  clockPolicy,
})

export const sizeOf = ({ vcpus, memMb, diskGb }: Size): Size => ({ vcpus, memMb, diskGb })

/** What the agent remembers of one VM. */
export interface VmRecord {
  spec: VmSpec
  /** Host boot in which the VM was last started or its create finished; '' = the create never finished. */
  bootId: string
  createAttempts: number
  /** Sentence and fault code of the last error; '' = none. */
  lastError: string
  lastReason: string
  /** Set before a stop is tried: a VM that is down with it was stopped on purpose. */
  stopRequested: boolean
  /** Highest restart_count acted on. */
  restartCount: bigint
  /** Uptime of the host when the VM was last started, in boot `bootId`. */
  startedUptimeMs: number
  /** Ends without a stop request in a row, each soon after a start. */
  quickEnds: number
  /** Of those the last in a row that were no power-off by the guest itself. */
  crashes: number
  /** The last such end while nothing started the VM since; its boot is `bootId`. */
  exit: { uptimeMs: number; reason: string; clean: boolean } | undefined
  quarantine: Quarantine | undefined
  hostPublicKey: string
  ip: string
  networkIp: string
  /** Versioned machine type of the first boot; '' = not booted yet. */
  machine: string
  /** What the quota granted it; undefined = nothing: not admitted yet, or in quarantine. */
  admitted: Size | undefined
  /** GiB the disk has; 0 = none is made yet. */
  diskGb: number
  /** What the hypervisor process was started with; undefined = never, or by an agent that did not say. */
  started: Started | undefined
}

export const newRecord = (spec: VmSpec): VmRecord => ({
  spec,
  bootId: '',
  createAttempts: 0,
  lastError: '',
  lastReason: '',
  stopRequested: false,
  restartCount: spec.restartCount,
  startedUptimeMs: 0,
  quickEnds: 0,
  crashes: 0,
  exit: undefined,
  quarantine: undefined,
  hostPublicKey: '',
  ip: '',
  networkIp: '',
  machine: '',
  admitted: undefined,
  diskGb: 0,
  started: undefined,
})

/** What this agent writes and the only one it reads. It rises when an older agent would misread; new fields do not. */
const VERSION = 1

const RecordFile = z.object({
  version: z.literal(VERSION),
  spec: z.json(),
  boot_id: z.string(),
  create_attempts: z.number().int(),
  last_error: z.string(),
  last_reason: z.string(),
  stop_requested: z.boolean(),
  restart_count: z.string().regex(/^\d+$/),
  started_uptime_ms: z.number(),
  quick_ends: z.number().int().optional(),
  crashes: z.number().int(),
  exit: z.object({ uptime_ms: z.number(), reason: z.string(), clean: z.boolean().default(false) }).nullable(),
  quarantine: z
    .object({
      elapsed_ms: z.number(),
      since_uptime_ms: z.number().nullable(),
      boot_id: z.string(),
      tombstone: z.string().optional(),
    })
    .nullable(),
  host_public_key: z.string(),
  ip: z.string(),
  network_ip: z.string(),
  machine: z.string(),
  admitted: z.object({ vcpus: z.number(), mem_mb: z.number(), disk_gb: z.number() }).nullish(),
  disk_gb: z.number().optional(),
  started: z.object({ vcpus: z.number(), mem_mb: z.number(), name: z.string(), clock_policy: z.string() }).nullish(),
})
type RecordFile = z.infer<typeof RecordFile>

/** JSON text; 64-bit numbers are strings in it. */
export function encodeRecord(record: VmRecord): string {
  const { quarantine: q, admitted, started } = record
  const file: RecordFile = {
    version: VERSION,
    spec: toJson(VmSpecSchema, record.spec) as z.infer<ReturnType<typeof z.json>>,
    boot_id: record.bootId,
    create_attempts: record.createAttempts,
    last_error: record.lastError,
    last_reason: record.lastReason,
    stop_requested: record.stopRequested,
    restart_count: record.restartCount.toString(),
    started_uptime_ms: record.startedUptimeMs,
    quick_ends: record.quickEnds,
    crashes: record.crashes,
    exit: record.exit
      ? { uptime_ms: record.exit.uptimeMs, reason: record.exit.reason, clean: record.exit.clean }
      : null,
    quarantine: q
      ? {
          elapsed_ms: q.elapsedMs,
          since_uptime_ms: q.sinceUptimeMs ?? null,
          boot_id: q.bootId,
          tombstone: q.tombstone,
        }
      : null,
    host_public_key: record.hostPublicKey,
    ip: record.ip,
    network_ip: record.networkIp,
    machine: record.machine,
    admitted: admitted ? { vcpus: admitted.vcpus, mem_mb: admitted.memMb, disk_gb: admitted.diskGb } : null,
    disk_gb: record.diskGb,
    started: started
      ? { vcpus: started.vcpus, mem_mb: started.memMb, name: started.name, clock_policy: started.clockPolicy }
      : null,
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

/** Throws when the text is not a whole record of the version this agent knows; the message says what is wrong. */
export function decodeRecord(text: string): VmRecord {
  const file = parse(text)
  const q = file.quarantine
  const spec = fromJson(VmSpecSchema, file.spec as JsonValue, { ignoreUnknownFields: true })
  return {
    spec,
    bootId: file.boot_id,
    createAttempts: file.create_attempts,
    lastError: file.last_error,
    lastReason: file.last_reason,
    stopRequested: file.stop_requested,
    restartCount: BigInt(file.restart_count),
    startedUptimeMs: file.started_uptime_ms,
    // Records of before counted crashes alone.
    quickEnds: file.quick_ends ?? file.crashes,
    crashes: file.crashes,
    exit: file.exit ? { uptimeMs: file.exit.uptime_ms, reason: file.exit.reason, clean: file.exit.clean } : undefined,
    quarantine: q
      ? {
          elapsedMs: q.elapsed_ms,
          sinceUptimeMs: q.since_uptime_ms ?? undefined,
          bootId: q.boot_id,
          tombstone: q.tombstone ?? '',
        }
      : undefined,
    hostPublicKey: file.host_public_key,
    ip: file.ip,
    networkIp: file.network_ip,
    machine: file.machine,
    admitted: admittedOf(file, spec),
    // Before the field a disk had the size its VM was created with for ever.
    diskGb: file.disk_gb ?? spec.diskGb,
    started: startedOf(file),
  }
}

const startedOf = ({ started }: RecordFile): Started | undefined =>
  started
    ? { vcpus: started.vcpus, memMb: started.mem_mb, name: started.name, clockPolicy: started.clock_policy }
    : undefined

/** A record older than the field: whatever was begun on this host was admitted, with the size it has. */
function admittedOf({ admitted, boot_id, create_attempts, quarantine }: RecordFile, spec: VmSpec): Size | undefined {
  if (admitted) return { vcpus: admitted.vcpus, memMb: admitted.mem_mb, diskGb: admitted.disk_gb }
  const begun = admitted === undefined && (boot_id !== '' || create_attempts > 0) && quarantine === null
  return begun ? sizeOf(spec) : undefined
}

function parse(text: string): RecordFile {
  const json: unknown = JSON.parse(text)
  const version = (json as { version?: unknown } | null)?.version
  if (typeof version === 'number' && version !== VERSION)
    throw new Error(`it is of version ${version}, this agent knows version ${VERSION}`)
  return RecordFile.parse(json)
}

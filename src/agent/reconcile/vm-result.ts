import { faultText } from '../../ipc/fault-text.ts'
import { Fault, findFault } from '../../ipc/faults.ts'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { Phase, Power } from '../../ipc/lifecycle.ts'
import type { Complaint, RunningVm } from '../backends/backend.ts'
import type { VmRecord } from '../records/vm-record.ts'
import type { Waits } from './autostart-turns.ts'

export interface ProgressPart {
  step: number
  steps: number
  doneBytes: number
  totalBytes: number | undefined
}

/** What a pass found out about one VM; becomes a VmRow. Undefined = unknown. */
export interface RowPart {
  power: Power | undefined
  phase: Phase | undefined
  /** Progress, or the last error in one sentence. */
  detail: string
  /** Fault code; '' = none. */
  reason: string
  ip: string
  networkIp: string
  progress: ProgressPart | undefined
  running: RunningVm | undefined
  unowned: boolean
  spec: VmSpec | undefined
  /** Fields of the spec that the running guest gets at its next start. */
  needsRestart: string[]
}

export interface QuarantinePart {
  spec: VmSpec
  /** Wall clock, ms; undefined = the clock stands still. */
  destroyAt: number | undefined
  unowned: boolean
  detail: string
}

/** The latest of one VM. Exactly one of row, quarantined and gone is set. */
export interface VmResult {
  row: RowPart | undefined
  quarantined: QuarantinePart | undefined
  /** There is no record, and nothing else of it, on this host. */
  gone: boolean
  hostPublicKey: string
  /** Digest of an image only the control plane can give; '' = waits for none. */
  waitsForImage: string
  /** It waits for its turn after a boot of the host; absent = for none. */
  waitsForTurn?: Waits
}

/** A row from a record. Addresses always travel with it: a row without them would blank them upstream. */
export function rowResult(
  record: VmRecord,
  row: Partial<RowPart> & Pick<RowPart, 'power' | 'phase'>,
  waitsForImage = '',
): VmResult {
  return {
    row: {
      detail: '',
      reason: '',
      ip: record.ip,
      networkIp: record.networkIp,
      progress: undefined,
      running: undefined,
      unowned: false,
      spec: undefined,
      needsRestart: [],
      ...row,
    },
    quarantined: undefined,
    gone: false,
    hostPublicKey: record.hostPublicKey,
    waitsForImage,
  }
}

export const goneResult: VmResult = {
  row: undefined,
  quarantined: undefined,
  gone: true,
  hostPublicKey: '',
  waitsForImage: '',
}

/** A quarantined VM is in quarantined[] and in no row. */
export function quarantineResult(record: VmRecord, part: Omit<QuarantinePart, 'spec'>): VmResult {
  return {
    row: undefined,
    quarantined: { spec: record.spec, ...part },
    gone: false,
    hostPublicKey: record.hostPublicKey,
    waitsForImage: '',
  }
}

/** A fault in one sentence for people. */
export const sentence = (fault: Fault, vmName: string): string =>
  faultText(fault.code, { ...fault.params, vm: vmName }).what

/** What a row says of a running guest in trouble; nothing when there is none. */
export function complaintPart(
  complaint: Complaint | undefined,
  vmName: string,
): Partial<Pick<RowPart, 'power' | 'detail' | 'reason'>> {
  if (!complaint) return {}
  const { code, detail, paused } = complaint
  const said = sentence(new Fault(code, 'transient', { detail }), vmName)
  return { detail: said, reason: code, ...(paused ? { power: 'paused' } : {}) }
}

/** True when a fault anywhere inside the error says that trying again is in vain. */
export const isPermanent = (error: unknown): boolean => findFault(error)?.disposition === 'permanent'

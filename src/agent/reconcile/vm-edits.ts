import { isWindowsPolicy } from '../../ipc/clock-policy.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { VmLayout } from '../records/layout.ts'
import type { VmRecord } from '../records/vm-record.ts'
import type { PassDeps } from './pass-deps.ts'

/** Fields of the spec, as on the wire, whose new value the running guest gets at its next start. */
export function needsRestart({ spec, started, admitted }: VmRecord): string[] {
  const fields: string[] = []
  const ran = started ?? admitted
  if (ran && ran.vcpus !== spec.vcpus) fields.push('vcpus')
  if (ran && ran.memMb !== spec.memMb) fields.push('mem_mb')
  if (started && started.name !== spec.name) fields.push('name')
  if (started && isWindowsPolicy(started.clockPolicy) !== isWindowsPolicy(spec.clockPolicy)) fields.push('clock_policy')
  return fields
}

export interface Grown {
  /** With the size the disk has now. */
  record: VmRecord
  /** It grows at the next start. */
  later: boolean
  /** Why it could not grow. */
  fault: Fault | undefined
}

/** A disk as large as is wanted. It is never cut, and not touched while it is copied; the record is not saved yet. */
export async function growDisk(deps: PassDeps, vm: VmLayout, record: VmRecord, signal: AbortSignal): Promise<Grown> {
  const { backend, ledger, holds } = deps
  const { vcpus, memMb, diskGb } = { ...record.spec, ...record.admitted, diskGb: record.spec.diskGb }
  const as = (now: VmRecord, later = false, fault?: Fault): Grown => ({ record: now, later, fault })
  if (diskGb <= record.diskGb || !backend.growDisk) return as(record)
  // Only the disk: memory and processors are taken at a start.
  const full = ledger.admit({ vmId: vm.id, vcpus, memMb, diskGb })
  if (full !== '') return as(record, false, new Fault('vm/over-capacity', 'transient', { detail: full }))
  try {
    const done = await holds.using(vm.id, () => backend.growDisk!(vm, diskGb, signal))
    if (!done) return as(record, done === false)
    deps.log.info('vm.disk-grown', { vm: vm.id, from: record.diskGb, to: diskGb })
    return as({ ...record, diskGb, admitted: { vcpus, memMb, diskGb } })
  } catch (error) {
    if (signal.aborted) return as(record)
    const fault = asFault(error)
    deps.log.warn('vm.disk-not-grown', { vm: vm.id, code: fault.code, error: fault.message })
    return as(record, false, fault)
  }
}

/** '' = its disk is no larger than it is to be. */
export const keptDisk = ({ spec, diskGb }: VmRecord): string =>
  spec.diskGb >= diskGb ? '' : `its disk stays at ${diskGb} GiB: a disk is never made smaller`

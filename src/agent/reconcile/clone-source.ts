import { Fault } from '../../ipc/faults.ts'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { CloneRequest } from '../backends/backend.ts'
import type { PassDeps } from './pass-deps.ts'
import { exists } from './vm-plan.ts'

export type CloneSource = CloneRequest['source'] | { waits: string }

/**
 * The VM whose disk this one is made from, held so that nothing starts it until the pass is over; or what it waits for.
 * Raises `vm/clone-source-gone` (permanent) when it is deleted or was never here.
 */
export async function cloneSource(deps: PassDeps, spec: VmSpec): Promise<CloneSource> {
  const { layout, records, backend, holds } = deps
  const vm = layout.vmDir(spec.cloneOf)
  if (!backend.cloneRootDisk)
    throw new Fault('vmm/failed', 'permanent', { detail: `${backend.name} cannot copy the disk of a VM` })
  const isFree = holds.hold(spec.cloneOf, spec.vmId)
  const read = await records.read(spec.cloneOf)
  if (read.kind === 'unreadable')
    return { waits: `waiting for the VM it is a copy of, whose record cannot be read: ${read.problem}` }
  const record = read.kind === 'record' ? read.record : undefined
  const wanted = deps.wanted(spec.cloneOf)
  const name = (wanted.kind === 'absent' ? record?.spec.name : wanted.spec.name) ?? spec.cloneOf
  if (wanted.kind === 'tombstone' || record?.quarantine || (wanted.kind === 'absent' && !record))
    throw new Fault('vm/clone-source-gone', 'permanent', { source: name })
  if (!exists(record)) return { waits: `waiting for ${name}, which it is a copy of, to be made` }
  if (!isFree || (await backend.running(vm)))
    return { waits: `waiting for ${name} to be stopped: its disk is copied only while nothing writes to it` }
  return { vm, name }
}

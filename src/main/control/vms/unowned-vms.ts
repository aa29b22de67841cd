import { fromJsonString } from '@bufbuild/protobuf'
import { Fault } from '../../../ipc/faults.ts'
import {
  type QuarantinedVm,
  type VmRow as ReportedVm,
  type VmSpec,
  VmSpecSchema,
} from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { HostRow } from '../store/host-row.ts'
import type { HostLive } from '../sync/registry.ts'

/** A VM that a host keeps and no row names. Exactly one of seen and quarantined is set. */
export interface UnownedVm {
  id: string
  hostId: string
  /** As its host holds it; absent = its host does not say, or what it says cannot be read. */
  spec?: VmSpec
  seen?: ReportedVm
  /** It stays there, stopped, until adopted: nobody's clock counts for it. */
  quarantined?: QuarantinedVm
}

/** Those of one host, as it last said: of no fleet, or of this one from before its store lost them. `known` = ids that have a row. */
export function unownedOf(hostId: string, live: HostLive, known: { has(id: string): boolean }): UnownedVm[] {
  const isNobodys = (vm: { vmId: string }) => !known.has(vm.vmId)
  const rows = [...(live.vms?.values() ?? [])].filter(isNobodys)
  const held = [...(live.quarantined?.values() ?? [])].filter(isNobodys)
  return [
    ...rows.map((seen) => ({ id: seen.vmId, hostId, seen, ...(seen.spec ? { spec: seen.spec } : {}) })),
    ...held.map((quarantined) => ({ id: quarantined.vmId, hostId, quarantined, ...specOf(quarantined) })),
  ]
}

function specOf({ specJson }: QuarantinedVm): { spec?: VmSpec } {
  try {
    return specJson === '' ? {} : { spec: fromJsonString(VmSpecSchema, specJson, { ignoreUnknownFields: true }) }
  } catch {
    return {}
  }
}

/** By id or name, among those of all hosts. Raises vm/ambiguous. */
export function findUnowned(all: readonly UnownedVm[], ref: string): UnownedVm | undefined {
  const byId = all.find((vm) => vm.id === ref)
  if (byId) return byId
  const named = all.filter((vm) => vm.spec?.name === ref)
  if (named.length > 1)
    throw new Fault('vm/ambiguous', 'permanent', { vm: ref, ids: named.map((vm) => vm.id).join(', ') })
  return named[0]
}

/** What to say to everything but looking and adopting. */
export const notOfThisFleet = ({ id, spec }: UnownedVm, host: Pick<HostRow, 'name'> | undefined): Fault =>
  new Fault('vm/unowned', 'permanent', { vm: spec?.name || id, host: host?.name ?? '' })

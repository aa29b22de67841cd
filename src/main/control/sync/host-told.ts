import type { Capacity, HostFacts } from '../../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { CapacityRow, HostFactsRow, HostTold } from '../store/host-row.ts'

/** Wire facts as the store keeps them. */
export function factsRowOf(facts: HostFacts): HostFactsRow {
  const { $typeName, $unknown, memBytes, diskBytes, diskFreeBytes, ...rest } = facts
  return {
    ...rest,
    memBytes: Number(memBytes),
    diskBytes: Number(diskBytes),
    diskFreeBytes: Number(diskFreeBytes),
  }
}

export const capacityRowOf = (capacity: Capacity): CapacityRow => ({
  vcpus: capacity.vcpus,
  memMb: Number(capacity.memMb),
  diskGb: Number(capacity.diskGb),
})

/** What a Hello adds to the row of its host; what it does not say is left out. */
export function toldByHello(hello: Hello): HostTold {
  return {
    agentVersion: hello.agentVersion,
    backend: hello.provisioner,
    ...(hello.facts ? { facts: factsRowOf(hello.facts) } : {}),
    ...(hello.capacity ? { capacity: capacityRowOf(hello.capacity) } : {}),
  }
}

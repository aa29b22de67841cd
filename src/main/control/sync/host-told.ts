import type { Capacity, HostFacts } from '../../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { CapacityRow, HostFactsRow, HostTold } from '../store/host-row.ts'

/** Wire facts as the store keeps them. While the agent still probes, what was known of the acceleration stays. */
export function factsRowOf(facts: HostFacts, known: HostFactsRow | null): HostFactsRow {
  const { $typeName, $unknown, accelerationPending, memBytes, diskBytes, diskFreeBytes, ...rest } = facts
  const acceleration =
    accelerationPending && known
      ? { acceleration: known.acceleration, accelerationDetail: known.accelerationDetail }
      : {}
  return {
    ...rest,
    ...acceleration,
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

/** What a Hello adds to the row of its host; what it does not say is left out. `known` = the row's facts until now. */
export function toldByHello(hello: Hello, known: HostFactsRow | null): HostTold {
  return {
    agentVersion: hello.agentVersion,
    backend: hello.provisioner,
    ...(hello.facts ? { facts: factsRowOf(hello.facts, known) } : {}),
    ...(hello.capacity ? { capacity: capacityRowOf(hello.capacity) } : {}),
  }
}

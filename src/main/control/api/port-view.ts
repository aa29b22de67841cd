import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type Port, PortSchema } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { ExposureRow } from '../store/exposures-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { VmRow } from '../store/vm-row.ts'
import { isAnswering } from '../sync/answering.ts'
import type { HostLive } from '../sync/registry.ts'

const REASON_CHARS = 400
const STATES = ['listening', 'failed', 'waiting']

/** A published port as clients see it: the row with what its host last said of it. Absent = it has not said. */
export function portView(
  row: ExposureRow,
  { vm, host, live, monotonicNow }: { vm: VmRow; host: HostRow; live: HostLive; monotonicNow: number },
): Port {
  const status = live.exposures?.get(row.id)
  const { active, refused, dropped } = status?.sessions ?? {}
  const known = status && STATES.includes(status.state)
  return create(PortSchema, {
    id: row.id,
    vmId: row.vmId,
    vmName: vm.name,
    hostId: row.hostId,
    hostName: host.name,
    guestPort: row.guestPort,
    hostPort: row.hostPort,
    protocol: row.protocol,
    scope: row.scope,
    hostAddress: host.uplinkAddress || (host.ssh?.host ?? ''),
    createdAt: timestampFromDate(row.createdAt),
    ...(vm.deletedAt
      ? { state: 'waiting', reason: `VM ${vm.name} is deleted; the port is back when the VM is.` }
      : { ...(known ? { state: status.state } : {}), reason: status?.reason.slice(0, REASON_CHARS) ?? '' }),
    ...(active === undefined || refused === undefined || dropped === undefined
      ? {}
      : { sessions: { active, refused, dropped } }),
    hostUnknown: !isAnswering(live, monotonicNow),
  })
}

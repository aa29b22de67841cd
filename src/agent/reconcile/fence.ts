import { createHash } from 'node:crypto'
import { toBinary } from '@bufbuild/protobuf'
import { Fault } from '../../ipc/faults.ts'
import { type DesiredState, DesiredStateSchema, type Snapshot } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { isId } from '../../ipc/names.ts'
import { LIMITS } from '../../ipc/units.ts'
import { isKrl } from './krl.ts'

/** Most VMs one host's snapshot may name. */
const VM_LIMIT = 10_000

/** The snapshot's state; raises `input/invalid` when it is absent or names VMs it cannot mean. */
export function checkedState(snapshot: Snapshot): DesiredState {
  const refuse = (problem: string) => new Fault('input/invalid', 'permanent', { field: 'snapshot', problem })
  const { state } = snapshot
  if (!state) throw refuse('it has no state, which never means "no VMs"')
  if (state.sshKrl.length > LIMITS.sshKrlBytes)
    throw refuse(`its list of revoked certificates is larger than ${LIMITS.sshKrlBytes} bytes`)
  if (!isKrl(state.sshKrl)) throw refuse('its list of revoked certificates is none that sshd reads')
  if (state.vms.length > VM_LIMIT) throw refuse(`it names more than ${VM_LIMIT} VMs`)
  const seen = new Set<string>()
  for (const { vmId } of state.vms) {
    if (!isId(vmId)) throw refuse('a vm_id is not 32 lower-case hex characters')
    if (seen.has(vmId)) throw refuse(`it names VM ${vmId} twice`)
    seen.add(vmId)
  }
  return state
}

/** Hex digest that goes with the epoch; computed when the sender gave none. */
export function digestOf(snapshot: Snapshot, state: DesiredState): string {
  if (snapshot.contentSha256.length > 0) return Buffer.from(snapshot.contentSha256).toString('hex')
  return createHash('sha256').update(toBinary(DesiredStateSchema, state)).digest('hex')
}

/** Whether a snapshot is older than, or contradicts, the newest accepted one. */
export function isFenced(epoch: bigint, digest: string, highest: { epoch: bigint; digest: string }): boolean {
  return epoch < highest.epoch || (epoch === highest.epoch && highest.digest !== '' && digest !== highest.digest)
}

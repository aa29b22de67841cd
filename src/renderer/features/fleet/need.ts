import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Ca } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'

/** Why something needs a person. */
export type Cause =
  | 'store-damaged'
  | 'store-full'
  | 'key-changed'
  | 'key-new'
  | 'task-asks'
  | 'unreachable'
  | 'newer-data'
  | 'held-by-other'
  | 'sign-in'
  | 'identity-changed'
  | 'agent-missing'
  | 'agent-outdated'
  | 'agent-behind'
  | 'upgrade-failed'
  | 'silent-agent'
  | 'parts-missing'
  | 'credential-ended'
  | 'credential-ending'
  | 'disk-full'
  | 'disk-low'
  | 'network-blocked'
  | 'network-down'
  | 'app-clock'
  | 'host-clock'
  | 'clock-unkept'
  | 'guest-clock'
  | 'vm-decision'
  | 'vm-crashed'
  | 'vm-paused'
  | 'vm-start-failed'
  | 'vm-stop-failed'
  | 'vm-no-room'
  | 'vm-trouble'
  | 'payload-failed'
  | 'unowned'
  | 'port-failed'
  | 'ca-unusable'
  | 'certificate-ended'
  | 'certificate-ending'
  | 'revocations-failed'

export interface NeedObject {
  kind: 'app' | 'host' | 'vm' | 'port' | 'task' | 'ca'
  id: string
  name: string
  /** Where it is looked at. */
  href: string
}

/** What the one button does: a sheet, a call, or the place to go to. */
export type NeedAct =
  | { kind: 'compare-keys' | 'sign-in' | 'take-over' | 'reconnect' | 'update-agent'; host: Host }
  | { kind: 'resync' | 'adopt'; vm: Vm }
  | { kind: 'answer'; task: Task }
  | { kind: 'open'; href: string }

export interface Need {
  /** The same thing with the same cause has the same key. */
  key: string
  cause: Cause
  object: NeedObject
  /** What it means, or what the host said of it; empty = the cause says enough. */
  more: string
  act: NeedAct
}

/** What is known of the fleet, and when. */
export interface FleetFacts {
  hosts: readonly Host[]
  vms: readonly Vm[]
  tasks: readonly Task[]
  ports: readonly Port[]
  /** Absent = not read yet. */
  cas?: readonly Ca[] | undefined
  /** As GetInfo says it; empty = fine, or not read yet. */
  storeProblem: string
  nowMs: number
}

export const need = (cause: Cause, object: NeedObject, more: string, act: NeedAct): Need => ({
  key: `${cause}:${object.id}`,
  cause,
  object,
  more,
  act,
})

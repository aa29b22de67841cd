import { guestClockState, hostClockState } from '../../../ipc/clock-words.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { FleetSnapshot } from '../../state/fleet-store.ts'
import { isAnswering, isCrashed } from './causes.ts'

/** How many things in a place of the rail need a person. */
export interface Marks {
  hosts: number
  vms: number
  trust: number
  clock: number
}

export const NO_MARKS: Marks = { hosts: 0, vms: 0, trust: 0, clock: 0 }

const FOR_A_PERSON = new Set(['sign_in_needed', 'agent_missing', 'identity_mismatch', 'held_by_other'])
const KEY_TROUBLE = new Set(['key_changed', 'key_not_trusted'])
const OFF = new Set(['Drifting', 'Jumped', 'Not synchronised'])

/** Counted over the whole fleet, whatever the scope is: what needs a person must not hide. */
export function marksOf(fleet: FleetSnapshot, dated: { trust: number }): Marks {
  const marks = { ...NO_MARKS, trust: dated.trust }
  for (const host of fleet.hosts.values()) {
    if (needsPerson(host)) marks.hosts++
    if (KEY_TROUBLE.has(host.link)) marks.trust++
    if (isAnswering(host) && OFF.has(hostClockState(host.clock).word)) marks.clock++
  }
  for (const vm of fleet.vms.values()) {
    if (vm.deletedAt || vm.hostUnknown) continue
    if (vm.unowned || isCrashed(vm)) marks.vms++
    if (vm.clock && vm.power === 'running' && OFF.has(guestClockState(vm.clock).word)) marks.clock++
  }
  return marks
}

const needsPerson = (host: Host): boolean =>
  FOR_A_PERSON.has(host.link) || KEY_TROUBLE.has(host.link) || host.newerData !== undefined

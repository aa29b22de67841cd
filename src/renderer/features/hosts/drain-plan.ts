import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'

/** Guests of so many hosts are stopped by one confirmation. */
export const DRAIN_CAP = 50

export interface DrainStep {
  host: Host
  /** VMs whose guests are asked to power off, by name. */
  stops: string[]
  /** VMs that run on, each with why. */
  stays: { name: string; why: string }[]
  /** VMs that are off already. */
  off: number
  /** The host does not answer: what is asked waits there. */
  waits: boolean
}

export interface DrainPlan {
  steps: DrainStep[]
  left: { host: Host; why: string }[]
  /** Would be drained, but are more than one confirmation covers. */
  beyond: Host[]
}

/** What draining does, host by host, before it is done. The control plane goes by the same rule. */
export function planDrain(hosts: readonly Host[], vms: readonly Vm[], { stopVms }: { stopVms: boolean }): DrainPlan {
  const plan: DrainPlan = { steps: [], left: [], beyond: [] }
  const wanted = stopVms ? 'stop' : 'leave'
  for (const host of [...hosts].sort((a, b) => a.name.localeCompare(b.name))) {
    const why = host.status === 'decommissioning' ? 'is being removed' : ''
    if (why !== '') plan.left.push({ host, why })
    else if (host.draining === wanted) plan.left.push({ host, why: 'is drained so already' })
    else if (plan.steps.length >= DRAIN_CAP) plan.beyond.push(host)
    else plan.steps.push(stepOf(host, vms, stopVms))
  }
  return plan
}

function stepOf(host: Host, vms: readonly Vm[], stopVms: boolean): DrainStep {
  const mine = vms.filter((vm) => vm.hostId === host.id && !vm.deletedAt)
  const step: DrainStep = { host, stops: [], stays: [], off: 0, waits: host.link !== 'connected' }
  for (const vm of [...mine].sort((a, b) => a.name.localeCompare(b.name))) {
    if (vm.unowned) step.stays.push({ name: vm.name, why: 'not in this fleet' })
    else if (vm.desiredPower !== 'running') step.off++
    else if (!stopVms) step.stays.push({ name: vm.name, why: 'left running' })
    else if (vm.protected) step.stays.push({ name: vm.name, why: 'protected' })
    else step.stops.push(vm.name)
  }
  return step
}

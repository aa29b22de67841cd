import { fullJitterMs } from '../../ipc/base/backoff.ts'
import { systemClock } from '../../ipc/base/clock.ts'
import type { VmClockChange, VmMetricsChange, WatchFleetResponse } from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Task } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type FleetClient, fleetFault } from '../fleet-client.ts'

/** The fleet as last pushed. */
export interface FleetView {
  hosts: Map<string, Host>
  vms: Map<string, Vm>
  tasks: Map<string, Task>
}

/** Yields the fleet at first and after each change; comes back by itself when a control plane that was there goes away for a while. */
export async function* watchFleet(fleet: FleetClient, signal: AbortSignal): AsyncGenerator<FleetView> {
  let seen = false
  for (let attempt = 0; ; attempt++) {
    const view: FleetView = { hosts: new Map(), vms: new Map(), tasks: new Map() }
    try {
      for await (const response of fleet.fleet.watchFleet({}, { signal })) {
        apply(view, response)
        seen = true
        attempt = 0
        yield view
      }
    } catch (error) {
      const fault = fleetFault(error, fleet.socketPath)
      if (!seen || signal.aborted || fault.disposition !== 'transient') throw fault
    }
    await systemClock.sleep(fullJitterMs(attempt, { floorMs: 100, capMs: 2_000 }), signal)
  }
}

function apply(view: FleetView, { message }: WatchFleetResponse): void {
  if (message.case === undefined) return
  const { hosts, vms, tasks } = message.value
  if (message.case === 'state') for (const map of [view.hosts, view.vms, view.tasks]) map.clear()
  else {
    for (const id of message.value.removedHostIds) view.hosts.delete(id)
    for (const id of message.value.removedVmIds) view.vms.delete(id)
    for (const id of message.value.removedTaskIds) view.tasks.delete(id)
  }
  for (const host of hosts) view.hosts.set(host.id, host)
  for (const vm of vms) view.vms.set(vm.id, vm)
  for (const task of tasks) view.tasks.set(task.id, task)
  if (message.case !== 'delta') return
  for (const change of message.value.vmMetrics) measured(view, change)
  for (const change of message.value.vmClocks) clocked(view, change)
}

function measured({ vms }: FleetView, { vmId, metrics }: VmMetricsChange): void {
  const vm = vms.get(vmId)
  if (!vm) return
  const { metrics: _, ...rest } = vm
  vms.set(vmId, metrics ? { ...rest, metrics } : rest)
}

function clocked({ vms }: FleetView, { vmId, clock }: VmClockChange): void {
  const vm = vms.get(vmId)
  if (!vm) return
  const { clock: _, ...rest } = vm
  vms.set(vmId, clock ? { ...rest, clock } : rest)
}

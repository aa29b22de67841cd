import { create } from '@bufbuild/protobuf'
import { type VmMetricsChange, VmMetricsChangeSchema } from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Vm, VmMetrics } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { MiB } from '../../../ipc/units.ts'

/** Less than this nobody sees: one hundredth of a CPU, and what no screen rounds to. */
const BUSY_STEP = 10
const BYTES_STEP = BigInt(4 * MiB)

/** The metrics watchers were last shown of each VM. An idle VM costs them nothing. */
export class ShownMetrics {
  readonly #shown = new Map<string, VmMetrics | undefined>()

  reset(vms: readonly Vm[]): void {
    this.#shown.clear()
    this.sent(vms)
  }

  /** These travel as whole rows, metrics and all. */
  sent(vms: readonly Vm[]): void {
    for (const vm of vms) this.#shown.set(vm.id, vm.metrics)
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.#shown.delete(id)
  }

  /** Adds the metrics that a person would see change; those of VMs never sent wait for their row. */
  put(vms: readonly Vm[], changes: VmMetricsChange[]): void {
    for (const { id, metrics } of vms) {
      if (!this.#shown.has(id) || !isNotable(this.#shown.get(id), metrics)) continue
      this.#shown.set(id, metrics)
      changes.push(create(VmMetricsChangeSchema, { vmId: id, ...(metrics ? { metrics } : {}) }))
    }
  }
}

function isNotable(shown: VmMetrics | undefined, now: VmMetrics | undefined): boolean {
  return (
    differs(shown?.cpuBusyPermille, now?.cpuBusyPermille, (a, b) => Math.abs(a - b) >= BUSY_STEP) ||
    differs(shown?.rssBytes, now?.rssBytes, isByteStep) ||
    differs(shown?.pssBytes, now?.pssBytes, isByteStep) ||
    differs(shown?.diskUsedBytes, now?.diskUsedBytes, isByteStep)
  )
}

function differs<T>(shown: T | undefined, now: T | undefined, isStep: (a: T, b: T) => boolean): boolean {
  if (shown === undefined || now === undefined) return shown !== now
  return isStep(shown, now)
}

function isByteStep(a: bigint, b: bigint): boolean {
  return (a > b ? a - b : b - a) >= BYTES_STEP
}

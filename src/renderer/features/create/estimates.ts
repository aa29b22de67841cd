import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatBytes, formatDuration } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'

/** Of what this fleet did before; undefined = it never did. */
export interface Range {
  fromMs: number
  toMs: number
  of: number
}

/** A VM that ran again after a stop says nothing of its first start. */
const FIRST_START_MS = 10 * 60_000
const LEAST_TRANSFER_BYTES = 4_000_000n
const LEAST_TRANSFER_MS = 500
const MOST_SAMPLES = 50

/** From asking for a VM to its first start, the middle half of the newest ones. */
export function createToRunning(vms: readonly Vm[]): Range | undefined {
  const times = vms
    .flatMap((vm) => {
      const [created, started] = [msOf(vm.createdAt), msOf(vm.startedAt)]
      if (created === undefined || started === undefined || vm.unowned || vm.cloneOf !== '') return []
      const took = started - created
      return took > 0 && took < FIRST_START_MS ? [{ created, took }] : []
    })
    .sort((a, b) => b.created - a.created)
    .slice(0, MOST_SAMPLES)
  return rangeOf(times.map(({ took }) => took))
}

function rangeOf(times: readonly number[]): Range | undefined {
  if (times.length === 0) return undefined
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
  return { fromMs: at(0.25), toMs: at(0.75), of: times.length }
}

/** Bytes a second at which images were sent to hosts, the middle of all. */
export function sendingRate(tasks: readonly Task[]): number | undefined {
  const rates = tasks
    .filter(({ kind }) => kind === 'push_image')
    .flatMap(({ steps }) => steps)
    .flatMap((step) => {
      const [from, to] = [msOf(step.startedAt), msOf(step.endedAt)]
      if (step.state !== 'done' || from === undefined || to === undefined) return []
      return step.doneBytes >= LEAST_TRANSFER_BYTES && to - from >= LEAST_TRANSFER_MS
        ? [(Number(step.doneBytes) * 1000) / (to - from)]
        : []
    })
    .sort((a, b) => a - b)
  return rates[Math.floor(rates.length / 2)]
}

/** `3–9 s, from 14 VMs of this fleet` */
export function rangeText(range: Range | undefined, noun: string): string | undefined {
  if (!range) return undefined
  const [from, to] = [formatDuration(range.fromMs), formatDuration(range.toMs)]
  return `${from === to ? from : `${from} to ${to}`}, as ${range.of === 1 ? `the last ${noun} took` : `${range.of} ${noun}s took`}`
}

/** How long so many bytes take; undefined = nobody knows. */
export function transferText(bytes: bigint | undefined, rate: number | undefined): string | undefined {
  if (bytes === undefined || rate === undefined || rate <= 0) return undefined
  return `about ${formatDuration((Number(bytes) / rate) * 1000)} at ${formatBytes(Math.round(rate))}/s, as images were sent before`
}

import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { formatDuration } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'

/** How long tasks of a kind took in this fleet. */
export interface Usual {
  fromMs: number
  toMs: number
  medianMs: number
}

/** Fewer say nothing. */
const LEAST = 3
const MOST = 20
/** So many times the usual is slow. */
const SLOW = 3

/** From the fleet's own last tasks of the kind that were done; undefined while there are too few of them. */
export function usualOf(tasks: Iterable<Task>, kind: string): Usual | undefined {
  const took = [...tasks]
    .filter((task) => task.kind === kind && task.state === 'done')
    .sort((a, b) => (msOf(b.endedAt) ?? 0) - (msOf(a.endedAt) ?? 0))
    .flatMap((task) => tookMs(task) ?? [])
    .slice(0, MOST)
    .sort((a, b) => a - b)
  if (took.length < LEAST) return undefined
  const at = (share: number) => took[Math.min(took.length - 1, Math.floor(share * took.length))] ?? 0
  return { fromMs: at(0.1), toMs: at(0.9), medianMs: at(0.5) }
}

function tookMs({ createdAt, endedAt }: Task): number | undefined {
  const from = msOf(createdAt)
  const to = msOf(endedAt)
  return from === undefined || to === undefined || to < from ? undefined : to - from
}

/** `usually 8–20 s`, `usually 2 min`. */
export function usualText({ fromMs, toMs }: Usual): string {
  const round = (ms: number) => Math.max(1000, Math.round(ms / 1000) * 1000)
  const [from, to] = [round(fromMs), round(toMs)]
  if (from === to) return `usually ${formatDuration(to)}`
  if (to < 60_000) return `usually ${from / 1000}–${to / 1000} s`
  return `usually ${formatDuration(from)} to ${formatDuration(to)}`
}

/** Slower than its kind is wont to be by far; still working, and not failed. A task that waits for a person is never slow. */
export const isSlow = (task: Task, elapsedMs: number, usual: Usual | undefined): boolean =>
  usual !== undefined && task.state === 'running' && elapsedMs > SLOW * usual.medianMs

const seen = new WeakMap<Task, number>()

/** When this window was told of the task as it is now: its last sign of life. */
export function lastSignMs(task: Task, nowMs: number): number {
  const known = seen.get(task)
  if (known !== undefined) return known
  seen.set(task, nowMs)
  return nowMs
}

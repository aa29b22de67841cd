import { windowFaultLine } from '../../../ipc/fault-text-window.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'

/** Guests asked at one time. */
export const AT_ONCE = 4
/** Names of guests that failed said in one sentence. */
const NAMED = 3

export interface Resynced {
  done: number
  /** Sentences, with the guest in each. */
  failed: string[]
}

/** Asks for each of them, a few at a time; one that fails keeps none of the others back. */
export async function resyncMany(
  vms: readonly Vm[],
  set: (vm: Vm) => Promise<unknown>,
  onDone: (done: number) => void,
): Promise<Resynced> {
  const left = [...vms]
  const result: Resynced = { done: 0, failed: [] }
  const lane = async () => {
    for (let vm = left.shift(); vm; vm = left.shift()) {
      try {
        await set(vm)
        result.done++
      } catch (error) {
        const { code, params } = fromConnectError(error)
        result.failed.push(windowFaultLine(code, params))
      }
      onDone(result.done + result.failed.length)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return result
}

/** `Clocks of 11 guests are set. 1 could not be: …`. */
export function resyncedWords({ done, failed }: Resynced): string {
  const set = done === 0 ? '' : `The ${done === 1 ? 'clock of 1 guest is' : `clocks of ${done} guests are`} set.`
  if (failed.length === 0) return set
  const more = failed.length > NAMED ? ` And ${failed.length - NAMED} more.` : ''
  return [set, `${failed.length} could not be set:`, ...failed.slice(0, NAMED)].filter(Boolean).join(' ') + more
}

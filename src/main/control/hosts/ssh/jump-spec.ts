import { Fault } from '../../../../ipc/faults.ts'
import { type Destination, parseDestination } from './destination.ts'

/** More hosts to go through than any real network asks for. */
export const MAX_HOPS = 8

/** Pure: `[user@]host[:port],…` as ProxyJump and -J have it, first to dial first. Raises input/invalid naming the part. */
export function parseJump(written: string): Destination[] {
  const text = written.trim()
  if (text === '' || text.toLowerCase() === 'none') return []
  const parts = text.split(',')
  if (parts.length > MAX_HOPS) throw invalid(written, `more than ${MAX_HOPS} hosts to go through`)
  return parts.map((part) => {
    try {
      return parseDestination(part)
    } catch (error) {
      throw invalid(part, error instanceof Fault ? (error.params['problem'] ?? '') : '')
    }
  })
}

const invalid = (value: string, problem: string) =>
  new Fault('input/invalid', 'permanent', { field: 'jump', value: value.trim().slice(0, 100), problem })

import { lookup } from '../../../ipc/base/lookup.ts'
import { type FaultData, faultFromData } from '../../../ipc/faults.ts'
import type { AuditEntry } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { formatElapsed } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { StateView } from '../../ui/state-word.tsx'

/** Of what was asked, and of tasks. */
export const RESULTS: Record<string, StateView> = {
  done: { word: 'Done', tone: 'good' },
  failed: { word: 'Failed', tone: 'bad' },
  cancelled: { word: 'Cancelled', tone: 'quiet' },
  superseded: { word: 'Superseded', tone: 'quiet', detail: 'Another act on it came after and took its place' },
  running: { word: 'Running', tone: 'busy' },
}

/** How an entry ended, or that it has not; undefined = it is a fact by itself, or its end is not followed. */
export function resultState({ result }: Pick<AuditEntry, 'result'>): StateView | undefined {
  return result === '' ? undefined : (lookup(RESULTS, result) ?? { word: result, tone: 'unknown' })
}

/** How long it took, or has taken so far; empty = not known, or there was nothing to wait for. */
export function tookText({ result, tookMs, at }: Pick<AuditEntry, 'result' | 'tookMs' | 'at'>, nowMs: number): string {
  if (tookMs !== undefined) return formatElapsed(Number(tookMs))
  const from = msOf(at)
  return result === 'running' && from !== undefined ? formatElapsed(Math.max(0, nowMs - from)) : ''
}

export const entryFault = ({ fault }: Pick<AuditEntry, 'fault'>): FaultData | undefined =>
  fault && faultFromData(fault).toData()

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Fault } from '../../ipc/faults.ts'
import {
  type GetHistoryRequest,
  type GetHistoryResponse,
  GetHistoryResponseSchema,
  type HistorySampleSchema,
} from '../../ipc/gen/eitri/agent/v1/history_pb.js'
import type { Sample } from '../history/slot.ts'
import type { Steps } from '../history/timeline.ts'
import type { AgentSessions } from './sessions.ts'

const MAX_SPAN_S = 86_400
const SAMPLES = { least: 2, most: 1_440 } as const

/** Who keeps what was measured. */
export interface HistoryKeeper {
  /** Steps that begin by the host's wall clock, ms. Raises `vm/not-found`. */
  ask(vmId: string, spanMs: number, samples: number): Promise<Steps>
}

/** GetHistory: for the attached control plane alone. Raises `input/invalid` and `vm/not-found`. */
export async function historyOf(
  keeper: HistoryKeeper,
  sessions: AgentSessions,
  { sessionId, vmId, spanS, samples }: GetHistoryRequest,
): Promise<GetHistoryResponse> {
  sessions.require(sessionId)
  within('span_s', spanS, 1, MAX_SPAN_S)
  within('samples', samples, SAMPLES.least, SAMPLES.most)
  const { stepMs, steps } = await keeper.ask(vmId, spanS * 1000, samples)
  return create(GetHistoryResponseSchema, {
    stepS: stepMs / 1000,
    samples: steps.map(({ atMs, sample }) => ({ at: timestampFromMs(atMs), ...wireSample(sample) })),
  })
}

function within(field: string, value: number, least: number, most: number): void {
  if (value >= least && value <= most) return
  const problem = `use ${least} to ${most}`
  throw new Fault('input/invalid', 'permanent', { field, value: String(value), problem })
}

function wireSample(sample: Sample): MessageInitShape<typeof HistorySampleSchema> {
  const { cpuBusyPermille, clockOffsetUs, ...bytes } = sample
  const init: MessageInitShape<typeof HistorySampleSchema> = {}
  if (cpuBusyPermille !== undefined) init.cpuBusyPermille = Math.round(cpuBusyPermille)
  if (clockOffsetUs !== undefined) init.clockOffsetUs = BigInt(Math.round(clockOffsetUs))
  for (const name of Object.keys(bytes) as (keyof typeof bytes)[]) {
    const value = bytes[name]
    if (value !== undefined) init[name] = BigInt(Math.round(value))
  }
  return init
}

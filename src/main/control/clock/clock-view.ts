import type { MessageInitShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { CLOCK_STALE_MS } from '../../../ipc/clock-words.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type * as agent from '../../../ipc/gen/eitri/agent/v1/clock_pb.js'
import type { GuestState } from '../../../ipc/gen/eitri/agent/v1/guest_pb.js'
import type { GuestClockSchema, HostClockSchema } from '../../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import type { GuestStateSchema } from '../../../ipc/gen/eitri/fleet/v1/guest_pb.js'
import type { HostLive } from '../sync/registry.ts'
import { comparisonOf } from './app-offset.ts'
import type { Wrong } from './clock-judge.ts'

/** Bounds of what a host may make every window show, characters and entries. */
const WORD_CHARS = 40
const NAME_CHARS = 64
const SENTENCE_CHARS = 300
const MAX_MODULES = 20
const OLDEST_MS = 100 * 365 * 86_400_000

const word = (text: string) => printable(text).slice(0, WORD_CHARS)
const nameOf = (text: string) => printable(text).slice(0, NAME_CHARS)
const sentence = (text: string) => printable(text).slice(0, SENTENCE_CHARS)
const oneOf = (text: string, words: readonly string[]) => (words.includes(text) ? text : '')

/** When this report was heard, and by which clock it was made. */
export interface Heard {
  reportedAt: Date
  reportedMonotonic: number
  builtAt: Timestamp | undefined
  monotonicNow: number
}

/** Undefined = that host never reported. */
export function heardOf(live: HostLive, monotonicNow: number): Heard | undefined {
  const { report, reportedAt, reportedMonotonic } = live
  if (!report || !reportedAt || reportedMonotonic === undefined) return undefined
  return { reportedAt, reportedMonotonic, builtAt: report.builtAt, monotonicNow }
}

/** Age of a host's moment when its report was heard, ms: reckoned by the host's clock alone. Never of the future. */
function ageAtReport(at: Timestamp, { builtAt }: Heard): number {
  if (!builtAt) return 0
  return Math.min(OLDEST_MS, Math.max(0, timestampMs(builtAt) - timestampMs(at)))
}

/** A host's moment by this computer's clock. */
export function inOurTime(at: Timestamp, heard: Heard): Timestamp {
  return timestampFromMs(Math.round(heard.reportedAt.getTime() - ageAtReport(at, heard)))
}

const times = <K extends string>(key: K, at: Timestamp | undefined, heard: Heard): Partial<Record<K, Timestamp>> =>
  at ? ({ [key]: inOurTime(at, heard) } as Record<K, Timestamp>) : {}

function isStale(at: Timestamp | undefined, heard: Heard): boolean {
  return at !== undefined && ageAtReport(at, heard) + heard.monotonicNow - heard.reportedMonotonic > CLOCK_STALE_MS
}

/** What a host said of its own clock and how far it is from this computer's; undefined = neither is known. */
export function hostClockView(
  live: HostLive,
  wrong: Wrong,
  monotonicNow: number,
): MessageInitShape<typeof HostClockSchema> | undefined {
  const heard = heardOf(live, monotonicNow)
  const told = live.report?.clock
  const compared = comparisonOf(live.clockSamples ?? [])
  if (!heard || (!told && !compared)) return undefined
  return {
    ...(told ? toldOf(told, heard) : {}),
    ...(compared
      ? { appOffsetUs: microseconds(compared.offsetMs), appUncertaintyUs: microseconds(compared.uncertaintyMs) }
      : {}),
    wrong,
  }
}

const microseconds = (ms: number): bigint => BigInt(Math.round(ms * 1000))

function toldOf(told: agent.HostClock, heard: Heard): MessageInitShape<typeof HostClockSchema> {
  return {
    state: oneOf(told.state, ['synchronised', 'not_synchronised']),
    ...(told.offsetUs === undefined ? {} : { offsetUs: told.offsetUs }),
    ...(told.stratum === undefined ? {} : { stratum: told.stratum }),
    source: nameOf(told.source),
    daemon: word(told.daemon),
    ...times('since', told.since, heard),
    ...times('measuredAt', told.measuredAt, heard),
    detail: sentence(told.detail),
    stale: isStale(told.measuredAt, heard),
  }
}

/** A guest's clock as its host last told it. */
export function guestClockView(told: agent.GuestClock, heard: Heard): MessageInitShape<typeof GuestClockSchema> {
  const { lastAct: act } = told
  return {
    source: word(told.source),
    ...(told.offsetUs === undefined ? {} : { offsetUs: told.offsetUs }),
    ...(told.uncertaintyUs === undefined ? {} : { uncertaintyUs: told.uncertaintyUs }),
    ...times('measuredAt', told.measuredAt, heard),
    ...(act ? { lastAct: actView(act, heard) } : {}),
    detail: sentence(told.detail),
    stale: isStale(told.measuredAt, heard),
  }
}

function actView(act: agent.ClockAct, heard: Heard) {
  return {
    cause: word(act.cause),
    means: word(act.means),
    result: word(act.result),
    ...(act.offsetBeforeUs === undefined ? {} : { offsetBeforeUs: act.offsetBeforeUs }),
    ...(act.offsetAfterUs === undefined ? {} : { offsetAfterUs: act.offsetAfterUs }),
    ...times('at', act.at, heard),
    detail: sentence(act.detail),
  }
}

/** What a guest says of itself, as its host last told it. */
export function guestView(told: GuestState, heard: Heard): MessageInitShape<typeof GuestStateSchema> {
  return {
    guestAgent: oneOf(told.guestAgent, ['answering', 'silent']),
    guestAgentVersion: word(told.guestAgentVersion),
    cloudInit: word(told.cloudInit),
    modules: told.modules.slice(0, MAX_MODULES).map((module) => ({
      name: nameOf(module.name),
      stage: word(module.stage),
      result: module.result === 'failed' ? 'failed' : 'warned',
      detail: sentence(module.detail),
    })),
    fleetPayload: oneOf(told.fleetPayload, ['applied', 'not_applied']),
    fleetPayloadDetail: sentence(told.fleetPayloadDetail),
    ...times('asOf', told.asOf, heard),
  }
}

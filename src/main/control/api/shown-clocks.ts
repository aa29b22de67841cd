import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt'
import { guestClockState } from '../../../ipc/clock-words.ts'
import type { ClockAct, GuestClock } from '../../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import { differs } from './shown-metrics.ts'

/** Less than this nobody acts on: 10 ms, and a tenth of what it is off. */
const STEP_US = 10_000n
const SHARE = 10n
/** A host's moments move by as much as its reports are delayed, ms. */
const SAME_MOMENT_MS = 2_000

/** Whether a person would see a guest's clock change; a later measurement of the same is none. */
export function clocksDiffer(shown: GuestClock, now: GuestClock): boolean {
  return (
    guestClockState(shown).word !== guestClockState(now).word ||
    shown.source !== now.source ||
    shown.stale !== now.stale ||
    shown.detail !== now.detail ||
    differs(shown.offsetUs, now.offsetUs, isStep) ||
    differs(shown.lastAct, now.lastAct, isOtherAct)
  )
}

function isStep(a: bigint, b: bigint): boolean {
  const apart = size(a - b)
  const largest = size(a) > size(b) ? size(a) : size(b)
  return apart >= STEP_US && apart * SHARE >= largest
}

const size = (us: bigint): bigint => (us < 0n ? -us : us)

const isOtherAct = (a: ClockAct, b: ClockAct): boolean =>
  a.cause !== b.cause ||
  a.means !== b.means ||
  a.result !== b.result ||
  a.detail !== b.detail ||
  a.offsetAfterUs !== b.offsetAfterUs ||
  differs(a.at, b.at, isOtherMoment)

const isOtherMoment = (a: Timestamp, b: Timestamp): boolean =>
  Math.abs(timestampMs(a) - timestampMs(b)) >= SAME_MOMENT_MS

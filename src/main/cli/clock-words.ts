import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { lookup } from '../../ipc/base/lookup.ts'
import {
  actWords,
  apartWords,
  clockText,
  guestClockState,
  hostClockState,
  offsetWords,
  sourceWords,
} from '../../ipc/clock-words.ts'
import type { GuestClock, HostClock } from '../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cloudInitVerdict, payloadVerdict } from '../../ipc/guest-words.ts'

const SYNC: Record<string, string> = { synchronised: 'synchronised', not_synchronised: 'not synchronised' }

/** How a host's clock is kept, for a sheet; empty = it did not say. */
export function hostClockLine({ clock }: Host): string {
  if (!clock) return ''
  return [clockText(hostClockState(clock)), sourceWords(clock), apartWords(clock), clock.detail]
    .filter(Boolean)
    .join('; ')
}

/** How it is kept, and how far it is from this computer where that is worth a word. */
export function hostSync(clock: HostClock): string {
  const since = clock.state && clock.since ? ` since ${moment(clock.since)}` : ''
  return [`${lookup(SYNC, clock.state) ?? ''}${since}`, apartWords(clock)].filter(Boolean).join(', ')
}

export const offsetCell = (us: bigint | undefined): string => (us === undefined ? '' : offsetWords(us))

/** A guest's clock for a sheet; empty where nothing runs that could have one. */
export function guestClockLine({ clock, power, hostUnknown }: Vm): string {
  if (power !== 'running') return ''
  const state = clockText(guestClockState(clock))
  const last =
    hostUnknown || clock?.stale ? ` (last known${clock?.measuredAt ? `, ${moment(clock.measuredAt)}` : ''})` : ''
  return [`${state}${last}`, clock?.detail, lastAct(clock)].filter(Boolean).join('; ')
}

/** What was done last, and when. */
export function lastAct(clock: GuestClock | undefined): string {
  const act = clock?.lastAct
  return act ? [act.at ? moment(act.at) : '', actWords(act)].filter(Boolean).join(' ') : ''
}

export const moment = (at: Timestamp): string =>
  timestampDate(at)
    .toISOString()
    .replace(/[.]\d+Z$/, 'Z')

/** What the guest says of itself, line by line. */
export function guestLines({ guest, power }: Vm): [string, string][] {
  if (power !== 'running' || !guest) return []
  const { text, effect } = cloudInitVerdict(guest)
  const payload = payloadVerdict(guest)
  return [
    ['guest agent', [guest.guestAgent, guest.guestAgentVersion].filter(Boolean).join(' ')],
    ['cloud-init', [text, effect].filter(Boolean).join(' ')],
    ...guest.modules.map(({ name, result, stage, detail }): [string, string] => [
      `  ${name}`,
      `${result}${stage && ` in ${stage}`}${detail && `: ${detail}`}`,
    ]),
    ['payload', payload ? [payload.text, payload.effect].filter(Boolean).join(' ') : ''],
  ]
}

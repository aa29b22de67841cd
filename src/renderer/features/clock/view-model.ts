import { lookup } from '../../../ipc/base/lookup.ts'
import { type ClockHeadline, clockHeadlineOf, type GuestTally } from '../../../ipc/clock-headline.ts'
import {
  actWords,
  apartWords,
  breaksAt,
  type ClockState,
  type ClockWord,
  clockText,
  guestClockState,
  hostClockState,
  offsetWords,
  sourceWords,
} from '../../../ipc/clock-words.ts'
import type { GuestClock } from '../../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { FilterRecord } from '../../lib/filter.ts'
import { formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { StateView, Tone } from '../../ui/state-word.tsx'
import { isCurrent } from '../hosts/view-model.ts'

/** One clock of the page. Empty text = not known, which is never zero. */
export interface ClockRow {
  id: string
  kind: 'host' | 'guest'
  name: string
  /** The host of a guest. */
  on: string
  state: StateView
  offset: string
  /** Undefined = not measured. */
  offsetUs: number | undefined
  source: string
  /** How a host is kept; what keeps a guest. */
  kept: string
  /** The worst that breaks at this offset. */
  breaks: string
  act: string
  /** What came of the look after it last stood still. */
  afterResume: StateView | undefined
  /** `14:02:11` of a measurement that is last known; empty = current, or never measured. */
  asOf: string
  /** Why a person cannot set it now; absent = they can. */
  notSettable?: string
  /** The VM, for a guest. */
  vm?: Vm
}

const TONES: Record<ClockWord, Tone> = {
  'In step': 'good',
  Drifting: 'warn',
  Jumped: 'bad',
  'Not synchronised': 'warn',
  'Not reported': 'unknown',
}

/** The word with its number, icon and colour; one that is last known has lost its colour. */
function stateView(state: ClockState, isOld: boolean, detail: string): StateView {
  const text = { word: clockText(state), ...(detail ? { detail } : {}) }
  return { ...text, tone: isOld ? 'unknown' : TONES[state.word] }
}

/** A guest that runs, as far as its host last said; nothing else has a clock. */
export const hasClock = (vm: Vm): boolean => vm.power === 'running' && vm.deletedAt === undefined

/** Of a guest, whether what is known of its clock is now. */
export const isClockOld = ({ hostUnknown, clock }: Vm): boolean => hostUnknown || (clock?.stale ?? false)

export const guestClockView = (vm: Vm): StateView =>
  stateView(guestClockState(vm.clock), isClockOld(vm), vm.clock?.detail ?? '')

export const hostClockView = (host: Host): StateView =>
  stateView(hostClockState(host.clock), !isCurrent(host) || (host.clock?.stale ?? false), host.clock?.detail ?? '')

const timeOf = (ms: number | undefined, nowMs: number) =>
  ms === undefined ? '' : formatTime(new Date(ms), new Date(nowMs))

const offsetOf = (us: bigint | undefined) => ({
  offset: us === undefined ? '' : offsetWords(us),
  offsetUs: us === undefined ? undefined : Number(us),
})

export function hostRow(host: Host, nowMs: number): ClockRow {
  const { clock } = host
  const state = hostClockState(clock)
  const view = hostClockView(host)
  return {
    ...{ id: host.id, kind: 'host', name: host.name, on: '', state: view, act: '', afterResume: undefined },
    ...offsetOf(clock?.offsetUs),
    source: sourceWords(clock),
    kept: apartWords(clock) || clock?.detail || '',
    breaks: breaksAt(state.offMs).at(-1) ?? '',
    asOf: view.tone === 'unknown' && clock ? timeOf(msOf(clock.measuredAt), nowMs) : '',
  }
}

export function guestRow(vm: Vm, nowMs: number): ClockRow {
  const { clock } = vm
  const state = guestClockState(clock)
  const notSettable = whyNotSettable(vm)
  return {
    ...{ id: vm.id, kind: 'guest', name: vm.name, on: vm.hostName, state: guestClockView(vm), vm },
    ...offsetOf(clock?.offsetUs),
    source: clock?.source.replace('_', ' ') ?? '',
    kept: vm.clockPolicy,
    breaks: breaksAt(state.offMs).at(-1) ?? '',
    act: lastActWords(clock, nowMs),
    afterResume: resumeCheck(clock, nowMs),
    asOf: isClockOld(vm) ? timeOf(msOf(clock?.measuredAt), nowMs) : '',
    ...(notSettable ? { notSettable } : {}),
  }
}

const rowsKept = new WeakMap<Host | Vm, { minute: number; row: ClockRow }>()

/** All clocks; one that did not change is the same row as before, so that a long list looks at the others alone. */
export function clockRows(hosts: readonly Host[], vms: readonly Vm[], minute: number): ClockRow[] {
  const kept = <T extends Host | Vm>(of: T, make: (of: T, nowMs: number) => ClockRow): ClockRow => {
    const known = rowsKept.get(of)
    if (known?.minute === minute) return known.row
    const row = make(of, minute)
    rowsKept.set(of, { minute, row })
    return row
  }
  return [...hosts.map((host) => kept(host, hostRow)), ...vms.filter(hasClock).map((vm) => kept(vm, guestRow))]
}

/** `13:59:40 set (after it was resumed, was 41.2 s behind, then 2 ms ahead)`; empty = there was no cause to. */
export function lastActWords(clock: GuestClock | undefined, nowMs: number): string {
  const act = clock?.lastAct
  return act ? [timeOf(msOf(act.at), nowMs), actWords(act)].filter(Boolean).join(' ') : ''
}

const STOOD_STILL: Record<string, string> = {
  resume: 'it was resumed',
  restore: 'it was restored',
  stall: 'it stood still',
  host_wake: 'its host woke',
}

/** ` since it was resumed at 13:59:40`, for a clock nobody has set right after that; empty = nobody knows since when. */
export function sinceWords(clock: GuestClock | undefined, nowMs: number): string {
  const act = clock?.lastAct
  const what = lookup(STOOD_STILL, act?.cause ?? '')
  const at = timeOf(msOf(act?.at), nowMs)
  return what && act?.result !== 'done' && at !== '' ? ` since ${what} at ${at}` : ''
}

/** Whether its clock was seen right after it last stood still; undefined = it did not, as far as is known. */
export function resumeCheck(clock: GuestClock | undefined, nowMs: number): StateView | undefined {
  const act = clock?.lastAct
  if (!act || lookup(STOOD_STILL, act.cause) === undefined) return undefined
  const at = timeOf(msOf(act.at), nowMs)
  const detail = actWords(act)
  if (act.result === '') return { word: 'Being checked', tone: 'busy', detail }
  if (act.result === 'done') return { word: `In step ${at}`, tone: 'good', detail }
  return { word: act.means === 'none' ? `Left alone ${at}` : `Not set ${at}`, tone: 'bad', detail }
}

const LEFT_ALONE: Record<string, string> = {
  none: 'whatever is in the guest',
  'windows-domain': 'its Windows domain',
}

/** Undefined = the host can be asked to set it. */
export function whyNotSettable(vm: Vm): string | undefined {
  if (vm.unowned) return 'It is not in this fleet.'
  if (vm.hostUnknown) return `${vm.hostName} is not answering.`
  if (!hasClock(vm)) return 'It does not run: it has no clock to set.'
  const keeper = lookup(LEFT_ALONE, vm.clockPolicy)
  if (keeper) return `Its policy leaves its clock to ${keeper}.`
  if (vm.clock?.offsetUs !== undefined) return undefined
  return `${vm.clock?.detail || 'Nothing in the guest has told its time yet.'} ${TO_ANSWER}`
}

const TO_ANSWER =
  'Install or start qemu-guest-agent in it; its clock is read within a minute then, and can be set from here.'

const ORDER: Record<Tone, number> = { bad: 0, warn: 1, unknown: 2, busy: 3, good: 4, quiet: 5, hold: 6 }

/** Sort key: what is wrong first, hosts before their guests. */
export const clockRank = ({ state, kind, name }: ClockRow): string =>
  `${ORDER[state.tone]} ${kind === 'host' ? 0 : 1} ${name}`

export const CLOCK_FILTER_FIELDS = ['state', 'name', 'host', 'source', 'kind'] as const

export const clockFilterRecord = ({ state, name, on, source, kind, kept, act }: ClockRow): FilterRecord => ({
  ...{ state: state.word, name, host: kind === 'host' ? name : on, source, kind },
  more: `${kept} ${act}`,
})

/** The sentence above all clocks, from hosts that answer and what runs on them. */
export const headlineOf = (hosts: Iterable<Host>, guests: GuestTally): ClockHeadline =>
  clockHeadlineOf([...hosts].filter(isCurrent), guests)

/** A word for the strip below every page. */
export function stripWord({ tone }: ClockHeadline): string {
  if (tone === 'good') return 'Clocks in step'
  if (tone === 'warn') return 'Check clocks'
  return tone === 'unknown' ? 'No clock reported' : 'Clock off'
}

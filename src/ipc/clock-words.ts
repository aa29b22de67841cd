import { lookup } from './base/lookup.ts'
/** What is off by more than `ms` breaks this too. One table for the screens, the command line and the manual. */
export const CLOCK_LIMITS = [
  { ms: 100, breaks: 'the order of log lines and events across machines' },
  { ms: 1_000, breaks: 'leader leases of etcd, Galera and Ceph' },
  { ms: 30_000, breaks: 'one-time sign-in codes (TOTP)' },
  { ms: 300_000, breaks: 'Kerberos: domain logons, SMB, SQL Server' },
  { ms: 1_800_000, breaks: 'SSH certificates of 30 minutes, short-lived tokens and TLS certificates' },
] as const

/** Off by less: in step. */
export const IN_STEP_MS: number = CLOCK_LIMITS[0].ms
/** Off by this or more: no drift gets there, it was stepped. */
export const JUMPED_MS: number = CLOCK_LIMITS[1].ms
/** A measurement older than this is last known, ms: agents measure about every 30 s. */
export const CLOCK_STALE_MS = 180_000

export type ClockWord = 'In step' | 'Drifting' | 'Jumped' | 'Not synchronised' | 'Not reported'

/** A state word and what belongs to it. `off` empty = no number is known. */
export interface ClockState {
  word: ClockWord
  /** `±2 ms` or `41.2 s behind`. */
  off: string
  /** Off by at least this, ms, whatever the measurement missed. 0 = in step, or not known. */
  offMs: number
}

/** Both sides of the wire in the parts the words need; offsets in microseconds. */
export interface HostClockFacts {
  state: string
  offsetUs?: bigint | undefined
  appOffsetUs?: bigint | undefined
  appUncertaintyUs?: bigint | undefined
  wrong: string
}

export interface GuestClockFacts {
  source: string
  offsetUs?: bigint | undefined
  uncertaintyUs?: bigint | undefined
  lastAct?: ClockActFacts | undefined
}

export interface ClockActFacts {
  cause: string
  means: string
  result: string
  offsetBeforeUs?: bigint | undefined
  offsetAfterUs?: bigint | undefined
  detail: string
}

const NOT_REPORTED: ClockState = { word: 'Not reported', off: '', offMs: 0 }

/** A guest against its host. What was never measured is not reported, which is not zero. */
export function guestClockState(clock: GuestClockFacts | undefined): ClockState {
  if (!clock?.source || clock.offsetUs === undefined) return NOT_REPORTED
  const state = byOffset(clock.offsetUs, clock.uncertaintyUs)
  return isLost(clock.lastAct) && state.word === 'In step' ? { ...state, off: '', word: 'Jumped' } : state
}

/** It stood still or was put elsewhere, and nobody has seen it right since. */
const isLost = (act: ClockActFacts | undefined): boolean =>
  act !== undefined && STANDS_STILL.has(act.cause) && act.result !== 'done' && act.offsetAfterUs === undefined

const STANDS_STILL = new Set(['resume', 'restore', 'stall', 'host_wake'])

/** A host against its source, or against this computer where the host is the wrong one. */
export function hostClockState(clock: HostClockFacts | undefined): ClockState {
  if (!clock) return NOT_REPORTED
  const { offsetUs, appOffsetUs, appUncertaintyUs, wrong } = clock
  const seen =
    wrong === 'host' && appOffsetUs !== undefined
      ? byOffset(appOffsetUs, appUncertaintyUs)
      : offsetUs === undefined
        ? { ...NOT_REPORTED, word: 'In step' as const }
        : byOffset(offsetUs, undefined)
  if (clock.state === 'not_synchronised') return { ...seen, word: 'Not synchronised' }
  if (clock.state === 'synchronised' || wrong === 'host') return seen
  return NOT_REPORTED
}

function byOffset(offsetUs: bigint, uncertaintyUs: bigint | undefined): ClockState {
  const offMs = certainlyOffMs(offsetUs, uncertaintyUs)
  if (offMs < IN_STEP_MS) return { word: 'In step', off: within(offsetUs, uncertaintyUs), offMs: 0 }
  return { word: offMs < JUMPED_MS ? 'Drifting' : 'Jumped', off: offsetWords(offsetUs), offMs }
}

/** What is left of an offset once the measurement's own error is taken from it, ms. */
export function certainlyOffMs(offsetUs: bigint, uncertaintyUs: bigint | undefined): number {
  const us = size(offsetUs) - (uncertaintyUs ?? 0n)
  return us < 0n ? 0 : Number(us) / 1000
}

const size = (us: bigint): bigint => (us < 0n ? -us : us)

function within(offsetUs: bigint, uncertaintyUs: bigint | undefined): string {
  const us = size(offsetUs)
  const widest = uncertaintyUs !== undefined && uncertaintyUs > us ? uncertaintyUs : us
  return `±${Math.max(1, Math.ceil(Number(widest) / 1000))} ms`
}

/** `320 ms ahead`, `41.2 s behind`, `1 h 5 min behind`. */
export function offsetWords(offsetUs: bigint): string {
  return `${lengthWords(Number(size(offsetUs)) / 1000)} ${offsetUs < 0n ? 'behind' : 'ahead'}`
}

/** `41.2 s behind rack-1`, `1 h ahead of this computer`. */
export const offsetFrom = (offsetUs: bigint, what: string): string =>
  `${offsetWords(offsetUs)}${offsetUs < 0n ? '' : ' of'} ${what}`

function lengthWords(ms: number): string {
  if (ms < 1_000) return `${ms < 1 ? '<1' : Math.round(ms)} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const units = [Math.floor(ms / 86_400_000), Math.floor(ms / 3_600_000) % 24, Math.floor(ms / 60_000) % 60]
  const s = Math.floor(ms / 1000) % 60
  const named = [...units, s].map((n, i) => ({ n, unit: ['d', 'h', 'min', 's'][i] ?? '' }))
  const first = named.findIndex(({ n }) => n > 0)
  return named
    .slice(first, first + 2)
    .filter(({ n }) => n > 0)
    .map(({ n, unit }) => `${n} ${unit}`)
    .join(' ')
}

/** What breaks at this offset, the worst last. Empty = nothing. */
export const breaksAt = (offMs: number): string[] =>
  CLOCK_LIMITS.filter(({ ms }) => offMs >= ms).map(({ breaks }) => breaks)

/** The state as one text: `In step (±2 ms)`. */
export const clockText = ({ word, off }: ClockState): string => (off === '' ? word : `${word} (${off})`)

const BLAME: Record<string, string> = {
  host: 'this host is wrong',
  app: 'this computer is wrong',
  unknown: 'which of the two is wrong is not known',
}

/** `41.2 s behind this computer: this host is wrong`; empty = they agree, or were not compared. */
export function apartWords(clock: HostClockFacts | undefined): string {
  const blame = lookup(BLAME, clock?.wrong ?? '')
  return blame && clock?.appOffsetUs !== undefined ? `${offsetFrom(clock.appOffsetUs, 'this computer')}: ${blame}` : ''
}

/** `chrony from 10.0.0.1, stratum 2`; empty = nothing was named. */
export function sourceWords(
  clock: { daemon: string; source: string; stratum?: number | undefined } | undefined,
): string {
  if (!clock) return ''
  const from = [clock.daemon, clock.source].filter(Boolean).join(' from ')
  return [from, clock.stratum === undefined ? '' : `stratum ${clock.stratum}`].filter(Boolean).join(', ')
}

const CAUSES: Record<string, string> = {
  start: 'when it was first asked',
  resume: 'after it was resumed',
  restore: 'after it was restored',
  stall: 'after it stood still for long',
  host_wake: 'after its host woke',
  offset: 'found off',
  asked: 'asked for by a person',
}

/** What the agent did last about a guest's clock; empty = it had no cause to. */
export function actWords(act: ClockActFacts | undefined): string {
  if (!act) return ''
  const { offsetBeforeUs: before, offsetAfterUs: after } = act
  const cause = lookup(CAUSES, act.cause) ?? act.cause
  const was = before === undefined ? '' : `, was ${offsetWords(before)}`
  const now = after === undefined ? '' : `, then ${offsetWords(after)}`
  const why = act.detail ? `: ${act.detail}` : ''
  if (act.result === '') return `being set (${cause}${was})`
  if (act.means === 'none') return `left alone (${cause}${was})${why}`
  if (act.result !== 'done') return `could not be set (${cause}${was})${why}`
  return `${act.means === 'chrony_burst' ? 'stepped by chrony' : 'set'} (${cause}${was}${now})`
}

const POLICIES: Record<string, string> = {
  auto: 'The host where it can be asked, else network time.',
  'host-only': 'The host alone: where the guest can ask it (KVM), its network time sources are taken away.',
  network: 'Network time in the guest alone; the host never sets it.',
  none: 'Whatever is in the guest; nothing is put in and nothing is set.',
  'windows-standalone': 'The host, through Hyper-V time. For Windows in no domain.',
  'windows-domain': 'The Windows domain. The host never sets it.',
}

/** What a policy means, one sentence; empty for a word this build does not know. */
export const policyWords = (policy: string): string => lookup(POLICIES, policy) ?? ''

/** Said with every change of a policy. */
export const POLICY_NOT_REACHED =
  'The host acts by it from now on. What the guest was given for its clock when it was made stays until it is made anew.'

import { lookup } from '../../../ipc/base/lookup.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { Ca, Certificate, VmTrust } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import type { FilterRecord } from '../../lib/filter.ts'
import { formatDay, formatDuration } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { StateView } from '../../ui/state-word.tsx'

/** From here on a certificate that lives for longer than this counts down. */
const SOON_MS = 14 * 86_400_000
/** One that lives for less counts down in its last fifth. */
const SOON_SHARE = 0.2

export type CaKind = 'user' | 'host'
export const isRetired = ({ state }: Ca): boolean => state === 'retired'

/** The one state word of an authority. */
export function caState(ca: Ca): StateView {
  const problem = printable(ca.problem)
  if (isRetired(ca)) return { word: 'Retired', tone: 'quiet', detail: 'Nothing is signed with it any more' }
  if (problem !== '')
    return { word: ca.state === 'signing' ? 'Cannot sign' : 'Key not usable', tone: 'bad', detail: problem }
  if (ca.state === 'signing') return { word: 'Signing', tone: 'good', detail: 'New certificates are of this one' }
  return { word: 'Trusted', tone: 'quiet', icon: 'key', detail: 'Certificates of it are taken; it signs no new ones' }
}

const KINDS: Record<string, string> = { user: 'people', host: 'guests' }
/** Whose keys it signs. */
export const signsWords = ({ kind }: Pick<Ca, 'kind'>): string => `keys of ${lookup(KINDS, kind) ?? kind}`

const HELD: Record<string, string> = {
  keychain: 'keychain of this computer',
  file: 'file of this app',
  elsewhere: 'elsewhere (public key only)',
}
export const heldWords = ({ held, state, problem }: Ca): string =>
  state === 'retired' && held !== 'elsewhere' && problem === '' ? '–' : (lookup(HELD, held) ?? held)

/** Those in use first, signing before trusted, people's before guests', then by name. */
export function authoritiesInOrder(cas: readonly Ca[]): Ca[] {
  const rank = ({ state, kind }: Ca) =>
    (state === 'retired' ? 4 : state === 'signing' ? 0 : 2) + (kind === 'user' ? 0 : 1)
  return [...cas].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

interface Dated {
  validAfter?: Certificate['validAfter']
  validBefore?: Certificate['validBefore']
  revokedAt?: Certificate['revokedAt']
}

/** The one state word of a certificate. */
export function certificateWord({ validAfter, validBefore, revokedAt }: Dated, nowMs: number): StateView {
  const revoked = msOf(revokedAt)
  if (revoked !== undefined)
    return {
      word: 'Revoked',
      tone: 'bad',
      detail: `since ${formatDay(new Date(revoked))}; guests that hold the newest list refuse it`,
    }
  const from = msOf(validAfter) ?? 0
  const until = msOf(validBefore) ?? 0
  if (nowMs < from)
    return {
      word: 'Not yet valid (check clocks)',
      tone: 'warn',
      detail: `It begins in ${formatDuration(from - nowMs)}: the clock of who made it, or of this computer, is off`,
    }
  const left = until - nowMs
  if (left <= 0) return { word: 'Expired', tone: 'quiet', detail: `${formatDuration(-left)} ago` }
  if (left < Math.min(SOON_MS, (until - from) * SOON_SHARE) || left < 60_000)
    return { word: `Expires in ${formatDuration(left)}`, tone: 'warn' }
  return { word: 'Valid', tone: 'good', detail: `for ${formatDuration(left)} more` }
}

const REVOCATIONS: Record<string, StateView> = {
  current: { word: 'Newest', tone: 'good', detail: 'It refuses every certificate that is revoked' },
  older: { word: 'Older', tone: 'warn', detail: 'It still takes what was revoked since' },
  unreachable: { word: 'Not reached', tone: 'warn', detail: 'It could not be given the newest list' },
  failed: { word: 'Failed', tone: 'bad', detail: 'It did not take the list' },
}

/** Which list of revoked certificates a guest holds. */
export function listState({ revocations, detail }: Pick<VmTrust, 'revocations' | 'detail'>): StateView {
  const known = lookup(REVOCATIONS, revocations)
  if (!known)
    return {
      word: 'Unknown',
      tone: 'unknown',
      detail: 'Its host has not said: guests are given the list while they run',
    }
  const why = printable(detail)
  return why === '' || known.tone === 'good' ? known : { ...known, detail: why }
}

/** Whether people get in by certificate. */
export function entryState({ cutOff, detail }: Pick<VmTrust, 'cutOff' | 'detail'>): StateView {
  if (!cutOff) return { word: 'By certificate', tone: 'good', icon: 'key' }
  return {
    word: 'Cut off',
    tone: 'bad',
    detail: printable(detail) || 'It trusts no CA whose key is here: nobody gets in by a certificate made now',
  }
}

export type CaNames = ReadonlyMap<string, string>
export const caNames = (cas: readonly Ca[]): CaNames => new Map(cas.map(({ fingerprint, name }) => [fingerprint, name]))

/** Name of an authority by its fingerprint; one this fleet does not name by the head of that. */
export const caNameOf = (names: CaNames, fingerprint: string): string =>
  names.get(fingerprint) ?? `${fingerprint.slice(0, 17)}…`

export const GUEST_FILTER_FIELDS = ['vm', 'trusts', 'signed', 'entry', 'list']
export const guestFilterRecord = (guest: VmTrust, names: CaNames): FilterRecord => ({
  vm: guest.vmName,
  trusts: guest.userCas.map((one) => caNameOf(names, one)).join(' '),
  signed: guest.hostCa === '' ? 'none' : caNameOf(names, guest.hostCa),
  entry: entryState(guest).word,
  list: listState(guest).word,
})

/** `46 of 48 guests hold the newest list`. */
export function listProgress(guests: readonly VmTrust[]): string {
  const holds = guests.filter(({ revocations }) => revocations === 'current').length
  return `${holds} of ${guests.length} ${guests.length === 1 ? 'guest holds' : 'guests hold'} the newest list`
}

/** VMs nobody gets into by certificate without this authority, by what their trust says. */
export function cutOffWithout(ca: Ca, cas: readonly Ca[], guests: readonly VmTrust[]): string[] {
  const others = cas.filter((one) => one.kind === ca.kind && one.id !== ca.id && !isRetired(one))
  if (ca.kind === 'host')
    return others.some(({ held }) => held !== 'elsewhere')
      ? []
      : guests.filter(({ hostCa }) => hostCa === ca.fingerprint).map(({ vmName }) => vmName)
  const left = new Set(others.map(({ fingerprint }) => fingerprint))
  return guests
    .filter(({ userCas }) => userCas.includes(ca.fingerprint) && !userCas.some((one) => left.has(one)))
    .map(({ vmName }) => vmName)
}

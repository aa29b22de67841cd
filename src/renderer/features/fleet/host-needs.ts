import { hostClockState, offsetWords } from '../../../ipc/clock-words.ts'
import { printable } from '../../../ipc/fault-text.ts'
import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatAgo, formatDay, formatMemoryBytes, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { type HostTab, hrefOf } from '../../routes.ts'
import { hostFault, hostUse, isCurrent, offeredKey, ownerOf, type Share } from '../hosts/view-model.ts'
import { type Cause, type FleetFacts, type Need, type NeedAct, type NeedObject, need } from './need.ts'

const DAY_MS = 24 * 3600_000
/** A deadline is told this long before. */
export const SOON_MS = 14 * DAY_MS
/** Free disk below a tenth is low, below a fiftieth almost none. */
const LOW_SHARE = 0.1
const FULL_SHARE = 0.02

const objectOf = ({ id, name }: Host): NeedObject => ({
  ...{ kind: 'host', id, name },
  href: hrefOf({ page: 'host', id, tab: 'overview' }),
})

const open = ({ id }: Host, tab: HostTab): NeedAct => ({ kind: 'open', href: hrefOf({ page: 'host', id, tab }) })

/** What of a host needs a person: what keeps it from answering, else what it told of itself. */
export function hostNeeds(host: Host, { nowMs }: Pick<FleetFacts, 'nowMs'>): Need[] {
  const of = (cause: Cause, more: string, act: NeedAct) => need(cause, objectOf(host), more, act)
  if (host.status === 'decommissioning') return []
  const ended = credential(host, nowMs, of)
  if (host.link !== 'connected') return ended.length > 0 ? ended : linkNeeds(host, nowMs, of)
  return [...ended, ...agentNeeds(host, nowMs, of), ...toldNeeds(host, of)]
}

type Of = (cause: Cause, more: string, act: NeedAct) => Need

function linkNeeds(host: Host, nowMs: number, of: Of): Need[] {
  const fault = hostFault(host)
  const why = fault ? windowFaultText(fault.code, fault.params).what : ''
  const keys: NeedAct = offeredKey(host) ? { kind: 'compare-keys', host } : open(host, 'ssh')
  if (fault?.code === 'agent/version-skew') return [of('agent-outdated', why, { kind: 'update-agent', host })]
  switch (host.link) {
    case 'key_changed':
      return [of('key-changed', `This app did not sign in. ${unknownVms(host)}`.trim(), keys)]
    case 'key_not_trusted':
      return [of('key-new', `This app did not sign in. ${unknownVms(host)}`.trim(), keys)]
    case 'sign_in_needed':
      return [of('sign-in', unknownVms(host), { kind: 'sign-in', host })]
    case 'held_by_other':
      return [of('held-by-other', ownerOf(host) ? `By ${ownerOf(host)}.` : '', { kind: 'take-over', host })]
    case 'identity_mismatch':
      return [of('identity-changed', unknownVms(host), open(host, 'agent'))]
    case 'agent_missing':
      return [of('agent-missing', why || unknownVms(host), open(host, 'agent'))]
    default: {
      // The first try of all is no trouble yet; one after a failure is.
      if (host.link === 'connecting' && !fault) return []
      const seen = msOf(host.lastSeenAt)
      const since = seen === undefined ? 'Never seen yet.' : `Last seen ${formatAgo(new Date(seen), new Date(nowMs))}.`
      return [of('unreachable', `${since} ${unknownVms(host)}`.trim(), { kind: 'reconnect', host })]
    }
  }
}

const unknownVms = ({ vms }: Host): string =>
  vms === 0 ? '' : `${plural(vms, 'VM is', 'VMs are')} unknown, not stopped.`

function credential(host: Host, nowMs: number, of: Of): Need[] {
  const ends = msOf(host.credentialEndsAt)
  if (host.credential === 'revoked') return [of('credential-ended', 'It was revoked here.', open(host, 'ssh'))]
  if (ends === undefined || ends - nowMs > SOON_MS) return []
  const day = formatDay(new Date(ends))
  return ends <= nowMs
    ? [of('credential-ended', `Its credential ended on ${day}.`, open(host, 'ssh'))]
    : [of('credential-ending', `Its credential ends on ${day}.`, open(host, 'ssh'))]
}

function agentNeeds(host: Host, nowMs: number, of: Of): Need[] {
  const needs: Need[] = []
  if (host.newerData)
    needs.push(of('newer-data', 'Nothing is sent to it until you decide.', { kind: 'take-over', host }))
  if (host.stale) {
    const seen = msOf(host.lastSeenAt)
    const since = seen === undefined ? '' : `Last report ${formatAgo(new Date(seen), new Date(nowMs))}.`
    needs.push(of('silent-agent', since, open(host, 'agent')))
  }
  if (host.missing.length > 0) needs.push(of('parts-missing', `${host.missing.join(', ')}.`, open(host, 'overview')))
  const outcome = host.upgradeOutcome
  const failed = outcome?.state === 'refused' || outcome?.state === 'rolled_back'
  if (failed && host.upgradeAvailable !== '')
    needs.push(of('upgrade-failed', printable(outcome?.detail ?? ''), open(host, 'agent')))
  else if (host.upgradeAvailable !== '' && !host.pendingUpgrade) {
    const versions = `${host.agentVersion || 'An older one'} there, ${host.upgradeAvailable} here. VMs keep running.`
    needs.push(of('agent-behind', versions, { kind: 'update-agent', host }))
  }
  return needs
}

/** Only what it says now counts: what is last known is nobody's task. */
function toldNeeds(host: Host, of: Of): Need[] {
  if (!isCurrent(host)) return []
  return [...diskNeeds(host, of), ...networkNeeds(host, of), ...clockNeeds(host, of)]
}

function diskNeeds(host: Host, of: Of): Need[] {
  const { disk } = hostUse(host)
  const share = disk && freeShare(disk)
  if (share === undefined || share >= LOW_SHARE) return []
  const free = `${formatMemoryBytes(disk!.total - disk!.used)} of ${formatMemoryBytes(disk!.total)} free.`
  return [of(share < FULL_SHARE ? 'disk-full' : 'disk-low', free, open(host, 'storage'))]
}

const freeShare = ({ used, total }: Share): number | undefined => (total > 0 ? (total - used) / total : undefined)

function networkNeeds(host: Host, of: Of): Need[] {
  const networks: NeedAct = { kind: 'open', href: hrefOf({ page: 'networks' }) }
  const blocks = host.networkFindings.find(({ severity, mended }) => severity === 'blocks' && !mended)
  const down = host.networks.find(({ state }) => state === 'down')
  return [
    ...(blocks ? [of('network-blocked', printable(blocks.effect), networks)] : []),
    ...(down ? [of('network-down', printable(down.detail) || `${down.name} is down.`, networks)] : []),
  ]
}

function clockNeeds(host: Host, of: Of): Need[] {
  const { clock } = host
  if (!clock || clock.stale) return []
  const see: NeedAct = { kind: 'open', href: hrefOf({ page: 'clock', filter: '' }) }
  if (clock.wrong === 'host' && clock.appOffsetUs !== undefined)
    return [of('host-clock', `${offsetWords(clock.appOffsetUs)}. Its guests follow it.`, see)]
  if (hostClockState(clock).word === 'Not synchronised')
    return [of('clock-unkept', 'Guests inherit the error of their host.', see)]
  return []
}

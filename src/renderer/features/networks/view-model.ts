import { lookup } from '../../../ipc/base/lookup.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Network, NetworkAddress, NetworkFinding } from '../../../ipc/gen/eitri/fleet/v1/network_pb.js'
import type { FilterRecord } from '../../lib/filter.ts'
import { formatAgo, formatMoment } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { StateView } from '../../ui/state-word.tsx'
import { isCurrent } from '../hosts/view-model.ts'

/** The one state word of a network. */
export function networkState({ state, detail }: Network): StateView {
  const more = detail === '' ? {} : { detail }
  if (state === 'ready') return { word: 'Ready', tone: 'good', ...more }
  if (state === 'degraded') return { word: 'Limited', tone: 'warn', ...more }
  return state === 'down' ? { word: 'Down', tone: 'bad', ...more } : { word: 'Unknown', tone: 'unknown', ...more }
}

/** The one state word of something a host found on itself. */
export function findingState({ severity, mended }: NetworkFinding): StateView {
  if (mended) return { word: 'Mended', tone: 'good' }
  return severity === 'blocks' ? { word: 'Blocks guests', tone: 'bad' } : { word: 'Warning', tone: 'warn' }
}

const KINDS: Record<string, string> = {
  nat: 'NAT behind this host',
  user: 'inside each hypervisor',
  system: "macOS's own",
  operator: 'bridge of this host',
}
export const kindWords = ({ kind }: Network): string => lookup(KINDS, kind) ?? 'not told'

const SOURCES: Record<string, string> = {
  reservation: 'reserved for it',
  dhcp: "answer of the network's DHCP server",
  leases: 'leases of macOS',
}

export interface AddressRow {
  key: string
  /** Empty = no VM of this fleet. */
  vmId: string
  name: string
  ip: string
  mac: string
  /** Where the address is known from, and since when; empty = it is not known yet. */
  source: string
}

/** By name; those without an address too. */
export function addressRows({ addresses }: Network, nowMs: number): AddressRow[] {
  return addresses
    .map((one) => ({
      key: `${one.vmId} ${one.mac}`,
      vmId: one.vmName === '' ? '' : one.vmId,
      name: one.vmName || `not in this fleet (${one.vmId.slice(0, 8)})`,
      ip: one.ip,
      mac: one.mac,
      source: sourceWords(one, nowMs),
    }))
    .sort((a, b) => a.name.localeCompare(b.name))
}

function sourceWords({ source, seenAt }: NetworkAddress, nowMs: number): string {
  const at = msOf(seenAt)
  const seen = at === undefined ? '' : `seen ${formatAgo(new Date(at), new Date(nowMs))}`
  return [lookup(SOURCES, source) ?? '', seen].filter(Boolean).join(', ')
}

/** What keeps guests of a host from their network now, worst first; what is mended comes last. */
export function findingsOf({ networkFindings }: Host): NetworkFinding[] {
  const rank = ({ severity, mended }: NetworkFinding) => (mended ? 2 : severity === 'blocks' ? 0 : 1)
  return [...networkFindings].sort((a, b) => rank(a) - rank(b))
}

/** Hosts that found something first, mended or not, so that none jumps away under a mend; those that told nothing last. */
export function hostsInOrder(hosts: readonly Host[]): Host[] {
  const rank = ({ networkFindings, networks }: Host) => (networkFindings.length > 0 ? 0 : networks.length > 0 ? 1 : 2)
  return [...hosts].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

export const NETWORK_FILTER_FIELDS = ['host', 'network', 'kind', 'state', 'address', 'finding']

export const networkFilterRecord = (host: Host): FilterRecord => ({
  host: host.name,
  network: host.networks.map(({ name, bridge, cidr }) => `${name} ${bridge} ${cidr}`).join(' '),
  kind: host.networks.map(kindWords).join(' '),
  state: host.networks.map((one) => networkState(one).word).join(' '),
  address: host.networks.flatMap(({ addresses }) => addresses.map(({ ip, vmName }) => `${ip} ${vmName}`)).join(' '),
  finding: host.networkFindings.map((one) => `${one.id} ${findingState(one).word}`).join(' '),
})

/** Since when what is shown of a host may have changed; empty = it is what is, or it never told. */
export function asOfWords(host: Host, nowMs: number): string {
  const at = msOf(host.lastSeenAt)
  return isCurrent(host) || at === undefined || host.networks.length === 0
    ? ''
    : `as of ${formatMoment(new Date(at), new Date(nowMs))}`
}

/** What a look at a host found, in one sentence. */
export function foundWords(host: string, findings: readonly NetworkFinding[]): string {
  const open = findings.filter(({ mended }) => !mended)
  const blocks = open.filter(({ severity }) => severity === 'blocks').length
  if (open.length === 0) return `Nothing keeps guests of ${host} from their network`
  const warns = open.length - blocks
  const parts = [
    blocks > 0 ? `${blocks} ${blocks === 1 ? 'thing blocks' : 'things block'} guests` : '',
    warns > 0 ? `${warns} ${warns === 1 ? 'warning' : 'warnings'}` : '',
  ]
  return `${host}: ${parts.filter(Boolean).join(', ')}`
}

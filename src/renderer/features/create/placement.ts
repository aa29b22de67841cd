import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatGib, formatMemory, plural } from '../../lib/format.ts'
import { capacityOf, type Pool } from '../fleet/capacity.ts'
import { isCurrent, isEmulating, shareOf } from '../hosts/view-model.ts'

export interface Need {
  vcpus: number
  memMb: number
  diskGb: number
  /** Of the image, or of all that is a default; empty = not known. */
  archs: readonly string[]
  /** Of an operator; empty = none. */
  network: string
}

export interface Free {
  vcpus: number
  memMb: number
  diskGb: number
}

export interface Place {
  host: Host
  /** Not promised to VMs yet; undefined = it never told what it has. */
  free: Free | undefined
  /** Why nothing can be made there. */
  refused: string | undefined
  /** What to know before it is. */
  caution: string | undefined
}

/** Guests share the processors of a host; the control plane refuses more than this of them. */
const VCPUS_PER_CPU = 8

/** Each host as a place for this VM, those that take it first, by free memory. */
export function placesFor(hosts: readonly Host[], need: Need): Place[] {
  const rank = ({ refused, caution }: Place) => (refused ? 2 : caution ? 1 : 0)
  return hosts
    .map((host) => placeOn(host, need))
    .sort(
      (a, b) =>
        rank(a) - rank(b) || (b.free?.memMb ?? -1) - (a.free?.memMb ?? -1) || (a.host.name < b.host.name ? -1 : 1),
    )
}

export function placeOn(host: Host, need: Need): Place {
  const free = freeOf(host)
  return { host, free, refused: refusalOf(host, need), caution: cautionOf(host, need, free) }
}

function freeOf(host: Host): Free | undefined {
  const [vcpus, memMb, diskGb] = [shareOf(host, 'vcpus'), shareOf(host, 'memMb'), shareOf(host, 'diskGb')]
  if (!vcpus || !memMb || !diskGb) return undefined
  return { vcpus: vcpus.total - vcpus.used, memMb: memMb.total - memMb.used, diskGb: diskGb.total - diskGb.used }
}

function refusalOf(host: Host, need: Need): string | undefined {
  const { capacity } = host
  if (host.status === 'decommissioning') return 'It is being removed'
  if (host.draining !== '') return 'It is being drained and takes no new VMs'
  if (!runs(host, need)) return `It is ${host.arch}, and the image is for ${need.archs.join(' and ')}`
  if (need.network !== '' && host.link === 'connected' && !host.hostNetworks.includes(need.network))
    return `It does not serve the network ${need.network}`
  if (capacity && capacity.memMb > 0n && need.memMb > Number(capacity.memMb))
    return `It has ${formatMemory(capacity.memMb)} of memory in all`
  if (capacity && capacity.vcpus > 0 && need.vcpus > capacity.vcpus * VCPUS_PER_CPU)
    return `It has ${plural(capacity.vcpus, 'CPU')}, and takes ${VCPUS_PER_CPU} vCPUs a CPU`
  return undefined
}

const runs = ({ arch }: Host, { archs }: Need) => archs.length === 0 || arch === '' || archs.includes(arch)

function cautionOf(host: Host, need: Need, free: Free | undefined): string | undefined {
  if (host.newerData) return 'Its data is newer than this app’s: nothing is sent to it'
  if (host.link !== 'connected') return 'Not connected now: the VM waits for it'
  if (!isCurrent(host)) return 'It has not reported for a while'
  if (!free) return 'It has not told what it has'
  if (isEmulating(host)) return 'No KVM: several times slower'
  if (need.memMb > free.memMb) return `Promises more memory than it has: ${formatMemory(Math.max(0, free.memMb))} left`
  if (need.diskGb > free.diskGb) return `Promises more disk than it has: ${formatGib(Math.max(0, free.diskGb))} left`
  return undefined
}

export interface Picked {
  place: Place
  why: string
}

/** The host the control plane would take now, as it chooses: of those that can run the image, serve the network and answer, the one with most free memory. */
export function pickFor(hosts: readonly Host[], need: Need): Picked | undefined {
  const accepting = hosts.filter(({ status, draining }) => status !== 'decommissioning' && draining === '')
  const fitting = someOf(accepting, (host) => runs(host, need))
  const able = someOf(fitting, ({ hostNetworks }) => need.network === '' || hostNetworks.includes(need.network))
  const answering = able.filter(isCurrent)
  const among = answering.length > 0 ? answering : able
  const freeMem = (host: Host) => shareOf(host, 'memMb')
  const left = (host: Host) => {
    const share = freeMem(host)
    return share ? share.total - share.used : -1
  }
  const [best] = [...among].sort((a, b) => left(b) - left(a) || (a.name < b.name ? -1 : 1))
  if (!best) return undefined
  const place = placeOn(best, need)
  return { place, why: whyPicked(best, { hosts, among, answering, left: left(best) }) }
}

/** Those of which it is true; all of them when it is true of none, so that what is wrong is said of a host. */
function someOf(hosts: Host[], isTrue: (host: Host) => boolean): Host[] {
  const some = hosts.filter(isTrue)
  return some.length > 0 ? some : hosts
}

function whyPicked(
  best: Host,
  {
    hosts,
    among,
    answering,
    left,
  }: { hosts: readonly Host[]; among: readonly Host[]; answering: readonly Host[]; left: number },
): string {
  if (hosts.length === 1) return 'the only host'
  if (answering.length === 0) return 'no host answers now'
  if (among.length === 1) return `the only host that ${best.link === 'connected' ? 'answers and takes it' : 'takes it'}`
  return `most memory free: ${formatMemory(Math.max(0, left))}`
}

/** A host with this VM on it: what is in use now, what it then has promised, and what is left of it. Empty = it has not told what it has. */
export function whatStays({ host }: Place, need: Pick<Need, 'vcpus' | 'memMb' | 'diskGb'>): Pool[] {
  if (!host.capacity) return []
  const added: Record<Pool['what'], number> = { vCPU: need.vcpus, Memory: need.memMb, Disk: need.diskGb }
  return capacityOf([host]).pools.map((pool) => ({ ...pool, promised: pool.promised + added[pool.what] }))
}

/** Who reaches a guest that publishes nothing, by the networks its host gives it. */
export function reachWords(host: Host | undefined, network: string): string {
  const kind = host?.networks.find(({ name }) => name === 'guests')?.kind
  const also = network === '' ? '' : ` On ${network} it has an address of its own.`
  if (kind === 'user')
    return `None: in user-mode networking no address leads to the VM, not even on its host. Its console and its shell work.${also}`
  return `None: ${kind === 'nat' ? 'the VM is reachable from its host alone' : 'nothing beyond its host reaches the VM'}.${also}`
}

import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatGib, formatMemory, plural } from '../../lib/format.ts'
import { isCurrent, shareOf } from '../hosts/view-model.ts'

export interface Need {
  vcpus: number
  memMb: number
  diskGb: number
  /** Of the image; empty = not known. */
  arch: string
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
  if (need.arch !== '' && host.arch !== '' && host.arch !== need.arch)
    return `It is ${host.arch}, and the image is for ${need.arch}`
  if (need.network !== '' && host.link === 'connected' && !host.hostNetworks.includes(need.network))
    return `It does not serve the network ${need.network}`
  if (capacity && capacity.memMb > 0n && need.memMb > Number(capacity.memMb))
    return `It has ${formatMemory(capacity.memMb)} of memory in all`
  if (capacity && capacity.vcpus > 0 && need.vcpus > capacity.vcpus * VCPUS_PER_CPU)
    return `It has ${plural(capacity.vcpus, 'CPU')}, and takes ${VCPUS_PER_CPU} vCPUs a CPU`
  return undefined
}

function cautionOf(host: Host, need: Need, free: Free | undefined): string | undefined {
  if (host.newerData) return 'Its data is newer than this app’s: nothing is sent to it'
  if (host.link !== 'connected') return 'Not connected now: the VM waits for it'
  if (!isCurrent(host)) return 'It has not reported for a while'
  if (!free) return 'It has not told what it has'
  if (need.memMb > free.memMb) return `Promises more memory than it has: ${formatMemory(Math.max(0, free.memMb))} left`
  if (need.diskGb > free.diskGb) return `Promises more disk than it has: ${formatGib(Math.max(0, free.diskGb))} left`
  return undefined
}

export interface Picked {
  place: Place
  why: string
}

/** The host the control plane would take now, as it chooses: of those that answer, the one with most free memory. */
export function pickFor(hosts: readonly Host[], need: Need): Picked | undefined {
  const accepting = hosts.filter(({ status, draining }) => status !== 'decommissioning' && draining === '')
  const serving = accepting.filter(({ hostNetworks }) => need.network === '' || hostNetworks.includes(need.network))
  const able = serving.length > 0 ? serving : accepting
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

/** What stays of a host once the VM is promised: `6 of 16 vCPUs`. */
export function whatStays(
  place: Place,
  need: Pick<Need, 'vcpus' | 'memMb' | 'diskGb'>,
): { label: string; text: string; over: boolean }[] {
  const { capacity } = place.host
  if (!place.free || !capacity) return []
  const { vcpus, memMb, diskGb } = place.free
  const row = (label: string, left: number, total: number, format: (n: number) => string) => ({
    label,
    text: left < 0 ? `${format(-left)} more promised than there is` : `${format(left)} of ${format(total)}`,
    over: left < 0,
  })
  return [
    row('vCPUs', vcpus - need.vcpus, capacity.vcpus, String),
    row('Memory', memMb - need.memMb, Number(capacity.memMb), formatMemory),
    row('Disk', diskGb - need.diskGb, Number(capacity.diskGb), formatGib),
  ]
}

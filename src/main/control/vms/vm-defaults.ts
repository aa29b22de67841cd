import { randomBytes } from 'node:crypto'
import { Fault } from '../../../ipc/faults.ts'
import type { CreateVmRequest } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type Checked, check, DEFAULT_SIZE } from '../../../ipc/rules.ts'
import type { ImageFormat, ImageRow } from '../store/images-store.ts'

/** A host as the choice sees it. */
export interface HostCandidate {
  id: string
  name: string
  /** It takes new VMs. */
  accepting: boolean
  /** Why it does not. Absent = it is being removed. */
  draining?: boolean
  answering: boolean
  /** x86_64 or aarch64; empty = never told. */
  arch: string
  /** MiB not committed; absent = capacity never told. */
  freeMemMb?: number
  /** What it has for VMs together; absent = never told. */
  capacity?: { vcpus: number; memMb: number }
  /** The one its agent uses; empty or absent = not known. */
  backend?: string
  /** Operator networks it serves; absent = not known now. */
  networks?: readonly string[]
}

/** What a VM asks of its host; empty = nothing. */
interface HostWish {
  network?: string
  /** Its image is for these. */
  archs?: readonly string[]
}

/** The one named, the only one, or among those that can run it, serve the network and answer the one with most free memory. Raises host/none, host/not-found, host/not-accepting. */
export function chooseHost(
  hosts: readonly HostCandidate[],
  wanted: string,
  { network = '', archs = [] }: HostWish = {},
): HostCandidate {
  if (wanted !== '') {
    const host = hosts.find((h) => h.name === wanted) ?? hosts.find((h) => h.id === wanted)
    if (!host) throw new Fault('host/not-found', 'permanent', { host: wanted })
    if (!host.accepting) throw notAccepting(host)
    return host
  }
  const wishes: ((h: HostCandidate) => boolean)[] = [
    (h) => archs.length === 0 || h.arch === '' || archs.includes(h.arch),
    (h) => network === '' || (h.networks?.includes(network) ?? false),
    (h) => h.answering,
  ]
  const able = wishes.reduce(
    someOf,
    hosts.filter((h) => h.accepting),
  )
  const [best] = able.toSorted((a, b) => (b.freeMemMb ?? -1) - (a.freeMemMb ?? -1) || (a.name < b.name ? -1 : 1))
  if (!best) throw hosts[0] ? notAccepting(hosts[0]) : new Fault('host/none', 'permanent')
  return best
}

/** Those of which it is true; all of them when it is true of none, so that what is wrong is said of a host. */
function someOf(hosts: HostCandidate[], isTrue: (host: HostCandidate) => boolean): HostCandidate[] {
  const some = hosts.filter(isTrue)
  return some.length > 0 ? some : hosts
}

const notAccepting = ({ name, draining }: HostCandidate): Fault =>
  new Fault('host/not-accepting', 'permanent', { host: name, ...(draining ? { why: 'draining' } : {}) })

export interface ImageChoice {
  url: string
  sha256: string
  kind: 'disk' | 'kernel'
  /** Empty = by its content. */
  format: ImageFormat
  defaults: { vcpus: number; memMb: number; diskGb: number }
}

export const NO_OPINION = { vcpus: 0, memMb: 0, diskGb: 0 } as const

export interface ImageSource {
  resolve(nameOrId: string): ImageRow
  findDefault(arch: string): ImageRow | undefined
}

const ARCHS = ['x86_64', 'aarch64']

/** What a host has to be for the image that is asked for; empty = that is not known. Raises image/not-found. */
export function archsOf(request: Pick<CreateVmRequest, 'image' | 'imageUrl'>, images: ImageSource): string[] {
  if (request.image !== '') return [images.resolve(request.image).arch]
  return request.imageUrl === '' ? ARCHS.filter((arch) => images.findDefault(arch)) : []
}

/** By name, by URL and digest, or the default of the host's architecture. Raises image/none-default, image/not-found, input/invalid. */
export function chooseImage(
  request: Pick<CreateVmRequest, 'image' | 'imageUrl' | 'imageSha256'>,
  images: ImageSource,
  host: HostCandidate,
): ImageChoice {
  if (request.image === '' && (request.imageUrl !== '' || request.imageSha256 !== '')) {
    const { imageUrl: url, imageSha256: sha256 } = request
    return { url, sha256, kind: 'disk', format: '', defaults: NO_OPINION }
  }
  const arch = host.arch || 'x86_64'
  const image = request.image === '' ? images.findDefault(arch) : images.resolve(request.image)
  if (!image) throw new Fault('image/none-default', 'permanent', { arch })
  if (host.arch !== '' && image.arch !== host.arch) {
    const problem = `it is for ${image.arch}, ${host.name} is ${host.arch}`
    throw new Fault('input/invalid', 'permanent', { field: 'image', problem, value: image.name })
  }
  return {
    url: image.url,
    sha256: image.sha256,
    kind: image.kind,
    format: image.format,
    defaults: { vcpus: image.defaultVcpus, memMb: image.defaultMemMb, diskGb: image.defaultDiskGb },
  }
}

export type CheckedCreate = Checked<'createVm'>

/** `sandbox-` and six hex characters. */
export const freshName = (): string => `sandbox-${randomBytes(3).toString('hex')}`

/** Empty and zero become defaults first, then the rules judge. Raises input/invalid. */
export function withDefaults(request: CreateVmRequest, defaults: ImageChoice['defaults']): CheckedCreate {
  return check('createVm', {
    ...request,
    name: request.name || freshName(),
    vcpus: request.vcpus || defaults.vcpus || DEFAULT_SIZE.vcpus,
    memMb: request.memMb || defaults.memMb || DEFAULT_SIZE.memMb,
    diskGb: request.diskGb || defaults.diskGb || DEFAULT_SIZE.diskGb,
    power: request.power || 'running',
  })
}

/** Raises vm/network-unknown when the host is known not to serve it. */
export function checkNetwork(network: string, host: HostCandidate): void {
  if (network === '' || !host.networks || host.networks.includes(network)) return
  throw new Fault('vm/network-unknown', 'permanent', { host: host.name, network, has: host.networks.join(', ') })
}

/** Guests share the processors of a host; more than this of them is a slip. */
const VCPUS_PER_CPU = 8

/** What the host can never give, said before anything is stored; what is not known of it is not judged. Raises vm/too-large and vmm/missing. */
export function checkFits(
  vm: { name: string; vcpus: number; memMb: number; backend: string },
  host: HostCandidate,
): void {
  const { capacity, backend: has } = host
  if (vm.backend !== '' && has && has !== vm.backend)
    throw new Fault('vmm/missing', 'permanent', { host: host.name, backend: vm.backend, has })
  if (!capacity) return
  const tooLarge = (what: string, params: Record<string, string>) =>
    new Fault('vm/too-large', 'permanent', { vm: vm.name, host: host.name, what, ...params })
  if (capacity.memMb > 0 && vm.memMb > capacity.memMb)
    throw tooLarge('memory', { wanted: `${vm.memMb} MiB`, has: `${capacity.memMb} MiB` })
  const most = capacity.vcpus * VCPUS_PER_CPU
  if (capacity.vcpus > 0 && vm.vcpus > most)
    throw tooLarge('processors', { wanted: String(vm.vcpus), has: String(capacity.vcpus), most: String(most) })
}

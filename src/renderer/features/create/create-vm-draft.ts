import { type ClockPolicy, clockPolicyOf } from '../../../ipc/clock-policy.ts'
import type { Finding } from '../../../ipc/cloud-init/finding.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Template } from '../../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { DEFAULT_SIZE, type Problem, problemsOf } from '../../../ipc/rules.ts'
import { GiB } from '../../../ipc/units.ts'
import { formatGib } from '../../lib/format.ts'
import { labelsText, parseLabels } from '../vms/labels-text.ts'
import { refusalText } from './cloud-init-text.ts'

/** The create form as it is typed: numbers stay text until they are checked. */
export interface CreateVmDraft {
  name: string
  /** Host id; empty = picked by free memory. */
  host: string
  /** Image id; empty = the default. */
  image: string
  vcpus: string
  memMb: string
  diskGb: string
  sshKeys: string
  cloudInit: string
  /** Of the host's operator, for a second NIC; empty = none. */
  network: string
  autostart: boolean
  clockPolicy: ClockPolicy
  protected: boolean
  /** As a person writes them: `app=shop, prod`. */
  labels: string
  /** Published once the VM is made. */
  ports: PortWish[]
  /** Name of the one it began with, whose user-data it takes where it has none; empty = none. */
  template: string
  /** Kept as a template of this name once it is made; empty = not kept. */
  saveAs: string
  /** Chosen here, so that asking again makes it once. */
  vmId: string
}

/** A port to publish; numbers stay text until they are checked. */
export interface PortWish {
  guestPort: string
  /** Empty = the next free one. */
  hostPort: string
  protocol: 'tcp' | 'udp'
}

export const EMPTY_WISH: PortWish = { guestPort: '', hostPort: '', protocol: 'tcp' }
const MOST_WISHES = 16

export interface Sizes {
  vcpus: number
  memMb: number
  diskGb: number
}

/** What an empty size field means for this image. */
export function defaultSizes(image: Image | undefined): Sizes {
  return {
    vcpus: image?.defaultVcpus || DEFAULT_SIZE.vcpus,
    memMb: image?.defaultMemMb || DEFAULT_SIZE.memMb,
    diskGb: image?.defaultDiskGb || DEFAULT_SIZE.diskGb,
  }
}

const sizeOf = (text: string, otherwise: number) => (text.trim() === '' ? otherwise : Number(text))

export const keysOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The request as the rules check it, defaults applied. */
export function checkedShape(draft: CreateVmDraft, image: Image | undefined) {
  const sizes = defaultSizes(image)
  return {
    name: draft.name,
    host: draft.host,
    image: draft.image,
    imageUrl: '',
    imageSha256: '',
    vcpus: sizeOf(draft.vcpus, sizes.vcpus),
    memMb: sizeOf(draft.memMb, sizes.memMb),
    diskGb: sizeOf(draft.diskGb, sizes.diskGb),
    cloudInit: new TextEncoder().encode(draft.cloudInit),
    sshAuthorizedKeys: keysOf(draft.sshKeys),
    network: draft.network,
    backend: '',
    power: 'running',
    labels: parseLabels(draft.labels),
    vmId: draft.vmId,
    template: draft.template,
    clockPolicy: draft.clockPolicy,
  }
}

/** What is wrong with it now, one problem a field: the API's rules first, then what only the fleet and the text can say. */
export function createVmProblems(
  draft: CreateVmDraft,
  image: Image | undefined,
  taken: ReadonlySet<string>,
  found: readonly Finding[],
  networks: readonly string[] = [],
): Problem[] {
  const problems = problemsOf('createVm', checkedShape(draft, image)).map((p) => ({
    ...p,
    problem: p.problem.replace(/\b(mem_mb|disk_gb|vcpus)\b/, (wire) => FORM_WORDS[wire] ?? wire),
  }))
  const leastGb = image?.virtualBytes === undefined ? 0 : Number(image.virtualBytes) / GiB
  if (checkedShape(draft, image).diskGb < leastGb && !problems.some(({ field }) => field === 'disk_gb'))
    problems.push({ field: 'disk_gb', problem: `the disk of the image has ${formatGib(leastGb)}, and is never shrunk` })
  if (taken.has(draft.name)) problems.push({ field: 'name', problem: 'this name is in use' })
  if (draft.network !== '' && !networks.includes(draft.network))
    problems.push({
      field: 'network',
      problem: draft.host === '' ? 'no host serves it now' : 'that host does not serve it',
    })
  problems.push(...draft.ports.flatMap(portProblem))
  if (draft.ports.length > MOST_WISHES) problems.push({ field: 'ports', problem: `at most ${MOST_WISHES} at once` })
  const template =
    draft.saveAs === '' ? [] : problemsOf('createTemplate', { name: draft.saveAs, vm: 'x', description: '' })
  problems.push(...template.map(({ problem }) => ({ field: 'save_as', problem })))
  const cloudInit = refusalText(found)
  if (cloudInit) problems.push({ field: 'cloud_init', problem: cloudInit })
  return problems
}

function portProblem({ guestPort, hostPort }: PortWish, index: number, all: PortWish[]): Problem[] {
  const field = `ports.${index}`
  const isPort = (text: string) => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
  if (guestPort === '' && hostPort === '') return []
  if (!isPort(guestPort)) return [{ field, problem: 'a port of the guest is a number from 1 to 65535' }]
  if (hostPort !== '' && !isPort(hostPort))
    return [{ field, problem: 'a port of the host is a number from 1 to 65535' }]
  const same = all.slice(0, index).some((one) => one.hostPort === hostPort && one.protocol === all[index]?.protocol)
  return hostPort !== '' && same ? [{ field, problem: `port ${hostPort} is asked for twice` }] : []
}

/** Those that are filled in, as the API takes them. */
export const wishedPorts = (draft: CreateVmDraft) =>
  draft.ports
    .filter(({ guestPort }) => guestPort !== '')
    .map(({ guestPort, hostPort, protocol }) => ({
      guestPort: Number(guestPort),
      hostPort: Number(hostPort || 0),
      protocol,
      scope: 'lan',
    }))

/** The wire names inside shared rule texts, as the form calls them. */
const FORM_WORDS: Record<string, string> = { mem_mb: 'memory', disk_gb: 'disk', vcpus: 'vCPUs' }

/** Networks a VM can have a second NIC on: of that host, or of any when none is chosen. */
export function networksOf(hosts: readonly Pick<Host, 'id' | 'hostNetworks'>[], hostId: string): string[] {
  const offering = hosts.filter(({ id }) => hostId === '' || id === hostId)
  return [...new Set(offering.flatMap(({ hostNetworks }) => hostNetworks))].sort()
}

/** A name that is free: `vm-1`, `vm-2`, … */
export function freeName(taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) if (!taken.has(`vm-${n}`)) return `vm-${n}`
}

const ID_BYTES = 16

/** 32 hex characters nobody else has. */
export const newVmId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(ID_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** What the page begins with. */
export const emptyDraft = (name: string): CreateVmDraft => ({
  ...{
    name,
    host: '',
    image: '',
    vcpus: '',
    memMb: '',
    diskGb: '',
    sshKeys: '',
    cloudInit: '',
    network: '',
    labels: '',
  },
  ...{ autostart: true, clockPolicy: 'auto', protected: false, ports: [], template: '', saveAs: '', vmId: '' },
})

/** What a template says of the form; without one the form says it all itself again. */
export function fromTemplate(template: Template | undefined, images: readonly Image[]): Partial<CreateVmDraft> {
  if (!template) return { template: '' }
  const size = (n: number) => (n > 0 ? String(n) : '')
  return {
    template: template.name,
    image: images.find(({ name }) => name === template.image)?.id ?? '',
    ...{ vcpus: size(template.vcpus), memMb: size(template.memMb), diskGb: size(template.diskGb) },
    ...{
      network: template.network,
      labels: labelsText(template.labels),
      clockPolicy: clockPolicyOf(template.clockPolicy),
    },
    ...{ autostart: template.autostart, protected: template.protected },
  }
}

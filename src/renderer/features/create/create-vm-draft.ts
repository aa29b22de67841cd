import type { ClockPolicy } from '../../../ipc/clock-policy.ts'
import type { Finding } from '../../../ipc/cloud-init/finding.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { DEFAULT_SIZE, type Problem, problemsOf } from '../../../ipc/rules.ts'
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
}

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
    labels: {},
    vmId: '',
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
  if (taken.has(draft.name)) problems.push({ field: 'name', problem: 'this name is in use' })
  if (draft.network !== '' && !networks.includes(draft.network))
    problems.push({
      field: 'network',
      problem: draft.host === '' ? 'no host serves it now' : 'that host does not serve it',
    })
  const cloudInit = refusalText(found)
  if (cloudInit) problems.push({ field: 'cloud_init', problem: cloudInit })
  return problems
}

/** The wire names inside shared rule texts, as the form calls them. */
const FORM_WORDS: Record<string, string> = { mem_mb: 'memory', disk_gb: 'disk', vcpus: 'vCPUs' }

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/
const quote = (word: string) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** The same request as a command line; what only fits in a file is named as one. */
export function createVmCli(draft: CreateVmDraft, names: { host: string; image: string }): string {
  const words = ['eitri', 'vm', 'create', draft.name || 'NAME']
  const add = (flag: string, value: string) => value.trim() !== '' && words.push(flag, value.trim())
  add('--host', names.host)
  add('--image', names.image)
  add('--vcpus', draft.vcpus)
  add('--mem-mb', draft.memMb)
  add('--disk-gb', draft.diskGb)
  if (keysOf(draft.sshKeys).length > 0) words.push('--ssh-key', `${draft.name || 'NAME'}.pub`)
  if (draft.cloudInit !== '') words.push('--cloud-init', `${draft.name || 'NAME'}.yaml`)
  add('--network', draft.network)
  if (draft.autostart) words.push('--autostart')
  if (draft.clockPolicy !== 'auto') words.push('--clock-policy', draft.clockPolicy)
  return words.map(quote).join(' ')
}

/** Networks a VM can have a second NIC on: of that host, or of any when none is chosen. */
export function networksOf(hosts: readonly Pick<Host, 'id' | 'hostNetworks'>[], hostId: string): string[] {
  const offering = hosts.filter(({ id }) => hostId === '' || id === hostId)
  return [...new Set(offering.flatMap(({ hostNetworks }) => hostNetworks))].sort()
}

/** A name that is free: `vm-1`, `vm-2`, … */
export function freeName(taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) if (!taken.has(`vm-${n}`)) return `vm-${n}`
}

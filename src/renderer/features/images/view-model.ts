import type { CatalogueImage, HostCollection, Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { FilterRecord } from '../../lib/filter.ts'
import { formatBytes } from '../../lib/format.ts'

/** What stands for the digest of an image: a word for the list, and how it came to be. */
export interface Trusted {
  word: string
  how: string
  tone: 'good' | 'info' | 'quiet'
}

/** How the digest was verified, in words; hosts check every byte against it in any case. */
export function trustedBy({ verified, digestsUrl }: Pick<Image, 'verified' | 'digestsUrl'>): Trusted {
  switch (verified) {
    case 'listed':
      return {
        word: 'by its publisher',
        how: `Its SHA-256 was read from ${digestsUrl} over TLS when it was added.`,
        tone: 'good',
      }
    case 'checked':
      return {
        word: 'by its publisher',
        how: `Its bytes match the SHA-512 of ${digestsUrl}, read over TLS; the SHA-256 was computed from the same bytes.`,
        tone: 'good',
      }
    case 'built':
      return { word: 'built here', how: 'Its SHA-256 was computed here when it was built from packages.', tone: 'good' }
    case 'imported':
      return {
        word: 'from a file',
        how: 'Its SHA-256 was computed here from the file it came from; nobody vouches for that file.',
        tone: 'info',
      }
    case 'given':
      return { word: 'as given', how: 'Its SHA-256 is the one a person gave when it was added.', tone: 'info' }
    default:
      return { word: 'not noted', how: 'It was added before it was noted where its digest comes from.', tone: 'quiet' }
  }
}

/** What it really is by its bytes, as far as that is known. */
export const formatText = ({ kind, format }: Pick<Image, 'kind' | 'format'>): string =>
  kind === 'kernel' ? 'kernel' : format || 'qcow2 or raw'

export const sourceText = ({ url }: Pick<Image, 'url'>): string =>
  url === '' ? 'kept here' : (URL.parse(url)?.host ?? url)

export const IMAGE_FILTER_FIELDS = ['name', 'os', 'arch', 'format', 'digest', 'from', 'host', 'used'] as const

/** `hostName` answers the name of a host that has it. */
export const imageFilterRecord = (image: Image, hostName: (id: string) => string): FilterRecord => ({
  name: image.name,
  os: image.os,
  arch: image.arch,
  format: formatText(image),
  digest: `${trustedBy(image).word} ${image.sha256}`,
  from: sourceText(image),
  host: image.cachedOn.map(hostName).join(' '),
  used: image.usedBy > 0 ? 'yes' : 'no',
})

/** VMs made of these bytes, those in quarantine too; sorted by name. */
export const usersOf = (image: Image, vms: Iterable<Vm>): Vm[] =>
  [...vms]
    .filter((vm) => !vm.unowned && (vm.imageSha256 === image.sha256 || vm.imageName === image.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))

export interface CatalogueGroup {
  title: string
  description: string
  entries: CatalogueImage[]
}

/** Entries of one system together, those for the architectures of this fleet first. */
export function catalogueGroups(entries: readonly CatalogueImage[], arches: ReadonlySet<string>): CatalogueGroup[] {
  const groups = new Map<string, CatalogueGroup>()
  for (const entry of entries) {
    const group = groups.get(entry.title) ?? { title: entry.title, description: entry.description, entries: [] }
    group.entries.push(entry)
    groups.set(entry.title, group)
  }
  const rank = ({ arch }: CatalogueImage) => (arches.has(arch) ? 0 : 1)
  return [...groups.values()].map((group) => ({
    ...group,
    entries: group.entries.toSorted((a, b) => rank(a) - rank(b)),
  }))
}

export const aboutText = ({ aboutBytes }: Pick<CatalogueImage, 'aboutBytes'>): string =>
  aboutBytes === 0n ? 'size not known' : `about ${formatBytes(aboutBytes)}`

/** Whether its publisher lists SHA-512 alone, so that it comes to this computer first. */
export const comesHere = ({ digestsUrl }: Pick<CatalogueImage, 'digestsUrl'>): boolean =>
  digestsUrl.endsWith('SHA512SUMS')

/** What a collection takes of all hosts together. */
export function collectionSum(hosts: readonly HostCollection[]): { items: number; bytes: bigint; silent: number } {
  const removed = hosts.flatMap((host) => host.removed)
  return {
    items: removed.length,
    bytes: removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0n),
    silent: hosts.filter(({ fault }) => fault !== undefined).length,
  }
}

/** The newest task that brings an image, running or past. */
export const imageTask = (tasks: readonly Task[]): Task | undefined =>
  tasks.filter(({ kind }) => kind === 'build_image' || kind === 'add_image' || kind === 'import_image').at(-1)

import { childrenOf, parseXml, type Xml } from './xml.ts'

/** What an OVF says of the one VM in it, as far as it is taken from there. */
export interface Ovf {
  /** Name of the disk's file beside it. */
  disk: string
  /** 0 = it does not say, or nothing sensible. */
  vcpus: number
  /** MiB; 0 = as above. */
  memMb: number
}

const CPU = '3'
const MEMORY = '4'
const MAX_VCPUS = 256
const MAX_MEM_MB = 4 * 1024 * 1024

/** Throws Error that says what is wrong: it is no OVF of one VM with one disk that stands alone. */
export function parseOvf(text: string): Ovf {
  const root = parseXml(text)
  if (root.name !== 'Envelope') throw new Error('it is no OVF description')
  const systems = virtualSystems(root)
  if (systems.length !== 1) throw new Error(`it holds ${systems.length} VMs, and one is taken at a time`)
  const disks = childrenOf(root, 'DiskSection').flatMap((section) => childrenOf(section, 'Disk'))
  if (disks.length !== 1)
    throw new Error(disks.length === 0 ? 'it has no disk' : `it has ${disks.length} disks, and a VM here has one`)
  return { disk: fileOf(root, disks[0]!), ...hardwareOf(systems[0]!) }
}

function virtualSystems(element: Xml): Xml[] {
  const collections = childrenOf(element, 'VirtualSystemCollection')
  return [...childrenOf(element, 'VirtualSystem'), ...collections.flatMap(virtualSystems)]
}

function fileOf(root: Xml, { attributes: disk }: Xml): string {
  const files = childrenOf(root, 'References').flatMap((references) => childrenOf(references, 'File'))
  if (disk['parentRef'] !== undefined) throw new Error('its disk needs another one')
  const file = files.find(({ attributes }) => attributes['id'] === disk['fileRef'])?.attributes
  if (disk['fileRef'] === undefined || !file) throw new Error('its disk is empty, or the file of it is not named')
  const { href = '', compression = 'identity' } = file
  if (file['chunkSize'] !== undefined) throw new Error('its disk is split into several files')
  if (compression !== 'identity' && compression !== '')
    throw new Error(`its disk is compressed (${compression.slice(0, 20)})`)
  if (!isPlainName(href)) throw new Error('its disk is not a file beside it')
  return href
}

/** A name that can be no way out of the archive. */
export const isPlainName = (name: string): boolean =>
  /^[^/\\:\0-\x1f\x7f]{1,255}$/.test(name) && name !== '.' && name !== '..'

function hardwareOf(system: Xml): { vcpus: number; memMb: number } {
  const items = childrenOf(system, 'VirtualHardwareSection').flatMap((section) => childrenOf(section, 'Item'))
  const textOf = (item: Xml, name: string) => childrenOf(item, name)[0]?.text ?? ''
  const of = (type: string) => items.find((item) => textOf(item, 'ResourceType') === type)
  const [cpu, memory] = [of(CPU), of(MEMORY)]
  const vcpus = cpu ? wholeNumber(textOf(cpu, 'VirtualQuantity')) : 0
  const amount = memory ? wholeNumber(textOf(memory, 'VirtualQuantity')) : 0
  const memMb = memory ? Math.ceil((amount * unitOf(textOf(memory, 'AllocationUnits'))) / 2 ** 20) : 0
  return { vcpus: within(vcpus, MAX_VCPUS), memMb: within(memMb, MAX_MEM_MB) }
}

const wholeNumber = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : 0)
const within = (value: number, most: number): number => (value <= most ? value : 0)

/** Bytes of one unit; without one memory is in MiB. 0 = a unit nobody here knows. */
function unitOf(words: string): number {
  const power = /^byte(?:s)?\s*\*\s*2\s*\^\s*(\d{1,2})$/i.exec(words.trim())
  if (power) return 2 ** Number(power[1])
  const named = { '': 2 ** 20, bytes: 1, kilobytes: 2 ** 10, megabytes: 2 ** 20, gigabytes: 2 ** 30 }
  return Object.entries(named).find(([name]) => name === words.trim().toLowerCase())?.[1] ?? 0
}

/** The digest an archive's manifest gives one of its files; undefined = none that can be checked. */
export function manifestDigest(manifest: string, name: string): { algorithm: string; hex: string } | undefined {
  for (const line of manifest.split(/\r?\n/)) {
    const [, algorithm = '', file, hex = ''] =
      /^(SHA1|SHA256|SHA512)\s*\(([^)]*)\)\s*=\s*([0-9a-fA-F]+)\s*$/.exec(line) ?? []
    if (file === name) return { algorithm: algorithm.toLowerCase(), hex: hex.toLowerCase() }
  }
  return undefined
}

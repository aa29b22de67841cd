import type { Template } from '../../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { formatGib, formatMemory, plural } from '../../lib/format.ts'

/** One click away from a VM: a template of the fleet, or a size where there are too few of those. */
export interface StartingPoint {
  id: string
  title: string
  text: string
  /** Of CreateVmRequest; the rest is its default. */
  request: { template: string } | { vcpus: number; memMb: number; diskGb: number }
}

const SIZES = [
  { name: 'Small', what: 'to try something out', vcpus: 1, memMb: 512, diskGb: 10 },
  { name: 'Medium', what: 'a service of its own', vcpus: 2, memMb: 2048, diskGb: 20 },
  { name: 'Large', what: 'builds and databases', vcpus: 4, memMb: 8192, diskGb: 80 },
] as const

const SHOWN = 3

const sizeWords = ({ vcpus, memMb, diskGb }: { vcpus: number; memMb: number; diskGb: number }) =>
  `${plural(vcpus, 'vCPU')}, ${formatMemory(memMb)}, ${formatGib(diskGb)}`

/** Three of them: what the fleet keeps as templates first, then sizes of the default image. */
export function startingPoints(templates: readonly Template[], defaultImage: string): StartingPoint[] {
  const own = templates.map((t) => ({
    id: t.id,
    title: t.name,
    text: [t.description || t.image, sizeWords(t)].filter(Boolean).join(' · '),
    request: { template: t.name },
  }))
  const sizes = SIZES.map(({ name, what, ...size }) => ({
    id: name,
    title: `${name}: ${what}`,
    text: [defaultImage, sizeWords(size)].filter(Boolean).join(' · '),
    request: size,
  }))
  return [...own, ...(defaultImage === '' ? [] : sizes)].slice(0, SHOWN)
}

import { policyWords } from '../../../ipc/clock-words.ts'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatBytes, formatGib, formatMemory, plural } from '../../lib/format.ts'
import { webHost } from '../../lib/web-host.ts'
import { type CreateVmDraft, type checkedShape, wishedPorts } from './create-vm-draft.ts'
import { createToRunning, rangeText, sendingRate, transferText } from './estimates.ts'
import type { Place } from './placement.ts'

export interface CreateStep {
  text: string
  /** From this fleet's past; absent = nobody knows, or it takes no time. */
  time?: string | undefined
}

interface Wanted {
  image: Image | undefined
  /** Absent = no host takes it now. */
  place: Place | undefined
  shape: ReturnType<typeof checkedShape>
  draft: CreateVmDraft
}

/** What creating will do, in order. */
export function createSteps(
  { image, place, shape, draft }: Wanted,
  past: { vms: readonly Vm[]; tasks: readonly Task[] },
): CreateStep[] {
  const took = rangeText(createToRunning(past.vms), 'VM')
  const ports = wishedPorts(draft)
  return [
    imageStep(image, place, past.tasks),
    { text: `Make a disk of ${formatGib(shape.diskGb)} on top of it` },
    { text: seedText(shape) },
    {
      text: `Start it with ${plural(shape.vcpus, 'vCPU')} and ${formatMemory(shape.memMb)}`,
      time: took && `in all ${took}`,
    },
    ...(ports.length > 0 ? [{ text: `Publish ${plural(ports.length, 'port')}` }] : []),
    { text: 'Its console opens with the first byte it prints' },
    ...(draft.saveAs === '' ? [] : [{ text: `Keep how it was made as the template ${draft.saveAs}` }]),
  ]
}

const isOn = (image: Image, place: Place | undefined) => place !== undefined && image.cachedOn.includes(place.host.id)
const sizeText = ({ sizeBytes }: Image) => (sizeBytes === undefined ? '' : ` (${formatBytes(sizeBytes)})`)

function imageStep(image: Image | undefined, place: Place | undefined, tasks: readonly Task[]): CreateStep {
  if (!image) return { text: 'Get the image' }
  if (isOn(image, place)) return { text: `Use ${image.name}, already on ${place?.host.name}` }
  if (image.url)
    return {
      text: `Fetch ${image.name}${sizeText(image)} from ${webHost(image.url)}`,
      time: 'as fast as that server sends',
    }
  return {
    text: `Send ${image.name}${sizeText(image)} to ${place?.host.name ?? 'the host'}`,
    time: transferText(image.sizeBytes, sendingRate(tasks)),
  }
}

/** Beside the image: where it is, and what it takes to get it there. */
export function imageStateText(
  image: Image | undefined,
  place: Place | undefined,
  tasks: readonly Task[],
): string | undefined {
  if (!image || !place) return image?.description.split('. ', 1)[0]
  if (isOn(image, place)) return `On ${place.host.name} already`
  const { text, time } = imageStep(image, place, tasks)
  const first = `Not on ${place.host.name} yet: ${inside(text)}`
  return time ? `${first}, ${time}` : first
}

function seedText(shape: Wanted['shape']): string {
  const parts = ['its name']
  if (shape.sshAuthorizedKeys.length > 0) parts.push(plural(shape.sshAuthorizedKeys.length, 'SSH key'))
  if (shape.cloudInit.length > 0) parts.push(`user-data of ${formatBytes(shape.cloudInit.length)}`)
  return `Write its seed: ${parts.join(', ')}`
}

/** What the fleet puts into every guest beside the user-data. */
export const fleetPart = (shape: Wanted['shape']): string[] => [
  ...(shape.sshAuthorizedKeys.length > 0
    ? [`${plural(shape.sshAuthorizedKeys.length, 'SSH key')} for the first user`]
    : []),
  'trust in the SSH authority of this fleet, and a host certificate',
  `the first partition grows to ${formatGib(shape.diskGb)}`,
  `its clock: ${inside(policyWords(shape.clockPolicy))}`,
]

/** A sentence as a part of another. */
const inside = (text: string) => text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, '')

import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Problem } from '../../../ipc/rules.ts'
import { imageTask } from '../images/view-model.ts'
import { currentStep, isOpen, stepElapsed, taskLine } from '../tasks/view-model.ts'
import type { CreateVmDraft } from './create-vm-draft.ts'

const DRAFT_KEYS: Record<string, keyof CreateVmDraft> = {
  mem_mb: 'memMb',
  disk_gb: 'diskGb',
  ssh_authorized_keys: 'sshKeys',
  cloud_init: 'cloudInit',
  save_as: 'saveAs',
}

/** Problems to show now: of what a person wrote, and once they wanted to create, of everything. Pure. */
export function shownProblems(
  problems: readonly Problem[],
  draft: CreateVmDraft,
  begun: CreateVmDraft,
  pressed: boolean,
): Problem[] {
  const isWritten = (field: string) => {
    const key = DRAFT_KEYS[field] ?? (field.split('.', 1)[0] as keyof CreateVmDraft)
    return JSON.stringify(draft[key]) !== JSON.stringify(begun[key])
  }
  return problems.filter(({ field }) => pressed || isWritten(field))
}

const FIELDS: Record<string, string> = {
  cloud_init: 'User-data',
  mem_mb: 'Memory',
  disk_gb: 'Disk',
  ssh_authorized_keys: 'SSH keys',
  save_as: 'Template',
}
const fieldName = (field: string) =>
  FIELDS[field] ?? (field.startsWith('ports') ? 'Ports' : field.charAt(0).toUpperCase() + field.slice(1))

/** Why the button cannot be used yet; each is mended elsewhere, and none is a mistake. */
export function waitsFor(hosts: number, images: number, tasks: readonly Task[], nowMs: number): string | undefined {
  if (hosts === 0) return 'A host is needed first.'
  if (images > 0) return undefined
  const task = imageTask(tasks)
  if (!task || !isOpen(task)) return 'An image is needed first: build or fetch one above.'
  const step = currentStep(task)
  const line = [taskLine(task), step && stepElapsed(step, nowMs)].filter(Boolean).join(' · ')
  return `Waits for the image ${task.subject}: ${line || 'about to begin'}`
}

/** What the foot of the page says, and how loud. Undefined = nothing is in the way. */
export function standingOf(
  waits: string | undefined,
  shown: readonly Problem[],
  refused: string | undefined,
): { tone: 'quiet' | 'warn' | 'bad'; text: string } | undefined {
  if (waits) return { tone: 'quiet', text: waits }
  const [first] = shown
  if (first && shown.length > 1)
    return {
      tone: 'bad',
      text: `${shown.length} fields need a look: ${shown.map(({ field }) => fieldName(field)).join(', ')}.`,
    }
  if (first) return { tone: 'bad', text: `${fieldName(first.field)}: ${first.problem}.` }
  return refused ? { tone: 'warn', text: `${refused}.` } : undefined
}

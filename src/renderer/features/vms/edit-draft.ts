import { clockPolicyOf, isWindowsPolicy } from '../../../ipc/clock-policy.ts'
import { POLICY_NOT_REACHED } from '../../../ipc/clock-words.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type Problem, problemsOf } from '../../../ipc/rules.ts'
import { formatDuration, formatGib, formatMemory } from '../../lib/format.ts'
import { labelsText, parseLabels } from './labels-text.ts'

/** A VM as it is typed in the edit sheet: numbers stay text until they are checked. */
export interface EditDraft {
  name: string
  vcpus: string
  memMb: string
  diskGb: string
  labels: string
  protected: boolean
  autostart: boolean
  autostartDelayS: string
  autostartOrder: string
  clockPolicy: string
}

export const draftOf = (vm: Vm): EditDraft => ({
  name: vm.name,
  vcpus: String(vm.vcpus),
  memMb: String(vm.memMb),
  diskGb: String(vm.diskGb),
  labels: labelsText(vm.labels),
  protected: vm.protected,
  autostart: vm.autostart,
  autostartDelayS: String(vm.autostartDelayS),
  autostartOrder: String(vm.autostartOrder),
  clockPolicy: vm.clockPolicy || 'auto',
})

const numberOf = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text))

/** The fields that differ, as the API takes them. Empty but for `vm` = nothing to do. */
export function editRequest(vm: Vm, draft: EditDraft) {
  const labels = parseLabels(draft.labels)
  const changed = <T>(value: T, from: T) => (Object.is(value, from) ? undefined : value)
  const set = Object.fromEntries(Object.entries(labels).filter(([key, value]) => vm.labels[key] !== value))
  const gone = Object.keys(vm.labels).filter((key) => !(key in labels))
  const all = {
    name: changed(draft.name, vm.name),
    vcpus: changed(numberOf(draft.vcpus), vm.vcpus),
    memMb: changed(numberOf(draft.memMb), vm.memMb),
    diskGb: changed(numberOf(draft.diskGb), vm.diskGb),
    labels: Object.keys(set).length > 0 ? set : undefined,
    removeLabels: gone.length > 0 ? gone : undefined,
    protected: changed(draft.protected, vm.protected),
    autostart: changed(draft.autostart, vm.autostart),
    autostartDelayS: changed(numberOf(draft.autostartDelayS), vm.autostartDelayS),
    autostartOrder: changed(numberOf(draft.autostartOrder), vm.autostartOrder),
    clockPolicy: changed(draft.clockPolicy, vm.clockPolicy || 'auto'),
  }
  type Changes = { [K in keyof typeof all]?: NonNullable<(typeof all)[K]> }
  return { vm: vm.id, ...(Object.fromEntries(Object.entries(all).filter(([, v]) => v !== undefined)) as Changes) }
}

const PLAIN: Record<string, string> = { mem_mb: 'memory', disk_gb: 'disk', vcpus: 'vCPUs' }

/** What is wrong with it now, beside its field: the API's rules first, then what only the fleet can say. */
export function editProblems(vm: Vm, draft: EditDraft, isTaken: (name: string) => boolean): Problem[] {
  const problems = problemsOf('updateVm', editRequest(vm, draft)).map((p) => ({
    field: p.field === 'remove_labels' ? 'labels' : p.field,
    problem: /expected number|NaN|^Invalid input/.test(p.problem)
      ? 'use a whole number'
      : p.problem.replace(/\b(mem_mb|disk_gb|vcpus)\b/, (wire) => PLAIN[wire] ?? wire),
  }))
  const add = (field: string, problem: string) => {
    if (!problems.some((p) => p.field === field)) problems.push({ field, problem })
  }
  for (const field of ['vcpus', 'memMb', 'diskGb'] as const)
    if (numberOf(draft[field]) === 0) add(WIRE[field], 'at least 1')
  if (draft.name === '') add('name', 'name it')
  if (draft.name !== vm.name && isTaken(draft.name)) add('name', 'this name is in use')
  if (numberOf(draft.diskGb) < vm.diskGb)
    add('disk_gb', `a disk is never made smaller, and this one has ${formatGib(vm.diskGb)}`)
  return problems
}

const WIRE = { vcpus: 'vcpus', memMb: 'mem_mb', diskGb: 'disk_gb' } as const

export interface EditChange {
  label: string
  before: string
  after: string
  /** The running guest gets it only at its next start. */
  atRestart: boolean
  /** What else is to be known of it, one sentence; empty = nothing. */
  note: string
}

const yesNo = (yes: boolean) => (yes ? 'yes' : 'no')
const seconds = (text: string | number) => {
  const s = Number(text)
  return s === 0 ? 'at once' : formatDuration(s * 1000)
}
const NAME_NOTE = 'The hostname inside the guest, and the name in its host certificate, stay as they were made.'

/** Before and after of every field that differs, and when the guest gets it. For numbers that are right. */
export function editChanges(vm: Vm, draft: EditDraft, host: Pick<Host, 'backend'> | undefined): EditChange[] {
  const request = editRequest(vm, draft)
  const runs = vm.power === 'running' || vm.power === 'paused'
  const changes: EditChange[] = []
  const add = (label: string, before: string, after: string, at: 'now' | 'restart' = 'now', note = '') =>
    changes.push({ label, before, after, atRestart: runs && at === 'restart', note })
  const has = (field: keyof typeof request) => request[field] !== undefined
  if (has('name')) add('Name', vm.name, draft.name, 'restart', NAME_NOTE)
  if (has('vcpus')) add('vCPUs', `${vm.vcpus}`, draft.vcpus.trim(), 'restart')
  if (has('memMb')) add('Memory', formatMemory(vm.memMb), formatMemory(numberOf(draft.memMb)), 'restart')
  if (has('diskGb')) {
    const live = (host?.backend ?? '') === '' || host?.backend === 'qemu'
    const note = 'It cannot be made smaller again. cloud-init or the guest grows its filesystem.'
    add('Disk', formatGib(vm.diskGb), formatGib(numberOf(draft.diskGb)), live ? 'now' : 'restart', note)
  }
  if (has('labels') || has('removeLabels'))
    add('Labels', labelsText(vm.labels) || 'none', labelsText(parseLabels(draft.labels)) || 'none')
  if (has('protected'))
    add(
      'Protected',
      yesNo(vm.protected),
      yesNo(draft.protected),
      'now',
      draft.protected ? 'No delete, no stop by force.' : '',
    )
  if (has('autostart')) add('Starts with its host', yesNo(vm.autostart), yesNo(draft.autostart))
  if (has('autostartDelayS')) add('Starts after', seconds(vm.autostartDelayS), seconds(draft.autostartDelayS))
  if (has('autostartOrder')) add('Place in the order', `${vm.autostartOrder}`, draft.autostartOrder.trim())
  if (has('clockPolicy')) {
    const crosses = isWindowsPolicy(clockPolicyOf(draft.clockPolicy)) !== isWindowsPolicy(clockPolicyOf(vm.clockPolicy))
    add('Clock policy', vm.clockPolicy || 'auto', draft.clockPolicy, crosses ? 'restart' : 'now', POLICY_NOT_REACHED)
  }
  return changes
}

const FIELDS: Record<string, string> = {
  vcpus: 'vCPUs',
  mem_mb: 'memory',
  name: 'name',
  clock_policy: 'clock policy',
  disk_gb: 'disk',
}

/** Fields as the API names them, as a person reads them: `vCPUs and memory`. */
export function fieldWords(fields: readonly string[]): string {
  const words = fields.map((field) => FIELDS[field] ?? field.replaceAll('_', ' '))
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

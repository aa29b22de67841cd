import { clockPolicyOf, isWindowsPolicy } from '../../../ipc/clock-policy.ts'
import { POLICY_NOT_REACHED } from '../../../ipc/clock-words.ts'
import { Fault } from '../../../ipc/faults.ts'
import { type Checked, check } from '../../../ipc/rules.ts'
import type { VmEdit, VmRow } from '../store/vm-row.ts'

/** What is known of the host that has the VM. */
export interface EditedHost {
  name: string
  /** Of its agent; undefined = it never connected since this process started. */
  features: readonly string[] | undefined
  agentVersion: string
  /** Empty = not known. */
  backend: string
}

/** Of the guest as its host last said; fields it waits with for its next start. */
export interface EditedGuest {
  runs: boolean
  needsRestart: readonly string[]
}

export interface EditPlan {
  /** Undefined = everything is so already. */
  edit: VmEdit | undefined
  /** One or more sentences; empty = nothing. */
  notReached: string
  /** Fields, as on the wire. */
  needsRestart: string[]
}

const NAME_NOT_REACHED =
  'The hostname inside the guest, and the name in the certificate of its host key, stay as they were made.'

/** What a running guest has as it was at its start, by field of an edit. */
const AT_START = { vcpus: 'vcpus', memMb: 'mem_mb', name: 'name' } as const

/** The edit a request is. Pure. Raises input/invalid (a disk that would shrink, too many labels) and agent/cannot. */
export function planEdit(row: VmRow, asked: Checked<'updateVm'>, host: EditedHost, guest: EditedGuest): EditPlan {
  const wanted: VmEdit = {
    name: asked.name || row.name,
    clockPolicy: asked.clockPolicy === '' ? row.clockPolicy : clockPolicyOf(asked.clockPolicy),
    vcpus: asked.vcpus || row.vcpus,
    memMb: asked.memMb || row.memMb,
    diskGb: asked.diskGb || row.diskGb,
    labels: labelsOf(row, asked),
    protected: asked.protected ?? row.protected,
    autostart: asked.autostart ?? row.autostart,
    autostartDelayS: asked.autostartDelayS ?? row.autostartDelayS,
    autostartOrder: asked.autostartOrder ?? row.autostartOrder,
  }
  const changed = (Object.keys(wanted) as (keyof VmEdit & keyof VmRow)[]).filter((key) => !same(wanted[key], row[key]))
  const has = (key: keyof VmEdit) => changed.some((name) => name === key)
  if (has('diskGb')) requireGrowth(row, wanted.diskGb!, host)
  const isOrdered = has('autostartDelayS') || has('autostartOrder')
  const notReached = [
    has('clockPolicy') ? POLICY_NOT_REACHED : '',
    has('name') ? NAME_NOT_REACHED : '',
    isOrdered && lacks(host, 'autostart-order')
      ? `The agent of ${host.name} is too old to keep an order of starts; upgrade it with "eitri host upgrade ${host.name}".`
      : '',
  ]
  const fields: string[] = Object.entries(AT_START).flatMap(([key, field]) =>
    has(key as keyof typeof AT_START) ? [field] : [],
  )
  if (isWindowsPolicy(wanted.clockPolicy!) !== isWindowsPolicy(row.clockPolicy)) fields.push('clock_policy')
  if (has('diskGb') && host.backend !== '' && host.backend !== 'qemu') fields.push('disk_gb')
  return {
    edit: changed.length === 0 ? undefined : Object.fromEntries(changed.map((key) => [key, wanted[key]])),
    notReached: notReached.filter((sentence) => sentence !== '').join(' '),
    needsRestart: guest.runs ? [...new Set([...guest.needsRestart, ...fields])] : [],
  }
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

function labelsOf(row: VmRow, { labels, removeLabels }: Checked<'updateVm'>): Record<string, string> {
  const merged = { ...row.labels, ...labels }
  for (const key of removeLabels) if (!(key in labels)) delete merged[key]
  return check('allLabels', { labels: merged }).labels
}

function requireGrowth(row: VmRow, diskGb: number, host: EditedHost): void {
  if (diskGb < row.diskGb) {
    const problem = `a disk is never made smaller, and this one has ${row.diskGb} GiB`
    throw new Fault('input/invalid', 'permanent', { field: 'disk_gb', value: String(diskGb), problem })
  }
  requireFeature(host, 'live-edit', 'make the disk of a VM larger')
}

const lacks = ({ features }: EditedHost, feature: string): boolean =>
  features !== undefined && !features.includes(feature)

/** Raises agent/cannot where the agent is known to be without it; what is not known is not judged. */
export function requireFeature(host: EditedHost, feature: string, what: string): void {
  if (!lacks(host, feature)) return
  throw new Fault('agent/cannot', 'permanent', { host: host.name, version: host.agentVersion, what })
}

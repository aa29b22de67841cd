import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib, plural } from '../../lib/format.ts'

/** What can be done to many VMs at once. */
export type BulkAct =
  | { do: 'start' | 'stop' | 'restart' | 'delete' | 'undelete' | 'protect' | 'unprotect' }
  | { do: 'labels'; set: Readonly<Record<string, string>>; remove: readonly string[] }

export interface BulkStep {
  vm: Vm
  /** What will happen to it, a phrase. */
  effect: string
  /** Its host does not answer: what is asked waits there. */
  waits: boolean
}

export interface BulkPlan {
  act: BulkAct
  steps: BulkStep[]
  /** Left out, and why. */
  left: { vm: Vm; why: string }[]
  /** Of those left out, because of a host that does not answer: they can be asked all the same. */
  silent: number
  /** Would be done, but are more than one confirmation may cover. They stay selected. */
  beyond: Vm[]
}

/** What interrupts guests is confirmed for so many at once, each by name. */
export const BULK_CAP = 50
/** All else: as many as one run keeps on the screen. */
export const BULK_MOST = 500

const INTERRUPTING: ReadonlySet<BulkAct['do']> = new Set(['stop', 'restart', 'delete'])
/** Kept by this app alone: a host that is silent is no hindrance. */
const HOSTLESS: ReadonlySet<BulkAct['do']> = new Set(['protect', 'unprotect', 'labels'])

export interface BulkAround {
  /** Published ports of a VM, as they are shown. */
  portsOf: (vmId: string) => readonly string[]
  /** Also ask for those whose host does not answer. */
  withSilent: boolean
  /** Ids that were listed when it was asked first: nobody else is interrupted. Absent = it is asked first now. */
  listed?: ReadonlySet<string> | undefined
}

/** How many one confirmation covers. */
export const capOf = (act: BulkAct): number => (isInterrupting(act) ? BULK_CAP : BULK_MOST)

/** The order in which they are shown, asked and capped. */
export const byName = (vms: readonly Vm[]): Vm[] => {
  const key = ({ name, id }: Vm) => `${name} ${id}`
  return [...vms].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Who of the chosen is asked, what happens to each, who is left out and why. In the order given. */
export function planBulk(act: BulkAct, chosen: readonly Vm[], around: BulkAround): BulkPlan {
  const plan: BulkPlan = { act, steps: [], left: [], silent: 0, beyond: [] }
  const cap = capOf(act)
  for (const vm of chosen) {
    const why = whyNot(act, vm)
    const waits = vm.hostUnknown && !HOSTLESS.has(act.do)
    if (why !== undefined) plan.left.push({ vm, why })
    else if (waits && !around.withSilent) {
      plan.left.push({ vm, why: `${vm.hostName} does not answer: nobody knows whether it runs` })
      plan.silent++
    } else if (plan.steps.length >= cap || around.listed?.has(vm.id) === false) plan.beyond.push(vm)
    else plan.steps.push({ vm, effect: effectOf(act, vm, around), waits })
  }
  if (around.withSilent) plan.silent = plan.steps.filter(({ waits }) => waits).length
  return plan
}

/** Why it is not for this VM; undefined = it is. */
function whyNot(act: BulkAct, vm: Vm): string | undefined {
  if (vm.unowned) return 'not in this fleet: adopt it first'
  if (act.do === 'undelete') return vm.deletedAt ? undefined : 'not deleted'
  if (vm.deletedAt) return 'in quarantine: undo its delete first'
  switch (act.do) {
    case 'start':
      return whyNotStart(vm)
    case 'stop':
      return whyNotStop(vm)
    case 'restart':
      return whyNotRestart(vm)
    case 'delete':
      return vm.protected ? 'protected: take its protection away first' : undefined
    case 'protect':
      return vm.protected ? 'protected already' : undefined
    case 'unprotect':
      return vm.protected ? undefined : 'not protected'
    case 'labels':
      return Object.keys(labelChanges(act, vm)).length === 0 ? 'has these labels already' : undefined
  }
}

function whyNotStart(vm: Vm): string | undefined {
  if (vm.desiredPower !== 'running' || vm.phase === 'failed') return undefined
  if (vm.hostUnknown) return 'asked to run already'
  return vm.power === 'running' ? 'runs already' : 'is being started already'
}

function whyNotStop(vm: Vm): string | undefined {
  if (vm.desiredPower !== 'stopped') return undefined
  if (vm.hostUnknown) return 'asked to stop already'
  return vm.power === 'stopped' ? 'stopped already' : 'is being stopped already'
}

function whyNotRestart(vm: Vm): string | undefined {
  if (vm.desiredPower === 'stopped') return 'stopped: start it instead'
  if (vm.phase === 'creating' || vm.phase === undefined) return 'not made yet: it is being created'
  if (vm.phase === 'failed') return 'is not well: start it instead'
  return undefined
}

function effectOf(act: BulkAct, vm: Vm, { portsOf }: BulkAround): string {
  switch (act.do) {
    case 'start':
      return vm.phase === 'failed' ? 'is tried again' : 'starts'
    case 'stop':
      return stopEffect(vm)
    case 'restart':
      return vm.power === 'stopped' ? 'starts anew' : 'its guest is asked to power off, then it starts again'
    case 'delete':
      return deleteEffect(vm, portsOf(vm.id))
    case 'undelete':
      return 'comes back with its disk'
    case 'protect':
      return 'cannot be deleted or stopped by force'
    case 'unprotect':
      return 'can be deleted'
    case 'labels':
      return labelWords(labelChanges(act, vm))
  }
}

function stopEffect({ phase, power }: Vm): string {
  if (phase === undefined || phase === 'creating') return 'is made, and then left off'
  if (power === 'stopped') return 'is not started any more'
  return power === 'paused' ? 'is stopped, though it is paused' : 'its guest is asked to power off'
}

function deleteEffect({ power, diskGb }: Vm, ports: readonly string[]): string {
  const closed = ports.length === 0 ? '' : `; closes ${ports.join(', ')}`
  return `${power === 'stopped' ? '' : 'stops, and '}its disk of ${formatGib(diskGb)} goes to quarantine${closed}`
}

type LabelsAct = Extract<BulkAct, { do: 'labels' }>

/** What changes of its labels: key to new value, undefined = taken away. */
function labelChanges({ set, remove }: LabelsAct, vm: Vm): Record<string, string | undefined> {
  const changes: Record<string, string | undefined> = {}
  for (const [key, value] of Object.entries(set)) if (vm.labels[key] !== value) changes[key] = value
  for (const key of remove) if (!(key in set) && key in vm.labels) changes[key] = undefined
  return changes
}

const labelWords = (changes: Record<string, string | undefined>): string =>
  Object.entries(changes)
    .map(([key, value]) => (value === undefined ? `loses ${key}` : `gets ${value ? `${key}=${value}` : key}`))
    .join(', ')

const VERBS: Record<BulkAct['do'], { ask: string; busy: string; done: string }> = {
  start: { ask: 'Start', busy: 'Starting', done: 'started' },
  stop: { ask: 'Stop', busy: 'Stopping', done: 'stopped' },
  restart: { ask: 'Restart', busy: 'Restarting', done: 'asked to restart' },
  delete: { ask: 'Delete', busy: 'Deleting', done: 'moved to quarantine' },
  undelete: { ask: 'Undelete', busy: 'Bringing back', done: 'brought back' },
  protect: { ask: 'Protect', busy: 'Protecting', done: 'protected' },
  unprotect: { ask: 'Unprotect', busy: 'Unprotecting', done: 'without protection' },
  labels: { ask: 'Label', busy: 'Labelling', done: 'labelled' },
}

export const bulkVerbs = (act: BulkAct) => VERBS[act.do]

/** Whether guests are interrupted: the safe button gets the focus then. */
export const isInterrupting = (act: BulkAct): boolean => INTERRUPTING.has(act.do)

/** Heading of the sheet: `Stop 12 VMs?` */
export function bulkQuestion({ act, steps }: BulkPlan): string {
  if (steps.length === 0) return `Nothing to ${VERBS[act.do].ask.toLowerCase()}`
  return `${VERBS[act.do].ask} ${plural(steps.length, 'VM')}?`
}

/** What it means for all of them, one sentence. */
export function bulkMeaning({ act, steps, left }: BulkPlan): string {
  if (steps.length === 0) return `None of the ${plural(left.length, 'VM')} chosen can be asked; the list says why.`
  switch (act.do) {
    case 'start':
      return 'Each starts as soon as its host has room.'
    case 'stop':
      return 'Each guest is asked to power off and keeps its disk. Start brings it back.'
    case 'restart':
      return 'Each guest is down for as long as it takes to boot.'
    case 'delete':
      return 'Each goes to quarantine with its disk. Undelete brings it back until its countdown ends.'
    case 'undelete':
      return 'Each comes back with the disk it had.'
    case 'protect':
      return 'Nobody deletes them or stops them by force before this is taken away.'
    case 'unprotect':
      return 'They can be deleted from then on.'
    case 'labels':
      return 'Guests are not touched.'
  }
}

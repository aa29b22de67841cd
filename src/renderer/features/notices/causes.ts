import { guestClockState, hostClockState } from '../../../ipc/clock-words.ts'
import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatDuration, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { addressOf } from '../../routes.ts'
import type { FleetSnapshot } from '../../state/fleet-store.ts'
import type { NoticeKind } from '../../state/preference-shape.ts'
import { isOpen, taskFault, taskTitle } from '../tasks/view-model.ts'

/** One thing that is so now and that a person wants to be told of once. */
export interface Cause {
  /** The same while it is the same incident. */
  key: string
  kind: NoticeKind
  tone: 'bad' | 'warn' | 'good'
  /** Name of what it is about. */
  subject: string
  title: string
  /** What it means and what can be done. */
  text: string
  /** `eitri://…` of the exact object. */
  address: string
}

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LOST_AFTER_MS = 2 * 60 * SECOND_MS
const JUMP_MS = 5 * SECOND_MS
const LONG_TASK_MS = 10 * SECOND_MS
const QUARANTINE_MS = DAY_MS
/** The nearest first. */
const DEADLINE_DAYS = [1, 3, 14]

const vmAddress = (vm: Vm, tab: 'overview' | 'clock' | 'trust' = 'overview') =>
  addressOf({ page: 'vm', id: vm.id, tab }, vm.hostId)
const hostAddress = (host: Host, tab: 'overview' | 'ssh' = 'overview') => addressOf({ page: 'host', id: host.id, tab })

/** What is so whatever the time: crashes, lost hosts, clocks. `lostSince` is when this window saw each host go. */
export function liveCauses(fleet: FleetSnapshot, lostSince: ReadonlyMap<string, number>, nowMs: number): Cause[] {
  const causes: Cause[] = []
  for (const host of fleet.hosts.values()) {
    const since = lostSince.get(host.id)
    if (since !== undefined && nowMs - since >= LOST_AFTER_MS) causes.push(hostLost(host, nowMs - since))
    else if (isAnswering(host) && hostClockOffMs(host) >= JUMP_MS) causes.push(hostClock(host))
  }
  for (const vm of fleet.vms.values()) {
    if (vm.deletedAt || vm.unowned || vm.hostUnknown) continue
    if (isCrashed(vm)) causes.push(vmCrashed(vm))
    if (vm.clock && vm.power === 'running' && !vm.clock.stale && guestClockState(vm.clock).offMs >= JUMP_MS)
      causes.push(guestClock(vm))
  }
  return causes
}

/** What comes by date: the end of a key or certificate, the end of a quarantine. */
export function datedCauses(fleet: FleetSnapshot, nowMs: number): Cause[] {
  const causes: Cause[] = []
  for (const host of fleet.hosts.values()) {
    const ends = msOf(host.credentialEndsAt)
    const days = daysOf(ends, nowMs)
    if (ends !== undefined && days !== undefined) causes.push(credentialEnds(host, ends, days, nowMs))
  }
  for (const vm of fleet.vms.values()) {
    const gone = msOf(vm.quarantineEndsAt)
    if (vm.deletedAt) {
      if (gone !== undefined && gone > nowMs && gone - nowMs <= QUARANTINE_MS) causes.push(quarantine(vm, gone, nowMs))
      continue
    }
    const ends = msOf(vm.hostCertificate?.validBefore)
    const days = daysOf(ends, nowMs)
    if (ends !== undefined && days !== undefined) causes.push(certificateEnds(vm, ends, days, nowMs))
  }
  return causes
}

/** Tasks that ended between two states of the fleet while nobody looked, of those that took their time. */
export function endedTasks(before: FleetSnapshot, after: FleetSnapshot, nowMs: number): Cause[] {
  if (before.tasks === after.tasks) return []
  return [...after.tasks.values()].flatMap((task) => {
    const was = before.tasks.get(task.id)
    const tookMs = (msOf(task.endedAt) ?? nowMs) - (msOf(task.createdAt) ?? nowMs)
    if (!was || !isOpen(was) || isOpen(task) || NO_NEWS.has(task.state) || tookMs <= LONG_TASK_MS) return []
    return [taskEnded(task, tookMs)]
  })
}

/** A host whose answers stopped, whatever the reason of its last try is. */
export const isAnswering = (host: Host): boolean => host.link === 'connected' && !host.stale

/** Of those that do not answer, the ones that are lost: not those that wait for a person, nor those never seen. */
export const isLost = (host: Host): boolean =>
  ['unreachable', 'connecting', 'agent_missing'].includes(host.link) && host.lastSeenAt !== undefined

/** It died under its guest: its process ended, or the guest's kernel gave up. */
export const isCrashed = (vm: Vm): boolean =>
  vm.reason === 'vm/panicked' || (vm.reason === 'vm/exited' && vm.desiredPower === 'running' && vm.power !== 'running')

export const hostClockOffMs = (host: Host): number => hostClockState(host.clock).offMs

/** The next step of days before an end that is reached already; undefined while it is far. */
function daysOf(ends: number | undefined, nowMs: number): number | undefined {
  if (ends === undefined) return undefined
  return DEADLINE_DAYS.find((days) => ends - nowMs <= days * DAY_MS)
}

const left = (ends: number, nowMs: number) =>
  ends <= nowMs
    ? 'has ended'
    : `ends in ${formatDuration(ends - nowMs)
        .split(' ')
        .slice(0, 2)
        .join(' ')}`

function hostLost(host: Host, forMs: number): Cause {
  const vms = host.vms === 0 ? '' : `${plural(host.vms, 'VM is', 'VMs are')} unknown, not stopped. `
  return {
    key: `host-lost:${host.id}`,
    kind: 'host-lost',
    tone: 'bad',
    subject: host.name,
    title: `No answer from ${host.name} for ${formatDuration(forMs).split(' ').slice(0, 2).join(' ')}`,
    text: `${vms}Eitri tries again by itself.`,
    address: hostAddress(host),
  }
}

function vmCrashed(vm: Vm): Cause {
  const again = vm.phase === 'failed' || vm.power === 'running'
  return {
    key: `vm-crashed:${vm.id}`,
    kind: 'vm-crashed',
    tone: 'bad',
    subject: vm.name,
    title: `${vm.name} crashed on ${vm.hostName}`,
    text: [vm.detail, again ? '' : 'Its console keeps what it said last.'].filter(Boolean).join('. '),
    address: vmAddress(vm),
  }
}

function guestClock(vm: Vm): Cause {
  return {
    key: `clock-jump:${vm.id}`,
    kind: 'clock-jump',
    tone: 'warn',
    subject: vm.name,
    title: `The clock of ${vm.name} is ${guestClockState(vm.clock).off}`,
    text: 'TLS and logins in this guest may fail. Re-sync sets it now.',
    address: vmAddress(vm, 'clock'),
  }
}

function hostClock(host: Host): Cause {
  return {
    key: `clock-jump:${host.id}`,
    kind: 'clock-jump',
    tone: 'warn',
    subject: host.name,
    title: `The clock of host ${host.name} is ${hostClockState(host.clock).off}`,
    text: 'Its guests follow it. Network time on the host mends it.',
    address: hostAddress(host),
  }
}

function credentialEnds(host: Host, ends: number, days: number, nowMs: number): Cause {
  return {
    key: `deadline:${host.id}:${ends}:${days}`,
    kind: 'deadline',
    tone: days === 1 ? 'bad' : 'warn',
    subject: host.name,
    title: `The key that reaches ${host.name} ${left(ends, nowMs)}`,
    text: 'After that Eitri is not let in until the host joins again. Its VMs keep running.',
    address: hostAddress(host, 'ssh'),
  }
}

function certificateEnds(vm: Vm, ends: number, days: number, nowMs: number): Cause {
  return {
    key: `deadline:${vm.id}:${ends}:${days}`,
    kind: 'deadline',
    tone: days === 1 ? 'bad' : 'warn',
    subject: vm.name,
    title: `The host certificate of ${vm.name} ${left(ends, nowMs)}`,
    text: 'Eitri renews it by itself as soon as the guest takes it. After its end SSH warns of an unknown host.',
    address: vmAddress(vm, 'trust'),
  }
}

function quarantine(vm: Vm, ends: number, nowMs: number): Cause {
  return {
    key: `quarantine:${vm.id}:${ends}`,
    kind: 'quarantine',
    tone: 'warn',
    subject: vm.name,
    title: `${vm.name} is destroyed in ${formatDuration(ends - nowMs)
      .split(' ')
      .slice(0, 2)
      .join(' ')}`,
    text: 'Until then Undo delete brings it back with its disk.',
    address: vmAddress(vm),
  }
}

/** Whoever ended it knows. */
const NO_NEWS: ReadonlySet<string> = new Set(['cancelled', 'superseded'])

function taskEnded(task: Task, tookMs: number): Cause {
  const fault = task.state === 'failed' ? taskFault(task) : undefined
  const words = fault && windowFaultText(fault.code, fault.params)
  return {
    key: `task:${task.id}`,
    kind: 'task',
    tone: task.state === 'failed' ? 'bad' : 'good',
    subject: task.subject,
    title: `${taskTitle(task)}: ${task.state === 'failed' ? 'failed' : 'done'}`,
    text: words ? [words.what, words.next].filter(Boolean).join(' ') : `It took ${formatDuration(tookMs)}.`,
    address:
      task.kind === 'add_host' && task.state === 'failed'
        ? addressOf({ page: 'add-host', taskId: task.id })
        : addressOf({ page: 'activity', filter: task.subject, view: 'tasks' }),
  }
}

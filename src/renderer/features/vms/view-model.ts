import { lookup } from '../../../ipc/base/lookup.ts'
import { guestClockState } from '../../../ipc/clock-words.ts'
import { type FaultText, printable } from '../../../ipc/fault-text.ts'
import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import { FAULT_CODES, type FaultCode, type FaultData } from '../../../ipc/faults.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { BETWEEN_VALUES, type FilterRecord } from '../../lib/filter.ts'
import { formatBytes, formatDay, formatDuration, formatMoment } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { StateView } from '../../ui/state-word.tsx'

const DAY_MS = 24 * 60 * 60 * 1000

/** The one state word of a VM. Deleted and unowned come before what the host last said; unknown before what it says. */
export function vmState(vm: Vm, nowMs: number): StateView {
  if (vm.deletedAt) return quarantine(vm, nowMs)
  if (vm.unowned) return { word: 'Unowned', tone: 'warn', detail: 'Runs on the host but is not in this fleet' }
  if (vm.hostUnknown) return unknown(vm, nowMs)
  if (vm.phase === 'failed') return failed(vm)
  const told = vm.phase ?? vm.lifecycle
  if (told === 'creating') return creating(vm)
  if (vm.power === undefined) return unknown(vm, nowMs)
  return settled(vm, vm.power)
}

/** Faults with which its host tries again by itself: what it is at. Any other one is left to a person. */
const RETRIED: Partial<Record<string, Pick<StateView, 'word' | 'tone'>>> = {
  'vm/exited': { word: 'Crashed', tone: 'bad' },
  'vm/powered-off': { word: 'Starting', tone: 'warn' },
  'vm/start-failed': { word: 'Starting', tone: 'warn' },
  'vm/stop-failed': { word: 'Stopping', tone: 'warn' },
  'vm/over-capacity': { word: 'Starting', tone: 'warn' },
  'host/disk-full': { word: 'Starting', tone: 'warn' },
}

function failed(vm: Vm): StateView {
  return { ...(lookup(RETRIED, vm.reason) ?? { word: 'Needs a decision', tone: 'bad' }), ...detailOf(vm) }
}

function settled(vm: Vm, power: string): StateView {
  const wanted = vm.desiredPower
  if (vm.reason === 'vm/panicked') return crashed(vm)
  if (power === 'running') return wanted === 'stopped' ? busy('Stopping', vm) : running(vm)
  if (power === 'paused') return { word: 'Paused', tone: vm.reason ? 'warn' : 'quiet', icon: 'pause', ...detailOf(vm) }
  if (power === 'suspended') return { word: 'Suspended', tone: 'quiet', icon: 'pause', ...detailOf(vm) }
  if (wanted === 'stopped') return { word: 'Stopped', tone: 'quiet' }
  return vm.reason === 'vm/exited' ? crashed(vm) : busy('Starting', vm)
}

const detailOf = (vm: Vm) => (vm.detail ? { detail: vm.detail } : {})
const crashed = (vm: Vm): StateView => ({ word: 'Crashed', tone: 'bad', ...detailOf(vm) })
const running = (vm: Vm): StateView =>
  vm.reason ? { word: 'Running', tone: 'warn', ...detailOf(vm) } : { word: 'Running', tone: 'good' }
const busy = (word: string, vm: Vm): StateView => ({ word, tone: vm.reason ? 'warn' : 'busy', ...detailOf(vm) })

function creating(vm: Vm): StateView {
  const { progress } = vm
  return busy(progress && progress.steps > 0 ? `Creating ${progress.step}/${progress.steps}` : 'Creating', vm)
}

function unknown(vm: Vm, nowMs: number): StateView {
  const at = msOf(vm.asOf)
  const detail = vm.power ? `Last known: ${vm.power}` : 'The host has not said anything about it yet'
  if (at === undefined) return { word: 'Unknown', tone: 'unknown', detail }
  return { word: `Unknown since ${formatMoment(new Date(at), new Date(nowMs))}`, tone: 'unknown', detail }
}

/** When its host last told of it: a host that answers tells of all its VMs in every report, but only changes travel on. */
export function toldAtMs(vm: Vm, host: Pick<Host, 'lastSeenAt'> | undefined): number | undefined {
  const own = msOf(vm.asOf)
  if (own === undefined || vm.hostUnknown) return own
  return Math.max(own, msOf(host?.lastSeenAt) ?? own)
}

function quarantine(vm: Vm, nowMs: number): StateView {
  const ends = msOf(vm.quarantineEndsAt)
  if (ends === undefined)
    return { word: 'In quarantine', tone: 'hold', detail: `Waits for ${vm.hostName || 'the host'} to confirm` }
  // Less than a day away the clock says enough.
  const until = ends - nowMs > DAY_MS ? formatDay(new Date(ends)) : formatMoment(new Date(ends), new Date(ends))
  return { word: `In quarantine until ${until}`, tone: 'hold', detail: left(ends, nowMs) }
}

/** `6 d 4 h left` of a deleted VM; undefined when the host has not confirmed the end yet. */
export function quarantineLeft(vm: Vm, nowMs: number): string | undefined {
  const ends = msOf(vm.quarantineEndsAt)
  if (ends === undefined) return undefined
  return left(ends, nowMs)
}

/** Days and hours while there are days, else the larger unit alone. */
function left(ends: number, nowMs: number): string {
  const ms = ends - nowMs
  if (ms <= 0) return 'being destroyed'
  const whole = formatDuration(ms)
  return `${ms > DAY_MS ? whole : whole.split(' ').slice(0, 2).join(' ')} left`
}

export interface ProgressView {
  step: number
  steps: number
  detail: string
  /** `12.4 MB of 40.1 MB`; undefined when the step moves no bytes. */
  bytes: string | undefined
  /** 0 to 0.99: never whole before the host says it is ready. Undefined = not measurable. */
  fraction: number | undefined
}

export function vmProgress(vm: Vm): ProgressView | undefined {
  const p = vm.progress
  if (!p || p.steps === 0) return undefined
  const total = p.totalBytes
  const moved = p.doneBytes > 0n || total !== undefined
  const share = total === undefined || total === 0n ? 0 : Math.min(1, Number(p.doneBytes) / Number(total))
  return {
    step: p.step,
    steps: p.steps,
    detail: vm.detail,
    bytes: moved ? `${formatBytes(p.doneBytes)}${total === undefined ? '' : ` of ${formatBytes(total)}`}` : undefined,
    fraction: Math.min(0.99, (Math.max(0, p.step - 1) + share) / p.steps),
  }
}

/** What keeps it from what is wanted: its code, and the words, whose first sentence the host already made. */
export function vmTrouble(vm: Vm): { fault: FaultData; words: FaultText } | undefined {
  if (!(FAULT_CODES as readonly string[]).includes(vm.reason)) return undefined
  const params = { vm: vm.name, host: vm.hostName, image: vm.imageName }
  const fault: FaultData = { code: vm.reason as FaultCode, disposition: 'transient', params, id: vm.id.slice(0, 8) }
  const text = windowFaultText(fault.code, params)
  return { fault, words: { ...text, what: printable(vm.detail) || text.what } }
}

/** One line for the table: progress, else why it is as it is, else nothing. */
export function vmRemark(vm: Vm): string {
  const trouble = vmTrouble(vm)
  if (trouble) return trouble.words.what
  const progress = vmProgress(vm)
  return progress ? [progress.detail, progress.bytes].filter(Boolean).join(' · ') : vm.detail
}

const GIB = 1024 ** 3

export interface Share {
  used: number
  total: number
}

/** What it takes of its host. Memory is that of its hypervisor, which is not a share of what the guest was given. */
export function vmUse({ metrics, power, vcpus, diskGb }: Vm) {
  // One that is off has no process: a sample of it is of the one that ended.
  const isOn = power !== 'stopped' && power !== 'suspended'
  const { cpuBusyPermille, rssBytes } = (isOn && metrics) || {}
  const of = (used: number | bigint | undefined, total: number): Share | undefined =>
    used === undefined ? undefined : { used: Number(used), total }
  return {
    /** Thousandths of one of its CPUs, on average over all of them. */
    cpu: vcpus > 0 && cpuBusyPermille !== undefined ? of(cpuBusyPermille / vcpus, 1000) : undefined,
    memoryBytes: rssBytes === undefined ? undefined : Number(rssBytes),
    disk: of(metrics?.diskUsedBytes, diskGb * GIB),
  }
}

/** What it was made from, in words: an image of the store by name, one of a URL by its file. */
export function vmImage({ imageName, imageUrl, imageSha256, unowned }: Vm): string {
  if (imageName) return imageName
  if (imageUrl) return fileOf(imageUrl)
  if (!imageSha256) return 'not known'
  return unowned ? 'not in this store' : 'not in the store any more'
}

function fileOf(url: string): string {
  const parsed = URL.parse(url)
  return parsed === null ? url : parsed.pathname.split('/').at(-1) || parsed.host
}

/** What was asked of a VM whose host does not answer, and the act that takes it back; undefined = nothing waits. */
export function waitingWish(vm: Vm): { text: string; undo: 'start' | 'stop' | 'undelete' } | undefined {
  if (!vm.hostUnknown || vm.unowned) return undefined
  if (vm.deletedAt) {
    const told = vm.quarantineEndsAt !== undefined
    return told ? undefined : { text: 'its delete, with its disk to be kept in quarantine', undo: 'undelete' }
  }
  if (vm.power === 'running' && vm.desiredPower === 'stopped') return { text: 'its stop', undo: 'start' }
  if (vm.power === 'stopped' && vm.desiredPower === 'running' && vm.reason === '')
    return { text: 'its start', undo: 'stop' }
  return undefined
}

/** `yes, 30 s after its host booted, place 5` */
export function autostartWords({ autostart, autostartDelayS, autostartOrder }: Vm): string {
  if (!autostart) return 'no'
  const parts = [
    'yes',
    autostartDelayS > 0 && `${formatDuration(autostartDelayS * 1000)} after its host booted`,
    autostartOrder > 0 && `place ${autostartOrder}`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** What can be asked of it now; the word why not, where the screen says one. */
export function vmActions(vm: Vm) {
  const deleted = vm.deletedAt !== undefined
  const ours = !deleted && !vm.unowned
  const running = vm.desiredPower === 'running'
  return {
    // One that is down for good is wanted running already: a start is what makes its host try again.
    start: ours && (!running || vm.phase === 'failed'),
    stop: ours && running,
    restart: ours && running && vm.phase === 'ready',
    forceStop: ours && running && !vm.protected,
    edit: ours,
    remove: ours,
    undelete: deleted,
    purge: deleted,
    adopt: vm.unowned && !vm.hostUnknown,
    console: !vm.unowned,
    publish: ours,
  }
}

export const VM_FILTER_FIELDS = ['state', 'name', 'host', 'ip', 'image', 'label', 'clock', 'id'] as const

/** A column is made when it is asked for: the values of one are looked up in thousands of VMs. */
export const vmFilterRecord = (vm: Vm, nowMs: number): FilterRecord => ({
  get state() {
    return vmState(vm, nowMs).word
  },
  name: vm.name,
  host: vm.hostName,
  get ip() {
    return [vm.ip, vm.networkIp].filter(Boolean).join(' ')
  },
  get image() {
    return vmImage(vm)
  },
  get label() {
    return Object.entries(vm.labels)
      .map(([k, v]) => (v ? `${k}=${v}` : k))
      .join(BETWEEN_VALUES)
  },
  get clock() {
    return vm.power === 'running' ? guestClockState(vm.clock).word : ''
  },
  id: vm.id,
})

const ORDER: Record<StateView['tone'], number> = { bad: 0, warn: 1, unknown: 2, busy: 3, good: 4, quiet: 5, hold: 6 }

/** Sort key of the state column: what needs a person first. */
export const stateRank = (state: StateView): string => `${ORDER[state.tone]} ${state.word}`

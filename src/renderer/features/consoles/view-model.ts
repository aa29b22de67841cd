import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatMoment } from '../../lib/format.ts'
import type { Tone } from '../../ui/state-word.tsx'
import type { ConsoleState, SessionTarget } from './console-session.ts'
import type { PaneTarget } from './workspace-layout.ts'

const LINK: Record<ConsoleState['link'], { word: string; tone: Tone }> = {
  opening: { word: 'Opening', tone: 'busy' },
  live: { word: 'Live', tone: 'good' },
  reconnecting: { word: 'Reconnecting, text kept', tone: 'warn' },
  stopped: { word: 'Off', tone: 'quiet' },
  resting: { word: 'Resting, text kept', tone: 'quiet' },
  lost: { word: 'Eitri is not answering, text kept', tone: 'warn' },
  closed: { word: 'Closed, text kept', tone: 'bad' },
}

export interface ConsoleStatus {
  word: string
  tone: Tone
  notes: string[]
  /** The VM is off: nothing prints and nothing can be typed. */
  off: boolean
}

/** What a console says of itself. `printedAtMs` = when its guest was last seen to print. */
export function consoleStatus(
  vm: Vm | undefined,
  { link, detail, replaying, silent }: ConsoleState,
  printedAtMs: number | undefined,
  nowMs: number,
): ConsoleStatus {
  const off = link === 'stopped' || (link === 'live' && vm?.power === 'stopped' && !vm.hostUnknown)
  const notes = [
    detail,
    off ? `${whyOff(vm)}; ${printed(silent, printedAtMs, nowMs)}` : '',
    replaying ? 'replaying' : '',
    silent && link === 'live' && !off ? 'nothing printed yet' : '',
  ].filter(Boolean)
  return { ...LINK[off ? 'stopped' : link], notes, off }
}

/** A VM on its way is not one that somebody turned off. */
function whyOff(vm: Vm | undefined): string {
  if ((vm?.phase ?? vm?.lifecycle) === 'creating') return 'the VM is being created'
  const coming = vm?.power === 'stopped' && vm.desiredPower === 'running' && vm.reason === ''
  return coming ? 'the VM is starting' : 'the VM is off'
}

function printed(silent: boolean, atMs: number | undefined, nowMs: number): string {
  if (silent) return 'it has printed nothing'
  return `this is what it printed ${atMs === undefined ? 'before' : `until ${formatMoment(new Date(atMs), new Date(nowMs))}`}`
}

/** A shell is its connection: both end together. */
export function shellStatus({ link, detail }: ConsoleState): ConsoleStatus {
  const word = link === 'closed' ? 'Ended, text kept' : link === 'opening' ? 'Signing in' : LINK[link].word
  return { word, tone: LINK[link].tone, notes: [detail].filter(Boolean), off: false }
}

/** What stands in the header of a pane and on its tab. */
export interface PaneIdentity {
  /** `db-3 @ rack2-07`, `root@db-3`, `rack2-07`. */
  name: string
  host: string
  /** `serial0` or `shell`. */
  line: string
  /** It is of something that is not in the fleet any more. */
  gone: boolean
}

export function paneIdentity(target: PaneTarget, vm: Vm | undefined, host: Host | undefined): PaneIdentity {
  if (target.kind === 'console')
    return { name: vm?.name ?? 'a VM that is gone', host: vm?.hostName ?? '', line: 'serial0', gone: !vm }
  if (target.on === 'host') return { name: host?.name ?? 'a host that is gone', host: '', line: 'shell', gone: !host }
  const name = vm ? `${target.login || DEFAULT_LOGIN}@${vm.name}` : 'a VM that is gone'
  return { name, host: vm?.hostName ?? '', line: 'shell', gone: !vm }
}

/** Whom a shell logs in to VMs as where nobody says. */
const DEFAULT_LOGIN = 'root'

export const sessionTarget = (target: PaneTarget): SessionTarget =>
  target.kind === 'console'
    ? { kind: 'console', vmId: target.vmId }
    : { kind: 'shell', place: { kind: target.on, ref: target.id, login: target.login } }

/** A control string left open this long, or a full-screen program that is gone, is no text any more. */
export const STUCK_MS = 2_000

/** Why a view shows nothing more, in words; empty = it does. */
export function stuckWhy(
  openSinceMs: number | undefined,
  leftScreenSinceMs: number | undefined,
  nowMs: number,
): string {
  const long = (since: number | undefined) => since !== undefined && nowMs - since >= STUCK_MS
  if (long(openSinceMs)) return 'The guest began a control sequence and never ended it: what it prints is not shown.'
  if (long(leftScreenSinceMs)) return 'A full-screen program ended without giving the screen back.'
  return ''
}

import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatMoment } from '../../lib/format.ts'
import type { Tone } from '../../ui/state-word.tsx'
import type { ConsoleState } from './console-session.ts'

const LINK: Record<ConsoleState['link'], { word: string; tone: Tone }> = {
  opening: { word: 'Opening', tone: 'busy' },
  live: { word: 'Live', tone: 'good' },
  reconnecting: { word: 'Reconnecting, text kept', tone: 'warn' },
  stopped: { word: 'Off', tone: 'quiet' },
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
  vm: Vm,
  { link, detail, replaying, silent }: ConsoleState,
  printedAtMs: number | undefined,
  nowMs: number,
): ConsoleStatus {
  const off = link === 'stopped' || (link === 'live' && vm.power === 'stopped' && !vm.hostUnknown)
  const notes = [
    detail,
    off ? `the VM is off; ${printed(silent, printedAtMs, nowMs)}` : '',
    replaying ? 'replaying' : '',
    silent && link === 'live' && !off ? 'nothing printed yet' : '',
  ].filter(Boolean)
  return { ...LINK[off ? 'stopped' : link], notes, off }
}

function printed(silent: boolean, atMs: number | undefined, nowMs: number): string {
  if (silent) return 'it has printed nothing'
  return `this is what it printed ${atMs === undefined ? 'before' : `until ${formatMoment(new Date(atMs), new Date(nowMs))}`}`
}

import { lookup } from '../../../ipc/base/lookup.ts'
import { printable } from '../../../ipc/fault-text.ts'
import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import type { Port, PortProbe } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { StateView } from '../../ui/state-word.tsx'
import type { Probed } from './probes.ts'

const WORDS: Record<string, StateView> = {
  open: { word: 'Open', tone: 'good' },
  refused: { word: 'Refused', tone: 'bad' },
  silent: { word: 'Silent', tone: 'warn' },
  unreachable: { word: 'No way there', tone: 'bad' },
  'not-tried': { word: 'Not tried', tone: 'quiet' },
}

/** The state word of one try. */
export function probeState({ state, detail }: PortProbe): StateView {
  const known = lookup(WORDS, state) ?? { word: 'Unknown', tone: 'unknown' as const }
  const why = printable(detail)
  return why === '' ? known : { ...known, detail: why }
}

const FROM: Record<string, string> = { 'this computer': 'From this computer' }
export const probeFrom = ({ from }: PortProbe, port: Pick<Port, 'hostName'>): string =>
  lookup(FROM, from) ?? `From ${port.hostName}`

/** One word for both tries: what keeps people out comes first. Undefined = it was never tried. */
export function reachState(probed: Probed | undefined): StateView | undefined {
  if (!probed) return undefined
  if (probed.state === 'running') return { word: 'Trying, at most 5 s', tone: 'busy' }
  if (probed.state === 'failed')
    return { word: 'Not tried', tone: 'unknown', detail: windowFaultText(probed.fault.code, probed.fault.params).what }
  const here = probed.probes.find(({ from }) => from === 'this computer')
  const there = probed.probes.find(({ from }) => from === 'host')
  if (here?.state === 'open')
    return there?.state === 'refused' ? probeState(there) : { word: 'Reachable', tone: 'good' }
  if (here && here.state !== 'not-tried') return probeState(here)
  if (there?.state === 'open') return { word: 'Guest answers', tone: 'good', detail: printable(here?.detail ?? '') }
  return there && there.state !== 'not-tried' ? probeState(there) : here && probeState(here)
}

/** The program that listens, as far as it is known. */
export function listenerWords({ state, reason, hostUnknown }: Port): string {
  if (hostUnknown || state === undefined) return 'not known'
  if (state === 'listening') return "Eitri's agent"
  const [, program] = /used by ([^.]+)\.?$/.exec(printable(reason)) ?? []
  return program ?? 'nobody'
}

/** Who can reach it, in one sentence. */
export const scopeWords = ({ scope, hostName }: Port): string =>
  scope === 'loopback'
    ? `Programs on ${hostName} only. Nothing outside it gets there, whatever its firewall says.`
    : `Everybody who reaches ${hostName}, as far as its firewall lets them.`

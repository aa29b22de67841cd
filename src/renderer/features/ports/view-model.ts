import { lookup } from '../../../ipc/base/lookup.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { problemsOf } from '../../../ipc/rules.ts'
import type { FilterRecord } from '../../lib/filter.ts'
import type { StateView } from '../../ui/state-word.tsx'

const LAST_PORT = 65_535

const WORDS: Record<string, StateView> = {
  listening: { word: 'Listening', tone: 'good' },
  failed: { word: 'Failed', tone: 'bad' },
  waiting: { word: 'Waiting', tone: 'busy' },
}

/** What a host said last is no state while it does not answer. */
export function portState(port: Port): StateView {
  const said = port.state === undefined ? undefined : lookup(WORDS, port.state)
  const reason = printable(port.reason)
  if (!said) return { word: 'Unknown', tone: 'unknown', detail: `${port.hostName} has not said` }
  if (port.hostUnknown)
    return { word: 'Unknown', tone: 'unknown', detail: `${port.hostName} does not answer; last known: ${port.state}` }
  return { ...said, ...(reason === '' ? {} : { detail: reason }) }
}

/** The part of the reason that a row has room for: what is in the way, without what the row says already. */
export function shortReason(port: Port): string {
  if (port.state === undefined) return 'not said yet'
  if (port.hostUnknown) return `was ${port.state}`
  return printable(port.reason)
    .replace(/^Port \d+(?: on \S+)? is /, '')
    .replace(/ \(pid \d+\)/, '')
    .replace(/\.$/, '')
}

const udp = (port: Pick<Port, 'protocol'>): string => (port.protocol === 'udp' ? '/udp' : '')

/** `192.0.2.7:8443`, as a client dials it; an IPv6 address stands in brackets. */
export function publishedAt(port: Port): string {
  const address = port.scope === 'loopback' ? '127.0.0.1' : port.hostAddress || port.hostName
  return `${address.includes(':') ? `[${address}]` : address}:${port.hostPort}${udp(port)}`
}

export const leadsTo = (port: Port): string => `${port.vmName}:${port.guestPort}${udp(port)}`

/** `3 now · 1 refused`; undefined = its host does not count, or does not answer now. */
export function sessionWords({ sessions, hostUnknown }: Port): string | undefined {
  if (!sessions || hostUnknown) return undefined
  const parts = [`${sessions.active} now`]
  if (sessions.refused > 0n) parts.push(`${sessions.refused} refused`)
  if (sessions.dropped > 0n) parts.push(`${sessions.dropped} dropped`)
  return parts.join(' · ')
}

export const PORT_FILTER_FIELDS = ['vm', 'host', 'port', 'protocol', 'state', 'open']

export const portFilterRecord = (port: Port): FilterRecord => ({
  vm: port.vmName,
  host: port.hostName,
  port: `${publishedAt(port)} ${port.guestPort}`,
  protocol: port.protocol,
  state: portState(port).word,
  open: port.scope === 'loopback' ? 'host only' : 'network',
})

/** The next host port of the same protocol that nothing is published on; undefined = none is left. */
export function nextFree(ports: Iterable<Port>, { hostId, protocol, hostPort }: Port): number | undefined {
  const taken = new Set([...ports].flatMap((p) => (p.hostId === hostId && p.protocol === protocol ? [p.hostPort] : [])))
  for (let port = hostPort + 1; port <= LAST_PORT; port++) if (!taken.has(port)) return port
  return undefined
}

export interface PortDraft {
  vm: string
  guestPort: string
  hostPort: string
  protocol: string
  scope: string
}

export const EMPTY_PORT: PortDraft = { vm: '', guestPort: '', hostPort: '', protocol: 'tcp', scope: 'lan' }

const NUMBER = /^\d{1,5}$/

/** As asked of the fleet; an empty host port means one of the reserved range. */
export const requestOf = (draft: PortDraft) => ({
  vm: draft.vm,
  guestPort: NUMBER.test(draft.guestPort) ? Number(draft.guestPort) : Number.NaN,
  hostPort: draft.hostPort === '' ? 0 : NUMBER.test(draft.hostPort) ? Number(draft.hostPort) || Number.NaN : Number.NaN,
  protocol: draft.protocol,
  scope: draft.scope,
})

const USE_A_PORT = 'use a port from 1 to 65535'

/** Of each field, what is wrong with it; a field nobody has filled in yet is only not ready. */
export function portProblems(draft: PortDraft): { ready: boolean; guestPort?: string; hostPort?: string } {
  const problems = problemsOf('publishPort', requestOf(draft))
  const of = (field: string) => problems.some((p) => p.field === field)
  return {
    ready: problems.length === 0,
    ...(of('guest_port') && draft.guestPort !== '' ? { guestPort: USE_A_PORT } : {}),
    ...(of('host_port') ? { hostPort: USE_A_PORT } : {}),
  }
}

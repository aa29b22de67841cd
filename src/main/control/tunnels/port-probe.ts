import net from 'node:net'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Clock } from '../../../ipc/base/clock.ts'
import { faultText } from '../../../ipc/fault-text.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import type { Port, PortProbeSchema } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import {
  addressNotTried,
  loopbackNotTried,
  type ProbeState,
  probeFromHereWords,
  probeFromHostWords,
  UDP_NOT_TESTABLE,
} from '../../../ipc/port-words.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import { openGuestStream } from './guest-stream.ts'
import type { TunnelPlaces } from './tunnel-places.ts'

const PROBE_MS = 5_000
/** A host takes a connection before its guest does, and hangs up when the guest does not. */
const HANGS_UP_MS = 400
const NO_WAY = ['EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EACCES', 'EPERM']

type Probe = MessageInitShape<typeof PortProbeSchema>
type Tried = { state: ProbeState; detail?: string }

export interface ProbeParts {
  port: Port
  /** The host is this computer. */
  isLocal: boolean
  session: ActiveSession | undefined
  places: TunnelPlaces
  clock: Pick<Clock, 'monotonic'>
  signal: AbortSignal
}

/** Tries a published port from this computer, and its guest's port from the host; changes nothing, never raises but when aborted. */
export async function probePort(parts: ProbeParts): Promise<Probe[]> {
  const { port, signal } = parts
  const probes = await Promise.all([fromHere(parts), fromHost(parts)])
  signal.throwIfAborted()
  return port.protocol === 'udp'
    ? probes.map(({ from, to }) => ({ from, to, state: 'not-tried', detail: UDP_NOT_TESTABLE }) as Probe)
    : probes
}

const namesOf = ({ hostName: host, vmName: vm, hostPort, guestPort }: Port) => ({ host, vm, hostPort, guestPort })

async function fromHere({ port, isLocal, clock, signal }: ProbeParts): Promise<Probe> {
  const isLoopback = port.scope === 'loopback'
  const address = isLoopback ? '127.0.0.1' : port.hostAddress
  const to = `${net.isIPv6(address) ? `[${address}]` : address || port.hostName}:${port.hostPort}`
  const skipped = (detail: string): Probe => ({ from: 'this computer', to, state: 'not-tried', detail })
  if (isLoopback && !isLocal) return skipped(loopbackNotTried(port.hostName))
  if (address === '') return skipped(addressNotTried(port.hostName))
  if (port.protocol === 'udp') return skipped(UDP_NOT_TESTABLE)
  return {
    from: 'this computer',
    to,
    ...(await timed(clock, () => dial(address, port.hostPort, signal), probeFromHereWords, port)),
  }
}

async function fromHost({ port, session, places, clock, signal }: ProbeParts): Promise<Probe> {
  const to = `${port.vmName}:${port.guestPort}`
  const skipped = (detail: string): Probe => ({ from: 'host', to, state: 'not-tried', detail })
  if (port.protocol === 'udp') return skipped(UDP_NOT_TESTABLE)
  const vm = { id: port.vmId, name: port.vmName, hostId: port.hostId, hostName: port.hostName }
  if (!session) return skipped(oneSentence(new Fault('host/no-answer', 'transient', { host: port.hostName })))
  const tried = () => throughAgent({ session, vm, port: port.guestPort, places, signal })
  return { from: 'host', to, ...(await timed(clock, tried, probeFromHostWords, port)) }
}

async function timed(
  clock: Pick<Clock, 'monotonic'>,
  tried: () => Promise<Tried>,
  words: typeof probeFromHereWords,
  port: Port,
) {
  const began = clock.monotonic()
  const { state, detail } = await tried()
  const answered = state === 'open' || state === 'refused'
  return {
    state,
    detail: detail ?? words(state, namesOf(port)),
    ...(answered ? { tookMs: Math.max(0, Math.round(clock.monotonic() - began)) } : {}),
  }
}

/** Connects, sees whether it is hung up on at once, and hangs up itself. */
function dial(host: string, port: number, signal: AbortSignal): Promise<Tried> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, signal })
    const end = (state: ProbeState) => {
      clearTimeout(late)
      resolve({ state })
      socket.destroy()
    }
    const late = setTimeout(() => end('silent'), PROBE_MS)
    socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => end(NO_WAY.includes(code) ? 'unreachable' : 'refused'))
    socket.once('connect', () => {
      clearTimeout(late)
      const stays = setTimeout(() => end('open'), HANGS_UP_MS)
      // What talks first is there, whether or not it hangs up then.
      socket.once('data', () => {
        clearTimeout(stays)
        end('open')
      })
      socket.once('end', () => {
        clearTimeout(stays)
        end('refused')
      })
    })
  })
}

async function throughAgent(of: {
  session: ActiveSession
  vm: { id: string; name: string; hostId: string; hostName: string }
  port: number
  places: TunnelPlaces
  signal: AbortSignal
}): Promise<Tried> {
  const late = AbortSignal.timeout(PROBE_MS)
  const over = new AbortController()
  let giveBack: (() => void) | undefined
  try {
    giveBack = of.places.take(of.vm)
    const signal = AbortSignal.any([of.signal, late, over.signal])
    const stream = await openGuestStream({ ...of, signal, drained: () => undefined })
    stream.outbox.close()
    return { state: 'open' }
  } catch (error) {
    if (late.aborted) return { state: 'silent' }
    const fault = asFault(error)
    if (fault.code === 'port/not-taken') return { state: 'refused' }
    if (fault.code === 'port/no-way') return { state: 'unreachable', detail: oneSentence(fault) }
    return { state: 'not-tried', detail: oneSentence(fault) }
  } finally {
    over.abort()
    giveBack?.()
  }
}

function oneSentence({ code, params }: Fault): string {
  const { what, next } = faultText(code, params)
  return `${what.replace(/\.$/, '')}: ${next.charAt(0).toLowerCase()}${next.slice(1)}`
}

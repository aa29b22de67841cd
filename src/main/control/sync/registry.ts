import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Fault } from '../../../ipc/faults.ts'
import type { ExposureStatus, Hello, Report } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { QuarantinedVm, VmRow } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { type ClockSample, withSample } from '../clock/app-offset.ts'
import type { ActiveSession, AgentConnection } from '../hosts/agent-connection.ts'
import { type Seen, seenIn } from './seen.ts'

/** Words of Host.link. */
export type LinkState =
  | 'connected'
  | 'connecting'
  | 'unreachable'
  | 'sign_in_needed'
  | 'key_not_trusted'
  | 'key_changed'
  | 'agent_missing'
  | 'held_by_other'
  | 'identity_mismatch'

export interface LinkStatus {
  state: LinkState
  /** Absent = connected, or no try has ended yet. */
  fault?: Fault
  nextTryAt?: Date
  carrier?: AgentConnection['carrier']
}

/** What is known of a host only while this process lives. Absent = not known, never zero. */
export interface HostLive {
  link: LinkStatus
  session?: ActiveSession
  /** The last Hello and Report, kept when the session ends: last known, not current. */
  hello?: Hello
  report?: Report
  /** What the agent was told last, as the session that lives says. Absent = as its Hello says. */
  seen?: Seen
  /** The report's rows by id. */
  vms?: ReadonlyMap<string, VmRow>
  quarantined?: ReadonlyMap<string, QuarantinedVm>
  exposures?: ReadonlyMap<string, ExposureStatus>
  /** When the last report arrived, wall clock and monotonic ms. */
  reportedAt?: Date
  reportedMonotonic?: number
  /** How far its clock is from this computer's, on the session that is or was last. Absent = not measured. */
  clockSamples?: readonly ClockSample[]
}

const NOT_YET: LinkStatus = { state: 'connecting' }

/** Live state of every host, in memory. Newest session wins; a late end of an older one changes nothing. */
export class Registry {
  readonly #hosts = new Map<string, HostLive>()
  readonly #changeListeners = new Set<(hostId: string) => void>()
  readonly #sessionListeners = new Map<string, Set<(session: ActiveSession | undefined) => void>>()

  /** Hosts of which something is known. */
  ids(): string[] {
    return [...this.#hosts.keys()]
  }

  live(hostId: string): HostLive {
    return this.#hosts.get(hostId) ?? { link: NOT_YET }
  }

  active(hostId: string): ActiveSession | undefined {
    return this.#hosts.get(hostId)?.session
  }

  /** Something shown of a host beside what is kept here changed. */
  touch(hostId: string): void {
    for (const listener of this.#changeListeners) listener(hostId)
  }

  setLink(hostId: string, link: LinkStatus): void {
    this.#update(hostId, (live) => {
      live.link = link
    })
  }

  /** Takes over from an older session of the host, whose connection is closed as superseded by whoever runs it. */
  sessionStarted(session: ActiveSession): void {
    this.#update(session.hostId, (live) => {
      live.session = session
      live.hello = session.hello
      delete live.seen
      delete live.clockSamples
    })
    this.#tellSession(session.hostId, session)
  }

  /** Forgets the session only while it is still the current one. */
  sessionEnded(session: ActiveSession): void {
    if (this.active(session.hostId) !== session) return
    this.#update(session.hostId, (live) => {
      delete live.session
    })
    this.#tellSession(session.hostId, undefined)
  }

  /** A report of the current session; one of an older session is dropped. */
  reported(session: ActiveSession, report: Report, at: { date: Date; monotonic: number }): boolean {
    if (this.active(session.hostId) !== session) return false
    this.#update(session.hostId, (live) => {
      live.report = report
      live.seen = seenIn(report)
      live.vms = new Map(report.vms.map((vm) => [vm.vmId, vm]))
      live.quarantined = new Map(report.quarantined.map((vm) => [vm.vmId, vm]))
      live.exposures = new Map(report.exposures.map((exposure) => [exposure.id, exposure]))
      live.reportedAt = at.date
      live.reportedMonotonic = at.monotonic
      const sample = clockSample(session, report, at)
      if (sample) live.clockSamples = withSample(live.clockSamples ?? [], sample)
    })
    return true
  }

  /** The host left the fleet. */
  forget(hostId: string): void {
    this.#hosts.delete(hostId)
    this.#tellSession(hostId, undefined)
    this.#sessionListeners.delete(hostId)
  }

  /** Called at each start (the session) and end (undefined) of a host's session; returns its stop function. */
  onSession(hostId: string, listener: (session: ActiveSession | undefined) => void): () => void {
    const listeners = this.#sessionListeners.get(hostId) ?? new Set()
    this.#sessionListeners.set(hostId, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#sessionListeners.get(hostId) === listeners)
        this.#sessionListeners.delete(hostId)
    }
  }

  /** Called when anything of a host's live state changed; returns its stop function. */
  onChange(listener: (hostId: string) => void): () => void {
    this.#changeListeners.add(listener)
    return () => this.#changeListeners.delete(listener)
  }

  #update(hostId: string, change: (live: HostLive) => void): void {
    const live = { ...this.live(hostId) }
    change(live)
    this.#hosts.set(hostId, live)
    for (const listener of this.#changeListeners) listener(hostId)
  }

  #tellSession(hostId: string, session: ActiveSession | undefined): void {
    for (const listener of [...(this.#sessionListeners.get(hostId) ?? [])]) listener(session)
  }
}

function clockSample(
  session: ActiveSession,
  { builtAt }: Report,
  { date, monotonic }: { date: Date; monotonic: number },
): ClockSample | undefined {
  const roundTripMs = builtAt && session.connection.roundTripMs
  if (!builtAt || roundTripMs === undefined) return undefined
  const now = date.getTime()
  return { rawMs: timestampMs(builtAt) - now, roundTripMs, baseMs: now - monotonic }
}

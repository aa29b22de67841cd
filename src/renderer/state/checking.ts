import { create } from 'zustand'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { desktopShell } from '../api/bridge.ts'
import { msOf } from '../lib/timestamp.ts'
import { type FleetSnapshot, fleetStore } from './fleet-store.ts'

/** No longer: then what the control plane says of a host stands, whatever it is. */
export const CHECK_MS = 60_000
const TICK_MS = 5000
/** A timer that late means that the computer slept; a hidden window alone is held back by at most a minute. */
const SLEPT_MS = 90_000

interface Checking {
  /** Ms since the epoch; undefined = nothing is being checked. */
  since: number | undefined
  /** Ids of hosts whose state is from before. */
  pending: ReadonlySet<string>
}

const IDLE: Checking = { since: undefined, pending: new Set() }

export const useChecking = create<Checking>(() => IDLE)

/** Whether what is known of a host is from before the sleep or the silence, and not looked at again yet. */
export const useIsChecking = (hostId: string): boolean => useChecking((c) => c.pending.has(hostId))

/** Hosts that claim to be connected, or are on the way, without a report since. */
export function pendingHosts(hosts: Iterable<Host>, since: number): ReadonlySet<string> {
  const pending = [...hosts].filter(
    ({ link, lastSeenAt }) => link === 'connecting' || (link === 'connected' && (msOf(lastSeenAt) ?? 0) < since),
  )
  return new Set(pending.map(({ id }) => id))
}

/** What is still to be checked after a look; idle when all is fresh, or when it took too long. */
export function checkedOn(checking: Checking, fleet: FleetSnapshot, nowMs: number): Checking {
  const { since } = checking
  if (since === undefined) return checking
  if (nowMs - since > CHECK_MS) return IDLE
  if (fleet.feed.state !== 'live') return checking
  const pending = pendingHosts(fleet.hosts.values(), since)
  return pending.size === 0 ? IDLE : { since, pending }
}

/** Nothing counts as fresh until its host is heard again: after a sleep, or when this window was told nothing for a while. */
export function watchSleep(): void {
  let ticked = Date.now()
  let wasLost = false
  const begin = () => {
    const since = Date.now()
    useChecking.setState({ since, pending: pendingHosts(fleetStore.getState().hosts.values(), since) })
  }
  desktopShell().onResume?.(begin)
  setInterval(() => {
    const now = Date.now()
    if (now - ticked > SLEPT_MS) begin()
    ticked = now
    look()
  }, TICK_MS)
  const look = () => {
    const before = useChecking.getState()
    const next = checkedOn(before, fleetStore.getState(), Date.now())
    if (next !== before) useChecking.setState(next)
  }
  fleetStore.subscribe((fleet) => {
    const { state } = fleet.feed
    if (state === 'live' && wasLost) begin()
    wasLost = state === 'lost'
    if (useChecking.getState().since !== undefined) look()
  })
}

import { useCallback, useMemo } from 'react'
import { create } from 'zustand'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { keep, readKept } from './kept.ts'
import type { ById } from './row-list.ts'
import { useFleet, useHosts, usePorts, useVms } from './use-fleet.ts'

/** Which part of the fleet every list shows. A label is `key` or `key=value`, as hosts carry it. */
export type Scope = { kind: 'all' } | { kind: 'host'; id: string } | { kind: 'label'; label: string }

const KEY = 'eitri.scope'
const ALL: Scope = { kind: 'all' }

/** `host:<id>` or `label:<label>`; anything else is the whole fleet. */
export function readScope(stored: string | null): Scope {
  const [, kind, rest = ''] = /^(host|label):(.+)$/.exec(stored ?? '') ?? []
  if (kind === 'host') return { kind, id: rest }
  return kind === 'label' ? { kind, label: rest } : ALL
}

export function scopeText(scope: Scope): string {
  if (scope.kind === 'all') return 'all'
  return scope.kind === 'host' ? `host:${scope.id}` : `label:${scope.label}`
}

/** `key`, or `key=value` where it has a value. */
export const labelsOf = ({ labels }: Pick<Host, 'labels'>): string[] =>
  Object.entries(labels).map(([key, value]) => (value === '' ? key : `${key}=${value}`))

export const scopeHas = (scope: Scope, host: Pick<Host, 'id' | 'labels'>): boolean =>
  scope.kind === 'all' || (scope.kind === 'host' ? host.id === scope.id : labelsOf(host).includes(scope.label))

/** The scope that holds now: one of a host or label that is gone is the whole fleet again. */
export function heldScope(scope: Scope, hosts: Iterable<Pick<Host, 'id' | 'labels'>>): Scope {
  if (scope.kind === 'all') return scope
  for (const host of hosts) if (scopeHas(scope, host)) return scope
  return ALL
}

const useChosen = create<{ scope: Scope }>(() => ({ scope: readScope(readKept(KEY)) }))

export function setScope(scope: Scope): void {
  useChosen.setState({ scope })
  keep(KEY, scopeText(scope))
}

export function useScope(): Scope {
  const chosen = useChosen((s) => s.scope)
  return useFleet((f) => heldScope(chosen, f.hosts.values()))
}

/** Whether what is on a host belongs to what is shown. What is on no known host does only in the whole fleet. */
export function useInScope(): (hostId: string) => boolean {
  const scope = useScope()
  const ids = useFleet((f) => idsIn(scope, f.hosts))
  return useCallback((hostId: string) => ids === undefined || ids.has(hostId), [ids])
}

let last: { scope: Scope; hosts: ById<Host>; ids: ReadonlySet<string> } | undefined

/** The same set again while its members are the same, so that lists are not filtered anew at every report. */
function idsIn(scope: Scope, hosts: ById<Host>): ReadonlySet<string> | undefined {
  if (scope.kind === 'all') return undefined
  if (last?.scope === scope && last.hosts === hosts) return last.ids
  const ids = new Set([...hosts.values()].filter((h) => scopeHas(scope, h)).map((h) => h.id))
  const same = last?.scope === scope && ids.size === last.ids.size && [...ids].every((id) => last?.ids.has(id))
  last = { scope, hosts, ids: same && last ? last.ids : ids }
  return last.ids
}

function useScoped<T>(rows: T[], hostOf: (row: T) => string): T[] {
  const inScope = useInScope()
  const scope = useScope()
  return useMemo(
    () => (scope.kind === 'all' ? rows : rows.filter((row) => inScope(hostOf(row)))),
    [rows, scope, inScope, hostOf],
  )
}

const idOf = (row: { id: string }) => row.id
const hostIdOf = (row: { hostId: string }) => row.hostId

export const useScopedHosts = () => useScoped(useHosts(), idOf)
export const useScopedVms = () => useScoped(useVms(), hostIdOf)
export const useScopedPorts = () => useScoped(usePorts(), hostIdOf)

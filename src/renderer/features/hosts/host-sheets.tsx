import { create } from 'zustand'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { fleetStore } from '../../state/fleet-store.ts'
import { useFleetShallow, useHost } from '../../state/use-fleet.ts'
import { SheetSubject } from '../../ui/sheet-subject.tsx'
import { CompareKeysSheet } from './compare-keys-sheet.tsx'
import { DrainSheet } from './drain-sheet.tsx'
import { EditHostSheet } from './edit-host-sheet.tsx'
import { goneHost, goneHosts } from './gone-host.ts'
import { JoinSheet } from './join-sheet.tsx'
import { RemoveHostSheet } from './remove-host-sheet.tsx'
import { RevokeSheet } from './revoke-sheet.tsx'
import { SignInSheet } from './sign-in-sheet.tsx'
import { TakeOverSheet } from './take-over-sheet.tsx'
import { UpgradeSheet } from './upgrade-sheet.tsx'

type OneKind = 'remove' | 'sign-in' | 'compare-keys' | 'take-over' | 'revoke'
type ManyKind = 'edit' | 'drain' | 'upgrade'
type Open = { kind: OneKind; host: Host } | { kind: ManyKind; hosts: readonly Host[] } | { kind: 'join' }

const useSheet = create<{ open: Open | undefined }>(() => ({ open: undefined }))
const close = () => useSheet.setState({ open: undefined })
const one = (kind: OneKind) => (host: Host) => useSheet.setState({ open: { kind, host } })
const many = (kind: ManyKind) => (hosts: readonly Host[]) => useSheet.setState({ open: { kind, hosts } })

const sheets = {
  remove: one('remove'),
  signIn: one('sign-in'),
  compareKeys: one('compare-keys'),
  takeOver: one('take-over'),
  revoke: one('revoke'),
  edit: many('edit'),
  drain: many('drain'),
  upgrade: many('upgrade'),
  join: () => useSheet.setState({ open: { kind: 'join' } }),
}

export const useHostSheets = () => sheets

/** The hosts of a selection that are still in the fleet. */
export const hostsOf = (ids: readonly string[]): Host[] => {
  const { hosts } = fleetStore.getState()
  return ids.map((id) => hosts.get(id)).filter((host): host is Host => host !== undefined)
}

/** Mounted once, by the shell. */
export function HostSheets() {
  const open = useSheet((s) => s.open)
  if (!open) return null
  if (open.kind === 'join') return <JoinSheet onClose={close} />
  if ('host' in open) return <OfOne key={`${open.kind} ${open.host.id}`} {...open} />
  return <OfMany key={open.kind} {...open} />
}

function OfOne({ kind, host }: { kind: OneKind; host: Host }) {
  const now = useHost(host.id)
  return (
    <SheetSubject gone={goneHost(kind, host, now)}>
      <SheetOfOne kind={kind} host={host} />
    </SheetSubject>
  )
}

function SheetOfOne({ kind, host }: { kind: OneKind; host: Host }) {
  switch (kind) {
    case 'remove':
      return <RemoveHostSheet host={host} onClose={close} />
    case 'sign-in':
      return <SignInSheet host={host} onClose={close} />
    case 'compare-keys':
      return <CompareKeysSheet host={host} onClose={close} />
    case 'take-over':
      return <TakeOverSheet host={host} onClose={close} />
    case 'revoke':
      return <RevokeSheet host={host} onClose={close} />
  }
}

/** Of many it goes on with those that are left; of one that left it keeps what was typed. */
function OfMany({ kind, hosts: opened }: { kind: ManyKind; hosts: readonly Host[] }) {
  const left = useFleetShallow((f) => opened.filter(({ id }) => f.hosts.has(id)))
  const hosts = left.length > 0 && opened.length > 1 ? left : opened
  return (
    <SheetSubject gone={goneHosts(opened, left.length)}>
      {kind === 'edit' && <EditHostSheet hosts={hosts} many={opened.length > 1} onClose={close} />}
      {kind === 'drain' && <DrainSheet hosts={hosts} onClose={close} />}
      {kind === 'upgrade' && <UpgradeSheet hosts={hosts} onClose={close} />}
    </SheetSubject>
  )
}

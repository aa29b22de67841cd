import { create } from 'zustand'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { fleetStore } from '../../state/fleet-store.ts'
import { CompareKeysSheet } from './compare-keys-sheet.tsx'
import { DrainSheet } from './drain-sheet.tsx'
import { EditHostSheet } from './edit-host-sheet.tsx'
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
  switch (open.kind) {
    case 'remove':
      return <RemoveHostSheet host={open.host} onClose={close} />
    case 'sign-in':
      return <SignInSheet host={open.host} onClose={close} />
    case 'compare-keys':
      return <CompareKeysSheet host={open.host} onClose={close} />
    case 'take-over':
      return <TakeOverSheet host={open.host} onClose={close} />
    case 'revoke':
      return <RevokeSheet host={open.host} onClose={close} />
    case 'edit':
      return <EditHostSheet hosts={open.hosts} onClose={close} />
    case 'drain':
      return <DrainSheet hosts={open.hosts} onClose={close} />
    case 'upgrade':
      return <UpgradeSheet hosts={open.hosts} onClose={close} />
    case 'join':
      return <JoinSheet onClose={close} />
  }
}

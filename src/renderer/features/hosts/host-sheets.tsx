import { create } from 'zustand'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { CompareKeysSheet } from './compare-keys-sheet.tsx'
import { RemoveHostSheet } from './remove-host-sheet.tsx'
import { SignInSheet } from './sign-in-sheet.tsx'
import { TakeOverSheet } from './take-over-sheet.tsx'

const useSheet = create<{
  open: { kind: 'remove' | 'sign-in' | 'compare-keys' | 'take-over'; host: Host } | undefined
}>(() => ({
  open: undefined,
}))
const close = () => useSheet.setState({ open: undefined })

const sheets = {
  remove: (host: Host) => useSheet.setState({ open: { kind: 'remove', host } }),
  compareKeys: (host: Host) => useSheet.setState({ open: { kind: 'compare-keys', host } }),
  takeOver: (host: Host) => useSheet.setState({ open: { kind: 'take-over', host } }),
  signIn: (host: Host) => useSheet.setState({ open: { kind: 'sign-in', host } }),
}

export const useHostSheets = () => sheets

/** Mounted once, by the shell. */
export function HostSheets() {
  const open = useSheet((s) => s.open)
  if (!open) return null
  const { kind, host } = open
  if (kind === 'remove') return <RemoveHostSheet host={host} onClose={close} />
  if (kind === 'sign-in') return <SignInSheet host={host} onClose={close} />
  if (kind === 'take-over') return <TakeOverSheet host={host} onClose={close} />
  return <CompareKeysSheet host={host} onClose={close} />
}

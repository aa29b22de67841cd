import { create } from 'zustand'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { RemoveHostSheet } from './remove-host-sheet.tsx'
import { SignInSheet } from './sign-in-sheet.tsx'

const useSheet = create<{ open: { kind: 'remove' | 'sign-in'; host: Host } | undefined }>(() => ({ open: undefined }))
const close = () => useSheet.setState({ open: undefined })

const sheets = {
  remove: (host: Host) => useSheet.setState({ open: { kind: 'remove', host } }),
  signIn: (host: Host) => useSheet.setState({ open: { kind: 'sign-in', host } }),
}

export const useHostSheets = () => sheets

/** Mounted once, by the shell. */
export function HostSheets() {
  const open = useSheet((s) => s.open)
  if (!open) return null
  return open.kind === 'remove' ? (
    <RemoveHostSheet host={open.host} onClose={close} />
  ) : (
    <SignInSheet host={open.host} onClose={close} />
  )
}

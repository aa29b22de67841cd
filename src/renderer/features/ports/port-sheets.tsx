import { create } from 'zustand'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { fleetStore } from '../../state/fleet-store.ts'
import { PublishSheet } from './publish-sheet.tsx'

const useSheet = create<{ open: { vms: Vm[]; chosen: string } | undefined }>(() => ({ open: undefined }))

const publishable = (vm: Vm): boolean => vm.deletedAt === undefined && !vm.unowned

/** Opens the sheet for one VM, or for any of the fleet. Nothing happens where there is none to publish a port of. */
export function openPublish(vm?: Vm): void {
  const vms = vm ? [vm] : [...fleetStore.getState().vms.values()]
  const offered = vms.filter(publishable).sort((a, b) => a.name.localeCompare(b.name))
  if (offered.length > 0) useSheet.setState({ open: { vms: offered, chosen: '' } })
}

/** Mounted once, by the shell. */
export function PortSheets() {
  const open = useSheet((s) => s.open)
  if (!open) return null
  return <PublishSheet {...open} onClose={() => useSheet.setState({ open: undefined })} />
}

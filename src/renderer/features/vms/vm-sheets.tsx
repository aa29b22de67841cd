import { create } from 'zustand'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { fleetStore } from '../../state/fleet-store.ts'
import { undeleteVm } from './actions.ts'
import { DeleteSheet } from './delete-sheet.tsx'
import { PurgeSheet } from './purge-sheet.tsx'
import { UndeleteSheet } from './undelete-sheet.tsx'

interface OpenSheet {
  open: { kind: 'remove' | 'purge' | 'rename'; vm: Vm } | undefined
}

const useSheet = create<OpenSheet>(() => ({ open: undefined }))
const show = (kind: 'remove' | 'purge' | 'rename', vm: Vm) => useSheet.setState({ open: { kind, vm } })
const close = () => useSheet.setState({ open: undefined })

const isNameTaken = (name: string) =>
  [...fleetStore.getState().vms.values()].some((vm) => vm.name === name && vm.deletedAt === undefined)

const sheets = {
  remove: (vm: Vm) => show('remove', vm),
  purge: (vm: Vm) => show('purge', vm),
  /** Brings it back at once; asks for a new name when its own was taken meanwhile. */
  undelete: (vm: Vm) => (isNameTaken(vm.name) ? show('rename', vm) : void undeleteVm(vm)),
}

/** The sheets that stand before an act on a VM, from any screen. */
export const useVmSheets = () => sheets

/** Mounted once, by the shell. */
export function VmSheets() {
  const open = useSheet((s) => s.open)
  if (!open) return null
  switch (open.kind) {
    case 'remove':
      return <DeleteSheet vm={open.vm} onClose={close} />
    case 'purge':
      return <PurgeSheet vm={open.vm} onClose={close} />
    case 'rename':
      return <UndeleteSheet vm={open.vm} onClose={close} isTaken={isNameTaken} />
  }
}

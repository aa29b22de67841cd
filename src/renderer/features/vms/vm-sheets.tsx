import { create } from 'zustand'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { problemsOf } from '../../../ipc/rules.ts'
import { fleetStore } from '../../state/fleet-store.ts'
import { useFleet, useVm } from '../../state/use-fleet.ts'
import { SheetSubject } from '../../ui/sheet-subject.tsx'
import { adoptVm, undeleteVm } from './actions.ts'
import { CloneSheet } from './clone-sheet.tsx'
import { DeleteSheet } from './delete-sheet.tsx'
import { EditSheet } from './edit-sheet.tsx'
import { ForceStopSheet } from './force-stop-sheet.tsx'
import { goneVm, type VmSheetKind } from './gone-vm.ts'
import { PurgeSheet } from './purge-sheet.tsx'
import { RenameSheet } from './rename-sheet.tsx'
import { TemplateSheet } from './template-sheet.tsx'

interface Open {
  kind: VmSheetKind
  vm: Vm
}

const useSheet = create<{ open: Open | undefined }>(() => ({ open: undefined }))
const show = (kind: VmSheetKind, vm: Vm) => useSheet.setState({ open: { kind, vm } })
const close = () => useSheet.setState({ open: undefined })

const isNameTaken = (name: string) =>
  [...fleetStore.getState().vms.values()].some((vm) => vm.name === name && vm.deletedAt === undefined && !vm.unowned)

const needsName = (vm: Vm) => isNameTaken(vm.name) || problemsOf('adoptVm', { vm: vm.id, newName: vm.name }).length > 0

const sheets = {
  remove: (vm: Vm) => show('remove', vm),
  purge: (vm: Vm) => show('purge', vm),
  edit: (vm: Vm) => show('edit', vm),
  clone: (vm: Vm) => show('clone', vm),
  template: (vm: Vm) => show('template', vm),
  forceStop: (vm: Vm) => show('forceStop', vm),
  /** Brings it back at once; asks for a new name when its own was taken meanwhile. */
  undelete: (vm: Vm) => (isNameTaken(vm.name) ? show('undelete', vm) : void undeleteVm(vm)),
  /** Takes it into this fleet at once; asks for a new name when its own is taken or none that may be had. */
  adopt: (vm: Vm) => (needsName(vm) ? show('adopt', vm) : void adoptVm(vm)),
}

/** The sheets that stand before an act on a VM, from any screen. */
export const useVmSheets = () => sheets

/** Mounted once, by the shell. */
export function VmSheets() {
  const open = useSheet((s) => s.open)
  return open ? <OpenVmSheet key={`${open.kind} ${open.vm.id}`} open={open} /> : null
}

function OpenVmSheet({ open }: { open: Open }) {
  const now = useVm(open.vm.id)
  const hostThere = useFleet((f) => f.hosts.has(open.vm.hostId))
  return (
    <SheetSubject gone={goneVm(open.kind, open.vm, { now, hostThere })}>
      <Sheet {...open} />
    </SheetSubject>
  )
}

function Sheet(open: Open) {
  switch (open.kind) {
    case 'remove':
      return <DeleteSheet vm={open.vm} onClose={close} />
    case 'purge':
      return <PurgeSheet vm={open.vm} onClose={close} />
    case 'edit':
      return <EditSheet vm={open.vm} onClose={close} isTaken={isNameTaken} />
    case 'clone':
      return <CloneSheet vm={open.vm} onClose={close} isTaken={isNameTaken} />
    case 'template':
      return <TemplateSheet vm={open.vm} onClose={close} />
    case 'forceStop':
      return <ForceStopSheet vm={open.vm} onClose={close} />
    case 'undelete':
    case 'adopt':
      return <RenameSheet {...open} kind={open.kind} onClose={close} isTaken={isNameTaken} />
  }
}

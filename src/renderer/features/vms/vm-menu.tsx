import {
  Cable,
  Copy,
  Flame,
  HousePlus,
  LayoutTemplate,
  Pencil,
  Play,
  Power,
  RotateCw,
  Shield,
  ShieldOff,
  Trash2,
  Undo2,
  Zap,
} from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { MenuEntry } from '../../ui/menu.tsx'
import { RowMenu } from '../../ui/row-menu.tsx'
import { openPublish } from '../ports/port-sheets.tsx'
import { protectVm, restartVm, startVm, stopVm } from './actions.ts'
import { vmActions } from './view-model.ts'
import { useVmSheets } from './vm-sheets.tsx'

type Sheets = ReturnType<typeof useVmSheets>

/** All that can be asked of one VM; what destroys or loses anything opens its sheet first. */
export function VmMenu({ vm }: { vm: Vm }) {
  const sheets = useVmSheets()
  return (
    <RowMenu
      of={vm.name}
      items={() => (vm.deletedAt ? deletedItems : vm.unowned ? unownedItems : ownItems)(vm, sheets)}
    />
  )
}

const deletedItems = (vm: Vm, sheets: Sheets): MenuEntry[] => [
  { label: 'Undo delete', icon: <Undo2 size={14} />, onSelect: () => sheets.undelete(vm) },
  'separator',
  { label: 'Destroy now…', icon: <Flame size={14} />, danger: true, onSelect: () => sheets.purge(vm) },
]

const unownedItems = (vm: Vm, sheets: Sheets): MenuEntry[] => [
  {
    label: 'Adopt',
    icon: <HousePlus size={14} />,
    disabled: !vmActions(vm).adopt,
    onSelect: () => sheets.adopt(vm),
  },
]

function ownItems(vm: Vm, sheets: Sheets): MenuEntry[] {
  const can = vmActions(vm)
  return [
    { label: 'Start', icon: <Play size={14} />, disabled: !can.start, onSelect: () => void startVm(vm) },
    { label: 'Stop', icon: <Power size={14} />, disabled: !can.stop, onSelect: () => void stopVm(vm) },
    { label: 'Restart', icon: <RotateCw size={14} />, disabled: !can.restart, onSelect: () => void restartVm(vm) },
    { label: 'Stop by force…', icon: <Zap size={14} />, disabled: !can.stop, onSelect: () => sheets.forceStop(vm) },
    'separator',
    { label: 'Edit…', icon: <Pencil size={14} />, keys: 'e', onSelect: () => sheets.edit(vm) },
    { label: 'Publish a port…', icon: <Cable size={14} />, keys: 'p', onSelect: () => openPublish(vm) },
    { label: 'Clone…', icon: <Copy size={14} />, onSelect: () => sheets.clone(vm) },
    { label: 'Save as template…', icon: <LayoutTemplate size={14} />, onSelect: () => sheets.template(vm) },
    vm.protected
      ? { label: 'Unprotect', icon: <ShieldOff size={14} />, onSelect: () => void protectVm(vm, false) }
      : { label: 'Protect', icon: <Shield size={14} />, onSelect: () => void protectVm(vm, true) },
    'separator',
    {
      label: 'Delete…',
      icon: <Trash2 size={14} />,
      danger: true,
      disabled: !can.remove,
      onSelect: () => sheets.remove(vm),
    },
  ]
}

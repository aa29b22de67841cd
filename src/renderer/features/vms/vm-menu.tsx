import { Flame, HousePlus, MoreHorizontal, Play, Power, RotateCw, Trash2, Undo2, Zap } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { IconButton } from '../../ui/button.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'
import { forceStopVm, restartVm, startVm, stopVm } from './actions.ts'
import { vmActions } from './view-model.ts'
import { useVmSheets } from './vm-sheets.tsx'

/** All that can be asked of one VM; what destroys opens its sheet first. */
export function VmMenu({ vm }: { vm: Vm }) {
  const can = vmActions(vm)
  const sheets = useVmSheets()
  const items: (MenuItem | 'separator')[] = vm.deletedAt
    ? [
        { label: 'Undo delete', icon: <Undo2 size={14} />, onSelect: () => sheets.undelete(vm) },
        'separator',
        { label: 'Destroy now…', icon: <Flame size={14} />, danger: true, onSelect: () => sheets.purge(vm) },
      ]
    : vm.unowned
      ? [{ label: 'Adopt', icon: <HousePlus size={14} />, disabled: !can.adopt, onSelect: () => sheets.adopt(vm) }]
      : [
          { label: 'Start', icon: <Play size={14} />, disabled: !can.start, onSelect: () => void startVm(vm) },
          { label: 'Stop', icon: <Power size={14} />, disabled: !can.stop, onSelect: () => void stopVm(vm) },
          {
            label: 'Restart',
            icon: <RotateCw size={14} />,
            disabled: !can.restart,
            onSelect: () => void restartVm(vm),
          },
          {
            label: 'Stop by force',
            icon: <Zap size={14} />,
            disabled: !can.stop,
            onSelect: () => void forceStopVm(vm),
          },
          'separator',
          {
            label: 'Delete…',
            icon: <Trash2 size={14} />,
            danger: true,
            disabled: !can.remove,
            onSelect: () => sheets.remove(vm),
          },
        ]
  return (
    <Menu
      items={items}
      trigger={
        <IconButton label={`Actions for ${vm.name}`} data-row-menu>
          <MoreHorizontal size={16} aria-hidden />
        </IconButton>
      }
    />
  )
}

import { create } from 'zustand'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { fleetStore } from '../../state/fleet-store.ts'
import { useFleetShallow } from '../../state/use-fleet.ts'
import { SheetSubject } from '../../ui/sheet-subject.tsx'
import { goneVm } from '../vms/gone-vm.ts'
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
  return open ? <OpenPublish {...open} /> : null
}

/** Offers those that are still there; opened for one VM it says when that one is gone. */
function OpenPublish({ vms: opened, chosen }: { vms: Vm[]; chosen: string }) {
  const vms = useFleetShallow((f) => opened.flatMap(({ id }) => f.vms.get(id) ?? []))
  const offered = vms.filter(publishable)
  const [vm] = opened
  const hosts = useFleetShallow((f) => opened.slice(0, 1).filter(({ hostId }) => f.hosts.has(hostId)))
  const gone = vm && offered.length === 0 ? goneVm('edit', vm, { now: vms[0], hostThere: hosts.length > 0 }) : undefined
  return (
    <SheetSubject gone={gone}>
      <PublishSheet
        vms={offered.length > 0 ? offered : opened}
        one={opened.length === 1}
        chosen={chosen}
        onClose={() => useSheet.setState({ open: undefined })}
      />
    </SheetSubject>
  )
}

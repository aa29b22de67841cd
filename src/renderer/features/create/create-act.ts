import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { queryClient } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'
import { fleetStore, knowVm } from '../../state/fleet-store.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import { publishedAt } from '../ports/view-model.ts'
import { vmQueryKeys } from '../vms/queries.ts'
import { type CreateVmDraft, checkedShape, wishedPorts } from './create-vm-draft.ts'

/** Makes the VM; asking again with the same draft makes it once. Raises what the control plane does. */
export async function createVm(draft: CreateVmDraft, image: Image | undefined): Promise<Vm> {
  const { autostart } = draft
  const { vm } = await api.vms.createVm({ ...checkedShape(draft, image), autostart, protected: draft.protected })
  if (!vm) throw new Error('a VM without a row')
  knowVm(fleetStore, vm)
  void afterwards(draft, vm)
  return vm
}

/** What comes once there is a VM; what fails of it leaves the VM as it is and says so. */
async function afterwards(draft: CreateVmDraft, vm: Vm): Promise<void> {
  for (const port of wishedPorts(draft)) {
    try {
      const answer = await api.ports.publishPort({ vm: vm.id, ...port })
      if (answer.port) toastDone(`Published ${publishedAt(answer.port)}`)
    } catch (error) {
      toastFault(error)
    }
  }
  if (draft.saveAs === '') return
  try {
    await api.templates.createTemplate({ name: draft.saveAs, vm: vm.id })
    await queryClient.invalidateQueries({ queryKey: vmQueryKeys.templates })
    toastDone(`Kept as the template ${draft.saveAs}`)
  } catch (error) {
    toastFault(error)
  }
}

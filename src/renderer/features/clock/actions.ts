import { clockText, guestClockState } from '../../../ipc/clock-words.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'

/** The guest is asked, waited for and measured again. */
const SET_TIMEOUT_MS = 60_000

/** Asks the host to set a guest's clock now. */
export const askForClock = (vm: Vm) => api.clock.setGuestClock({ vm: vm.id }, { timeoutMs: SET_TIMEOUT_MS })

/** The same, and says what was measured after. */
export async function setGuestClock(vm: Vm): Promise<void> {
  try {
    const { clock } = await askForClock(vm)
    toastDone(`Clock of ${vm.name} on ${vm.hostName}: ${clockText(guestClockState(clock))}`)
  } catch (error) {
    toastFault(error)
  }
}

/** Changes who keeps it; what that does not reach is said. */
export async function setClockPolicy(vm: Vm, clockPolicy: string): Promise<void> {
  try {
    const { notReached } = await api.vms.updateVm({ vm: vm.id, clockPolicy })
    toastDone(`Clock policy of ${vm.name} is now ${clockPolicy}. ${notReached}`)
  } catch (error) {
    toastFault(error)
  }
}

import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'

/** Puts this app's agent there; the task strip shows how far it is. */
export async function updateAgent(host: Host): Promise<void> {
  try {
    const { task } = await api.hosts.upgradeHost({ host: host.id })
    toastDone(task ? `Updating the agent of ${host.name}` : `${host.name} has this app's agent already`)
  } catch (error) {
    toastFault(error)
  }
}

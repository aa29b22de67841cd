import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { api } from '../../api/transport.ts'
import { plural } from '../../lib/format.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import { leadsTo, publishedAt } from './view-model.ts'

const wayOf = ({ vmId, guestPort, hostPort, protocol, scope }: Port) => ({
  vm: vmId,
  guestPort,
  hostPort,
  protocol,
  scope,
})

/** Ends its connections; the toast takes it back. */
export async function unpublish(port: Port): Promise<void> {
  try {
    await api.ports.unpublishPort({ id: port.id })
    toastDone(`Closed ${publishedAt(port)}`, { label: 'Undo', run: () => void publishAgain(port) })
  } catch (error) {
    toastFault(error)
  }
}

async function publishAgain(port: Port): Promise<void> {
  try {
    await api.ports.publishPort({ ...wayOf(port), ifAbsent: true })
    toastDone(`Published ${leadsTo(port)} again`)
  } catch (error) {
    toastFault(error)
  }
}

/** Publishes on another host port; the old one is given up only once that is done. */
export async function moveTo(port: Port, hostPort: number): Promise<void> {
  try {
    await api.ports.publishPort({ ...wayOf(port), hostPort })
    await api.ports.unpublishPort({ id: port.id })
    toastDone(`${leadsTo(port)} is published on port ${hostPort} now`)
  } catch (error) {
    toastFault(error)
  }
}

/** One after the other; the toast takes all of them back. */
export async function unpublishAll(ports: readonly Port[]): Promise<void> {
  const closed: Port[] = []
  try {
    for (const port of ports) {
      await api.ports.unpublishPort({ id: port.id })
      closed.push(port)
    }
  } catch (error) {
    toastFault(error)
  }
  if (closed.length === 0) return
  const undo = async () => {
    for (const port of closed) await publishAgain(port)
  }
  toastDone(`Closed ${plural(closed.length, 'port')}`, { label: 'Undo', run: () => void undo() })
}

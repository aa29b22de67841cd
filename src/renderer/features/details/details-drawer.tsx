import type { ComponentType } from 'react'
import type { Route } from '../../routes.ts'
import { type Details, type DetailsKind, useDetails } from '../../state/details.ts'
import type { FleetSnapshot } from '../../state/fleet-store.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { CopyLink } from '../../ui/copy-link.tsx'
import { Drawer } from '../../ui/drawer.tsx'
import { ImageDetails } from '../images/image-details.tsx'
import { PortDetails } from '../ports/port-details.tsx'
import { publishedAt } from '../ports/view-model.ts'
import { taskTitle } from '../tasks/view-model.ts'
import { HostDetails } from './host-details.tsx'
import { TaskDetails } from './other-details.tsx'
import { VmDetails } from './vm-details.tsx'

const PARTS: Record<DetailsKind, ComponentType<{ id: string }>> = {
  host: HostDetails,
  vm: VmDetails,
  image: ImageDetails,
  port: PortDetails,
  task: TaskDetails,
}

interface Heading {
  title: string
  route?: Route
  hostId?: string
}

function headingOf({ kind, id }: Details, fleet: FleetSnapshot): Heading | undefined {
  switch (kind) {
    case 'host': {
      const host = fleet.hosts.get(id)
      return host && { title: host.name, route: { page: 'host', id, tab: 'overview' } }
    }
    case 'vm': {
      const vm = fleet.vms.get(id)
      return vm && { title: vm.name, route: { page: 'vm', id, tab: 'overview' }, hostId: vm.hostId }
    }
    case 'image': {
      const image = fleet.images.get(id)
      return image && { title: image.name }
    }
    case 'port': {
      const port = fleet.ports.get(id)
      return port && { title: publishedAt(port), route: { page: 'vm', id: port.vmId, tab: 'ports' } }
    }
    case 'task': {
      const task = fleet.tasks.get(id)
      return task && { title: taskTitle(task) }
    }
  }
}

/** Details of the object that is open in the drawer; nothing when none is, or when it is gone. */
export function DetailsDrawer() {
  const open = useDetails((d) => d.open)
  // A heading is new at every look; its text is what tells whether it changed.
  const text = useFleet((f) => (open ? JSON.stringify(headingOf(open, f)) : undefined))
  if (!open || text === undefined) return null
  const Parts = PARTS[open.kind]
  const { title, route, hostId = '' } = JSON.parse(text) as Heading
  return (
    <Drawer title={title} route={route} actions={route && <CopyLink route={route} hostId={hostId} of={title} />}>
      <Parts key={open.id} id={open.id} />
    </Drawer>
  )
}

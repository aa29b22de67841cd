import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { HOST_TABS, hrefOf, type Route, SETTINGS_PARTS, TRUST_TABS, VM_TABS } from '../../../src/renderer/routes.ts'

/** The address of every screen of the app, with each part of the first host and of the first VM. */
export const everyPlace = (state: Pick<FleetState, 'hosts' | 'vms'>): string[] => everyRoute(state).map(hrefOf)

/** Every screen of the app, with each part of the first host and of the first VM that runs. */
export function everyRoute({ hosts, vms }: Pick<FleetState, 'hosts' | 'vms'>): Route[] {
  const [host] = hosts
  const vm = vms.find((one) => one.power === 'running')
  return [
    { page: 'fleet' },
    { page: 'hosts', filter: '' },
    { page: 'add-host', taskId: '' },
    ...(host ? HOST_TABS.map((tab) => ({ page: 'host', id: host.id, tab }) as const) : []),
    { page: 'vms', filter: '' },
    { page: 'create-vm', host: '' },
    ...(vm ? VM_TABS.map((tab) => ({ page: 'vm', id: vm.id, tab }) as const) : []),
    { page: 'consoles' },
    { page: 'images' },
    { page: 'networks' },
    { page: 'ports', filter: '' },
    ...TRUST_TABS.map((tab) => ({ page: 'trust', tab }) as const),
    { page: 'clock', filter: '' },
    { page: 'activity', filter: '' },
    ...SETTINGS_PARTS.map((part) => ({ page: 'settings', part }) as const),
  ]
}

import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { addressOf, go } from '../../routes.ts'
import type { MenuItem } from '../../ui/menu.tsx'
import { RowMenu } from '../../ui/row-menu.tsx'
import { toastDone } from '../../ui/toasts.tsx'
import { openShell } from '../consoles/open.ts'
import { reconnectHost, undrainHost } from './actions.ts'
import { useHostSheets } from './host-sheets.tsx'
import { offeredKey, ownerOf } from './view-model.ts'

/** All that can be done with a host. What cannot be now is greyed, with why. */
export function HostMenu({ host }: { host: Host }) {
  const sheets = useHostSheets()
  return <RowMenu of={host.name} items={() => itemsOf(host, sheets)} />
}

function itemsOf(host: Host, sheets: ReturnType<typeof useHostSheets>): (MenuItem | 'separator')[] {
  const connected = host.link === 'connected'
  const ssh = host.kind === 'ssh'
  return [
    { label: 'Create VM here', onSelect: () => go({ page: 'create-vm', host: host.id }) },
    ...(ssh ? [{ label: 'Open shell', onSelect: () => openShell({ kind: 'host', id: host.id }) }] : []),
    { label: 'Edit name and labels…', keys: 'e', onSelect: () => sheets.edit([host]) },
    'separator',
    { label: 'Try now', disabled: connected, onSelect: () => void reconnectHost(host) },
    ...(ssh ? [{ label: 'Sign in…', disabled: connected, onSelect: () => sheets.signIn(host) }] : []),
    ...(offeredKey(host) ? [{ label: 'Compare keys…', onSelect: () => sheets.compareKeys(host) }] : []),
    ...(ownerOf(host) === undefined ? [] : [{ label: 'Take over…', onSelect: () => sheets.takeOver(host) }]),
    ...(host.newerData ? [{ label: "Use this app's data…", onSelect: () => sheets.takeOver(host) }] : []),
    host.draining === ''
      ? { label: 'Drain…', onSelect: () => sheets.drain([host]) }
      : { label: 'Undrain', onSelect: () => void undrainHost(host) },
    {
      label: host.upgradeAvailable === '' ? 'Update agent' : `Update agent to ${host.upgradeAvailable}…`,
      disabled: host.upgradeAvailable === '' || !connected,
      onSelect: () => sheets.upgrade([host]),
    },
    { label: 'Copy link', onSelect: () => copyLink(host) },
    'separator',
    ...(host.credential === 'key'
      ? [{ label: 'Revoke credential…', danger: true, onSelect: () => sheets.revoke(host) }]
      : []),
    { label: 'Remove…', danger: true, onSelect: () => sheets.remove(host) },
  ]
}

function copyLink(host: Host): void {
  void navigator.clipboard.writeText(addressOf({ page: 'host', id: host.id, tab: 'overview' }))
  toastDone(`Copied the link to ${host.name}`)
}

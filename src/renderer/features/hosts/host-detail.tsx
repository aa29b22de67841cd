import { Plus, RefreshCw, Server, SquareTerminal } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { go, HOST_TABS, type HostTab, hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useHost, useVms } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CopyLink } from '../../ui/copy-link.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { useKeys, useTabKeys } from '../../ui/keys.ts'
import { Page } from '../../ui/page.tsx'
import { PartLinks } from '../../ui/part-links.tsx'
import { AuditList } from '../activity/audit-list.tsx'
import { openShell } from '../consoles/open.ts'
import { HostNetworks, PreflightButton } from '../networks/host-networks.tsx'
import { reconnectHost } from './actions.ts'
import { HostAgent } from './host-agent.tsx'
import { HostMenu } from './host-menu.tsx'
import { HostOverview } from './host-overview.tsx'
import { useHostSheets } from './host-sheets.tsx'
import { HostSsh } from './host-ssh.tsx'
import { HostStorage } from './host-storage.tsx'
import { HostVms } from './host-vms.tsx'
import { HostState } from './hosts-table.tsx'
import { asOf, isCurrent, ownerOf } from './view-model.ts'

const LABELS: Record<HostTab, string> = {
  overview: 'Overview',
  vms: 'VMs',
  storage: 'Storage',
  networks: 'Networks',
  ssh: 'SSH & trust',
  agent: 'Agent',
  activity: 'Activity',
}

export function HostDetail({ id, tab }: { id: string; tab: HostTab }) {
  const host = useHost(id)
  const sheets = useHostSheets()
  useTabKeys(HOST_TABS, (next) => go({ page: 'host', id, tab: next }))
  useKeys({ e: () => host && sheets.edit([host]) })
  if (!host)
    return (
      <EmptyState icon={Server} title="This host is not in your fleet">
        <p>It was removed, or this address is old.</p>
        <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
          Go to hosts
        </a>
      </EmptyState>
    )
  return (
    <Page title={<Title host={host} />} actions={<Actions host={host} />}>
      <Parts host={host} here={tab} />
      <Body host={host} tab={tab} />
    </Page>
  )
}

function Title({ host }: { host: Host }) {
  const now = useNow()
  return (
    <>
      <h1 className="truncate font-semibold text-lg">{host.name}</h1>
      <HostState host={host} strong />
      {host.draining !== '' && <span className="text-warn">Draining</span>}
      <span className="min-w-0 truncate text-dim">{[host.os, host.arch].filter(Boolean).join(' · ')}</span>
      {!isCurrent(host) && <span className="text-faint text-xs">{asOf(host, now)}</span>}
    </>
  )
}

function Actions({ host }: { host: Host }) {
  return (
    <>
      {host.link !== 'connected' && (
        <Button onClick={() => void reconnectHost(host)}>
          <RefreshCw size={14} aria-hidden />
          Try now
        </Button>
      )}
      {host.kind === 'ssh' && host.link === 'connected' && (
        <Button onClick={() => openShell({ kind: 'host', id: host.id })}>
          <SquareTerminal size={14} aria-hidden />
          Open shell
        </Button>
      )}
      <a
        href={hrefOf({ page: 'create-vm', host: host.id })}
        className={buttonClass(ownerOf(host) === undefined ? 'primary' : 'plain')}
      >
        <Plus size={15} aria-hidden />
        Create VM here
      </a>
      <CopyLink route={{ page: 'host', id: host.id, tab: 'overview' }} of={host.name} />
      <HostMenu host={host} />
    </>
  )
}

function Parts({ host, here }: { host: Host; here: HostTab }) {
  const vms = useVms().filter((vm) => vm.hostId === host.id && !vm.deletedAt).length
  const open = host.networkFindings.some((finding) => !finding.mended)
  const parts = HOST_TABS.map((id) => ({
    id,
    label: id === 'ssh' && host.kind === 'local' ? 'Trust' : LABELS[id],
    href: hrefOf({ page: 'host', id: host.id, tab: id }),
    ...(id === 'vms' ? { count: vms } : {}),
    ...(id === 'networks' ? { mark: open } : {}),
    ...(id === 'agent' ? { mark: host.upgradeAvailable !== '' } : {}),
  }))
  return <PartLinks of={host.name} parts={parts} here={here} />
}

function Body({ host, tab }: { host: Host; tab: HostTab }) {
  const now = useNow()
  if (tab === 'vms') return <HostVms host={host} />
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls and may hold no control has to be reached by keys
    <section aria-label={LABELS[tab]} tabIndex={0} className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
      <div className="mx-auto grid max-w-5xl gap-4">
        {tab === 'overview' && <HostOverview host={host} />}
        {tab === 'storage' && <HostStorage host={host} />}
        {tab === 'ssh' && <HostSsh host={host} />}
        {tab === 'agent' && <HostAgent host={host} />}
        {tab === 'networks' && (
          <>
            <div className="flex items-center justify-between gap-3">
              <span className="text-faint text-xs">{asOf(host, now)}</span>
              <PreflightButton host={host} />
            </div>
            <HostNetworks host={host} />
          </>
        )}
        {tab === 'activity' && (
          <div className="rounded-lg border border-line bg-panel p-4">
            <AuditList host={host.id} limit={200} />
          </div>
        )}
      </div>
    </section>
  )
}

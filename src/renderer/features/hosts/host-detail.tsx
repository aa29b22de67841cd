import { Plus, RefreshCw, Server } from 'lucide-react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatDuration, formatGib, formatMemory, formatTime, shortId } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { go, type HostTab, hrefOf } from '../../routes.tsx'
import { useNow } from '../../state/now.ts'
import { useHost, useVms } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Card, Facts, Page } from '../../ui/page.tsx'
import { Meter } from '../../ui/progress.tsx'
import { HostClockLine } from '../clock/host-clock-line.tsx'
import { HostNetworks, PreflightButton } from '../networks/host-networks.tsx'
import { VmState } from '../vms/vms-table.tsx'
import { reconnectHost } from './actions.ts'
import { useHostSheets } from './host-sheets.tsx'
import { InUse } from './host-use.tsx'
import { HostMenu, HostState } from './hosts-table.tsx'
import { hostFault, isCurrent, nextTryInMs, offeredKey, ownerOf, shareOf } from './view-model.ts'

export function HostDetail({ id }: { id: string; tab: HostTab }) {
  const host = useHost(id)
  const now = useNow()
  if (!host)
    return (
      <EmptyState icon={Server} title="This host is not in your fleet">
        <a href={hrefOf({ page: 'hosts', filter: '' })} className={buttonClass('plain')}>
          Go to hosts
        </a>
      </EmptyState>
    )
  return (
    <Page
      title={
        <>
          <h1 className="truncate font-semibold text-lg">{host.name}</h1>
          <HostState host={host} strong />
        </>
      }
      actions={
        <>
          {host.link !== 'connected' && (
            <Button onClick={() => void reconnectHost(host)}>
              <RefreshCw size={14} aria-hidden />
              Try now
            </Button>
          )}
          <a
            href={hrefOf({ page: 'create-vm', host: host.id })}
            className={buttonClass(ownerOf(host) === undefined ? 'primary' : 'plain')}
          >
            <Plus size={15} aria-hidden />
            Create VM here
          </a>
          <HostMenu host={host} />
        </>
      }
    >
      <div className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
        <div className="mx-auto grid max-w-5xl gap-4">
          <Trouble host={host} />
          <div className="grid gap-4 lg:grid-cols-2">
            <Capacity host={host} asOf={asOf(host, now)} />
            <InUse host={host} asOf={asOf(host, now)} />
            <Machine host={host} />
            <Connection host={host} />
            <HostVms host={host} />
          </div>
          <Card title={`Networks${asOf(host, now)}`} actions={<PreflightButton host={host} />}>
            <HostNetworks host={host} />
          </Card>
        </div>
      </div>
    </Page>
  )
}

function Trouble({ host }: { host: Host }) {
  const sheets = useHostSheets()
  const now = useNow()
  const fault = hostFault(host)
  const wait = nextTryInMs(host, now)
  return (
    <>
      {fault && (
        <FaultNotice
          fault={fault}
          tone={host.link === 'key_changed' ? 'bad' : 'warn'}
          actions={
            <>
              {host.link === 'sign_in_needed' && (
                <Button size="small" look="primary" onClick={() => sheets.signIn(host)}>
                  Sign in
                </Button>
              )}
              {ownerOf(host) !== undefined && (
                <Button size="small" look="primary" onClick={() => sheets.takeOver(host)}>
                  Take over…
                </Button>
              )}
              {offeredKey(host) && (
                <Button size="small" look="primary" onClick={() => sheets.compareKeys(host)}>
                  Compare keys
                </Button>
              )}
              {wait !== undefined && <span className="text-dim text-xs">Next try in {formatDuration(wait)}</span>}
            </>
          }
        />
      )}
      {host.newerData && (
        <div>
          <Button size="small" onClick={() => sheets.takeOver(host)}>
            Use this app's data…
          </Button>
        </div>
      )}
      {host.notices.map((notice) => (
        <p key={notice} className="rounded-lg border border-line bg-panel px-3 py-2 text-dim">
          {notice}
        </p>
      ))}
    </>
  )
}

function asOf(host: Host, now: number): string {
  const at = msOf(host.lastSeenAt)
  return at === undefined || isCurrent(host) ? '' : ` as of ${formatTime(new Date(at), new Date(now))}`
}

function Capacity({ host, asOf }: { host: Host; asOf: string }) {
  const rows = (['vcpus', 'memMb', 'diskGb'] as const).map((what) => ({ what, share: shareOf(host, what) }))
  const names = { vcpus: 'vCPU', memMb: 'Memory', diskGb: 'Disk' }
  const say = (what: keyof typeof names, n: number) =>
    what === 'memMb' ? formatMemory(n) : what === 'diskGb' ? formatGib(n) : String(n)
  return (
    <Card title={`Promised to VMs${asOf}`}>
      <Facts
        rows={[
          ...rows.map(({ what, share }): [string, React.ReactNode] => [
            names[what],
            share ? (
              <Meter
                key={what}
                {...share}
                label={`${names[what]} promised to VMs`}
                text={`${say(what, share.used)} of ${say(what, share.total)}`}
              />
            ) : (
              'not told yet'
            ),
          ]),
        ]}
      />
    </Card>
  )
}

function Machine({ host }: { host: Host }) {
  const acceleration = [host.acceleration, host.accelerationDetail].filter(Boolean).join(': ')
  return (
    <Card title="Machine">
      <Facts
        rows={[
          ['System', [host.os, host.arch].filter(Boolean).join(' · ') || 'not told yet'],
          ['Processor', host.cpuModel || 'not told yet'],
          ['Hypervisor', host.vmmVersion || host.backend || 'not told yet'],
          ['Acceleration', acceleration || 'not told yet'],
          ['Clock', <HostClockLine key="clock" host={host} />],
          ['Uplink address', host.uplinkAddress || 'not reported'],
          ...(host.missing.length > 0 ? ([['Lacks', host.missing.join(', ')]] satisfies [string, string][]) : []),
        ]}
      />
    </Card>
  )
}

function Connection({ host }: { host: Host }) {
  const mono = (text: string) => (
    <span className="flex items-start gap-1">
      <code className="break-all font-mono text-xs leading-5">{text}</code>
      <CopyButton text={text} label="Copy" />
    </span>
  )
  return (
    <Card title={host.kind === 'local' ? 'Agent' : 'SSH and agent'}>
      <Facts
        rows={[
          ...(host.kind === 'local'
            ? []
            : ([
                ['Address', mono(host.address)],
                ['Host key', host.hostKeyFingerprint ? mono(host.hostKeyFingerprint) : 'not known'],
                ['Carried by', [host.carrier || 'not connected', host.sshClientDetail].filter(Boolean).join('. ')],
              ] satisfies [string, React.ReactNode][])),
          ['Agent', host.agentVersion || 'not told yet'],
          ['Runs as', host.runsAs || 'not told yet'],
          ['Started by', host.startedBy || 'not told yet'],
          ['Epoch', String(host.epoch)],
          ['Host id', mono(shortId(host.id))],
        ]}
      />
    </Card>
  )
}

function HostVms({ host }: { host: Host }) {
  const vms = useVms()
    .filter((vm) => vm.hostId === host.id)
    .sort((a, b) => a.name.localeCompare(b.name))
  const shown = vms.slice(0, 8)
  return (
    <Card
      title={`VMs here (${vms.length})`}
      actions={
        vms.length > shown.length && (
          <button
            type="button"
            className="text-accent text-xs hover:underline"
            onClick={() => go({ page: 'vms', filter: `host:${host.name}` })}
          >
            Show all
          </button>
        )
      }
    >
      {vms.length === 0 && <p className="text-faint">None yet.</p>}
      <ul className="grid gap-1.5">
        {shown.map((vm) => (
          <li key={vm.id} className="flex items-center justify-between gap-3">
            <a href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })} className="truncate hover:underline">
              {vm.name}
            </a>
            <VmState vm={vm} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

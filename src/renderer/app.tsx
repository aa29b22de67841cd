import { MonitorOff } from 'lucide-react'
import { ActivityPage } from './features/activity/activity-page.tsx'
import { ClockPage } from './features/clock/clock-page.tsx'
import { ConsolesPage } from './features/consoles/consoles-page.tsx'
import { CreateVmPage } from './features/create/create-vm-page.tsx'
import { FleetPage } from './features/fleet/fleet-page.tsx'
import { AddHostPage } from './features/hosts/add-host-page.tsx'
import { FirstRun } from './features/hosts/first-run.tsx'
import { HostDetail } from './features/hosts/host-detail.tsx'
import { HostSheets } from './features/hosts/host-sheets.tsx'
import { HostsPage } from './features/hosts/hosts-page.tsx'
import { ImagesPage } from './features/images/images-page.tsx'
import { NetworksPage } from './features/networks/networks-page.tsx'
import { PortSheets } from './features/ports/port-sheets.tsx'
import { PortsPage } from './features/ports/ports-page.tsx'
import { SettingsPage } from './features/settings/settings-page.tsx'
import { TrustPage } from './features/trust/trust-page.tsx'
import { VmDetail } from './features/vms/vm-detail.tsx'
import { VmSheets } from './features/vms/vm-sheets.tsx'
import { VmsPage } from './features/vms/vms-page.tsx'
import { hrefOf, type Route, useRoute } from './routes.ts'
import { usePreferences } from './state/preferences.ts'
import { useFleet } from './state/use-fleet.ts'
import { EmptyState } from './ui/empty-state.tsx'
import { PageBoundary } from './ui/page-boundary.tsx'
import { Shell } from './ui/shell.tsx'
import { Toasts } from './ui/toasts.tsx'

export function App() {
  const route = useRoute()
  const feed = useFleet((f) => f.feed.state)
  const told = useFleet((f) => f.revision !== undefined)
  const noHosts = useFleet((f) => f.hosts.size === 0 && f.vms.size === 0)
  const theme = usePreferences((p) => p.theme)
  if (feed === 'signed-out')
    return (
      <EmptyState icon={MonitorOff} title="This link was used before, or is too old">
        <p>
          For safety each link opens one window. Run <code className="font-mono">npm start</code> again for a fresh one:
          Eitri runs on meanwhile, and so do your VMs.
        </p>
      </EmptyState>
    )
  const firstRun = told && noHosts && (route.page === 'fleet' || route.page === 'hosts')
  const dark = theme === 'dark' || (theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  return (
    <>
      <Shell route={firstRun ? { page: 'fleet' } : route}>
        {firstRun ? <FirstRun /> : <Screen route={route} told={told} />}
      </Shell>
      <PageBoundary page={hrefOf(route)} className="fixed inset-x-4 bottom-12 z-50 mx-auto max-w-xl bg-panel">
        <VmSheets />
        <HostSheets />
        <PortSheets />
      </PageBoundary>
      <Toasts dark={dark} />
    </>
  )
}

function Screen({ route, told }: { route: Route; told: boolean }) {
  if (!told) return <Opening />
  switch (route.page) {
    case 'fleet':
      return <FleetPage />
    case 'vms':
      return <VmsPage filter={route.filter} />
    case 'hosts':
      return <HostsPage filter={route.filter} />
    case 'add-host':
      return <AddHostPage taskId={route.taskId} />
    case 'host':
      return <HostDetail id={route.id} tab={route.tab} />
    case 'create-vm':
      return <CreateVmPage host={route.host} />
    case 'vm':
      return <VmDetail id={route.id} tab={route.tab} />
    case 'images':
      return <ImagesPage filter={route.filter ?? ''} />
    case 'networks':
      return <NetworksPage filter={route.filter ?? ''} />
    case 'clock':
      return <ClockPage filter={route.filter} />
    case 'ports':
      return <PortsPage filter={route.filter} />
    case 'activity':
      return <ActivityPage filter={route.filter} view={route.view} />
    case 'consoles':
      return <ConsolesPage />
    case 'trust':
      return <TrustPage tab={route.tab} />
    case 'settings':
      return <SettingsPage part={route.part} />
  }
}

/** Before the first whole state: which step, never a bare spinner. */
function Opening() {
  const lost = useFleet((f) => f.feed.state === 'lost')
  return (
    <div className="flex h-full items-center justify-center bg-panel text-dim" role="status">
      {lost ? 'Eitri’s control plane does not answer yet.' : 'Reading the state of your fleet from the control plane…'}
    </div>
  )
}

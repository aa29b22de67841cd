import { HousePlus, Monitor, Play, Power, Undo2 } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cx } from '../../lib/class-names.ts'
import { go, hrefOf, type VmTab } from '../../routes.tsx'
import { useVm } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { useKeys } from '../../ui/keys.ts'
import { Page } from '../../ui/page.tsx'
import { GuestClockPart } from '../clock/guest-clock.tsx'
import { ConsoleView } from '../consoles/console-view.tsx'
import { openPublish } from '../ports/port-sheets.tsx'
import { VmPorts } from '../ports/vm-ports.tsx'
import { startVm, stopVm } from './actions.ts'
import { vmActions } from './view-model.ts'
import { CloudInitPart } from './vm-cloud-init.tsx'
import { VmMenu } from './vm-menu.tsx'
import { CreationProgress, VmOverview } from './vm-overview.tsx'
import { useVmSheets } from './vm-sheets.tsx'
import { VmState } from './vms-table.tsx'

export function VmDetail({ id, tab }: { id: string; tab: VmTab }) {
  const vm = useVm(id)
  const show = (next: VmTab) => go({ page: 'vm', id, tab: next })
  const console = () => vm && vmActions(vm).console && show('console')
  useKeys({
    c: console,
    'alt+1': () => show('overview'),
    'alt+2': console,
    'alt+3': () => show('cloud-init'),
    'alt+5': () => show('ports'),
    'alt+7': () => show('clock'),
    p: () => vm && openPublish(vm),
  })
  if (!vm)
    return (
      <EmptyState icon={Monitor} title="This VM is not in your fleet">
        <p>It was destroyed, or this address is old.</p>
        <a href={hrefOf({ page: 'vms', filter: '' })} className={buttonClass('plain')}>
          Go to VMs
        </a>
      </EmptyState>
    )
  const can = vmActions(vm)
  const here = tab === 'console' && !can.console ? 'overview' : tab
  return (
    <Page title={<Title vm={vm} />} actions={<Actions vm={vm} />}>
      <nav
        aria-label={`Parts of ${vm.name}`}
        className="flex min-h-9 shrink-0 flex-wrap gap-x-1 border-line border-b px-4"
      >
        <PartLink id={id} tab="overview" here={here === 'overview'}>
          Overview
        </PartLink>
        {can.console && (
          <PartLink id={id} tab="console" here={here === 'console'}>
            Console
          </PartLink>
        )}
        <PartLink id={id} tab="cloud-init" here={here === 'cloud-init'}>
          cloud-init
        </PartLink>
        <PartLink id={id} tab="ports" here={here === 'ports'}>
          Network &amp; ports
        </PartLink>
        <PartLink id={id} tab="clock" here={here === 'clock'}>
          Clock
        </PartLink>
      </nav>
      {here !== 'console' ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls and may hold no control has to be reached by keys
        <section aria-label={PARTS[here]} tabIndex={0} className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
          {here === 'overview' && <VmOverview vm={vm} />}
          {here === 'cloud-init' && <CloudInitPart vm={vm} />}
          {here === 'ports' && <VmPorts vm={vm} />}
          {here === 'clock' && <GuestClockPart vm={vm} />}
        </section>
      ) : (
        <>
          {vm.lifecycle === 'creating' && (
            <div className="border-line border-b px-5 py-3">
              <CreationProgress vm={vm} />
            </div>
          )}
          <div className="min-h-0 flex-1">
            <ConsoleView key={vm.id} vm={vm} />
          </div>
        </>
      )}
    </Page>
  )
}

const PARTS: Record<Exclude<VmTab, 'console'>, string> = {
  overview: 'Overview',
  'cloud-init': 'cloud-init',
  disks: 'Disks',
  ports: 'Network & ports',
  trust: 'Trust',
  clock: 'Clock',
  activity: 'Activity',
  raw: 'Raw',
}

function PartLink({ id, tab, here, children }: { id: string; tab: VmTab; here: boolean; children: string }) {
  return (
    <a
      href={hrefOf({ page: 'vm', id, tab })}
      {...(here ? { 'aria-current': 'page' as const } : {})}
      className={cx(
        '-mb-px flex h-9 items-center border-b-2 px-2.5',
        here ? 'border-accent font-medium text-ink' : 'border-transparent text-dim hover:text-ink',
      )}
    >
      {children}
    </a>
  )
}

function Title({ vm }: { vm: Vm }) {
  return (
    <>
      <h1 className="truncate font-semibold text-lg">{vm.name}</h1>
      <VmState vm={vm} strong />
      <span className="min-w-0 truncate text-dim">
        on{' '}
        <a href={hrefOf({ page: 'host', id: vm.hostId, tab: 'overview' })} className="hover:underline">
          {vm.hostName}
        </a>
      </span>
      {vm.ip && (
        <span className="flex items-center gap-0.5 text-dim">
          {vm.ip}
          <CopyButton text={vm.ip} label="Copy the address" />
        </span>
      )}
    </>
  )
}

function Actions({ vm }: { vm: Vm }) {
  const can = vmActions(vm)
  const sheets = useVmSheets()
  return (
    <>
      {vm.deletedAt && (
        <Button look="primary" onClick={() => sheets.undelete(vm)}>
          <Undo2 size={14} aria-hidden />
          Undo delete
        </Button>
      )}
      {can.adopt && (
        <Button look="primary" onClick={() => sheets.adopt(vm)}>
          <HousePlus size={14} aria-hidden />
          Adopt
        </Button>
      )}
      {can.start && (
        <Button look="primary" onClick={() => void startVm(vm)}>
          <Play size={14} aria-hidden />
          Start
        </Button>
      )}
      {can.stop && (
        <Button onClick={() => void stopVm(vm)}>
          <Power size={14} aria-hidden />
          Stop
        </Button>
      )}
      {!vm.unowned && <VmMenu vm={vm} />}
    </>
  )
}

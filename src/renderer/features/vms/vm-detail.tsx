import { Monitor } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { go, hrefOf, VM_TABS, type VmTab } from '../../routes.ts'
import { useVm } from '../../state/use-fleet.ts'
import { buttonClass } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { useKeys, useTabKeys } from '../../ui/keys.ts'
import { Page } from '../../ui/page.tsx'
import { PartLinks } from '../../ui/part-links.tsx'
import { GuestClockPart } from '../clock/guest-clock.tsx'
import { ConsoleView } from '../consoles/console-view.tsx'
import { openPublish } from '../ports/port-sheets.tsx'
import { VmPorts } from '../ports/vm-ports.tsx'
import { vmActions } from './view-model.ts'
import { VmActivity } from './vm-activity.tsx'
import { CloudInitPart } from './vm-cloud-init.tsx'
import { VmDisks } from './vm-disks.tsx'
import { VmHeaderActs, VmTitle } from './vm-header.tsx'
import { CreationProgress, VmOverview } from './vm-overview.tsx'
import { VmRaw } from './vm-raw.tsx'
import { useVmSheets } from './vm-sheets.tsx'
import { VmTrust } from './vm-trust.tsx'

export function VmDetail({ id, tab }: { id: string; tab: VmTab }) {
  const vm = useVm(id)
  const sheets = useVmSheets()
  const can = vm && vmActions(vm)
  const show = (next: VmTab) => (next !== 'console' || can?.console) && go({ page: 'vm', id, tab: next })
  useTabKeys(VM_TABS, show)
  useKeys({
    c: () => show('console'),
    e: () => vm && can?.edit && sheets.edit(vm),
    p: () => vm && can?.publish && openPublish(vm),
  })
  if (!vm || !can)
    return (
      <EmptyState icon={Monitor} title="This VM is not in your fleet">
        <p>It was destroyed, or this address is old.</p>
        <a href={hrefOf({ page: 'vms', filter: '' })} className={buttonClass('plain')}>
          Go to VMs
        </a>
      </EmptyState>
    )
  const here = tab === 'console' && !can.console ? 'overview' : tab
  return (
    <Page title={<VmTitle vm={vm} />} actions={<VmHeaderActs key={vm.id} vm={vm} here={here} />}>
      <PartLinks of={vm.name} here={here} parts={partsOf(vm)} />
      {here === 'console' ? <ConsolePart vm={vm} /> : <Part vm={vm} tab={here} />}
    </Page>
  )
}

function ConsolePart({ vm }: { vm: Vm }) {
  return (
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
  )
}

const PARTS: Record<VmTab, string> = {
  overview: 'Overview',
  console: 'Console',
  'cloud-init': 'cloud-init',
  disks: 'Disks',
  ports: 'Network & ports',
  trust: 'Trust',
  clock: 'Clock',
  activity: 'Activity',
  raw: 'Raw',
}

const partsOf = (vm: Vm) =>
  VM_TABS.filter((tab) => tab !== 'console' || vmActions(vm).console).map((tab) => ({
    id: tab,
    label: PARTS[tab],
    href: hrefOf({ page: 'vm', id: vm.id, tab }),
  }))

function Part({ vm, tab }: { vm: Vm; tab: Exclude<VmTab, 'console'> }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls and may hold no control has to be reached by keys
    <section aria-label={PARTS[tab]} tabIndex={0} className="min-h-0 flex-1 overflow-y-auto bg-bg p-5">
      {tab === 'overview' && <VmOverview vm={vm} />}
      {tab === 'cloud-init' && <CloudInitPart vm={vm} />}
      {tab === 'disks' && <VmDisks vm={vm} />}
      {tab === 'ports' && <VmPorts vm={vm} />}
      {tab === 'trust' && <VmTrust vm={vm} />}
      {tab === 'clock' && <GuestClockPart vm={vm} />}
      {tab === 'activity' && <VmActivity vm={vm} />}
      {tab === 'raw' && <VmRaw vm={vm} />}
    </section>
  )
}

import { HousePlus, SquareTerminal, Undo2 } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatAgo, formatMemory } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.tsx'
import { useNow } from '../../state/now.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { quarantineLeft, stateRank, vmActions, vmImage, vmProgress, vmRemark, vmState, vmUse } from './view-model.ts'
import { VmMenu } from './vm-menu.tsx'
import { useVmSheets } from './vm-sheets.tsx'
import { UseCell } from './vm-use.tsx'

export function VmState({ vm, strong }: { vm: Vm; strong?: boolean }) {
  return <StateWord state={vmState(vm, useNow())} {...(strong ? { strong } : {})} />
}

function NameCell({ vm }: { vm: Vm }) {
  const remark = vm.deletedAt ? '' : vmRemark(vm)
  return (
    <span className="flex min-w-0 items-baseline gap-2">
      <a
        href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })}
        className="shrink-0 truncate font-medium hover:underline"
      >
        {vm.name}
      </a>
      {remark && (
        <span className="truncate text-faint text-xs" title={remark}>
          {remark}
        </span>
      )}
    </span>
  )
}

function StateCell({ vm }: { vm: Vm }) {
  const progress = vmProgress(vm)
  return (
    <span className="flex flex-col gap-0.5">
      <VmState vm={vm} />
      {progress?.fraction !== undefined && !vm.deletedAt && !vm.hostUnknown && (
        <span className="h-0.5 w-24 overflow-hidden rounded-full bg-sunken" aria-hidden>
          <span className="block h-full bg-info" style={{ width: `${progress.fraction * 100}%` }} />
        </span>
      )}
    </span>
  )
}

function UptimeCell({ vm }: { vm: Vm }) {
  const now = useNow()
  if (vm.deletedAt) return <span className="text-hold">{quarantineLeft(vm, now) ?? 'unconfirmed'}</span>
  const at = msOf(vm.startedAt)
  if (at === undefined || vm.power !== 'running' || vm.hostUnknown) return <span className="text-faint">–</span>
  return formatAgo(new Date(at), new Date(now)).replace(/ ago$/, '')
}

function ActionsCell({ vm }: { vm: Vm }) {
  const sheets = useVmSheets()
  return (
    <span className="flex items-center justify-end gap-1">
      {vm.deletedAt ? (
        <Button size="small" onClick={() => sheets.undelete(vm)} aria-label={`Undo deleting ${vm.name}`}>
          <Undo2 size={13} aria-hidden />
          Undo
        </Button>
      ) : vm.unowned ? (
        <Button
          size="small"
          disabled={!vmActions(vm).adopt}
          onClick={() => sheets.adopt(vm)}
          aria-label={`Adopt ${vm.name}`}
        >
          <HousePlus size={13} aria-hidden />
          Adopt
        </Button>
      ) : (
        <a
          href={hrefOf({ page: 'vm', id: vm.id, tab: 'console' })}
          aria-label={`Console of ${vm.name}`}
          className={buttonClass('quiet', 'small')}
        >
          <SquareTerminal size={14} aria-hidden />
          Console
        </a>
      )}
      <VmMenu vm={vm} />
    </span>
  )
}

const known = (text: string) => text || <span className="text-faint">–</span>

export const vmColumns: TableColumn<Vm>[] = [
  {
    id: 'state',
    header: 'State',
    width: '220px',
    sort: (vm) => stateRank(vmState(vm, Date.now())),
    cell: (vm) => <StateCell vm={vm} />,
  },
  { id: 'name', header: 'Name', width: 'auto', sort: (vm) => vm.name, cell: (vm) => <NameCell vm={vm} /> },
  {
    id: 'host',
    header: 'Host',
    width: '130px',
    sort: (vm) => vm.hostName,
    cell: (vm) => (
      <a href={hrefOf({ page: 'host', id: vm.hostId, tab: 'overview' })} className="hover:underline">
        {vm.hostName}
      </a>
    ),
  },
  {
    id: 'ip',
    header: 'Address',
    width: '110px',
    from: 'wide',
    sort: (vm) => vm.ip || undefined,
    cell: (vm) => known(vm.ip),
  },
  {
    id: 'image',
    header: 'Image',
    width: '120px',
    from: 'wide',
    sort: (vm) => vm.imageName || vm.imageUrl || undefined,
    cell: (vm) => known(vm.imageName || vm.imageUrl ? vmImage(vm) : ''),
  },
  {
    id: 'vcpus',
    header: 'vCPU',
    width: '76px',
    align: 'right',
    from: 'middle',
    sort: (vm) => vm.vcpus,
    cell: (vm) => vm.vcpus,
  },
  {
    id: 'memory',
    header: 'Memory',
    width: '90px',
    from: 'middle',
    align: 'right',
    sort: (vm) => vm.memMb,
    cell: (vm) => formatMemory(vm.memMb),
  },
  {
    id: 'use',
    header: 'In use',
    width: '164px',
    from: 'wide',
    sort: (vm) => vmUse(vm).cpu?.used,
    cell: (vm) => <UseCell vm={vm} />,
  },
  {
    id: 'uptime',
    header: 'Up for',
    width: '118px',
    from: 'middle',
    sort: (vm) => msOf(vm.startedAt),
    cell: (vm) => <UptimeCell vm={vm} />,
  },
  { id: 'actions', header: 'Actions', width: '146px', align: 'right', cell: (vm) => <ActionsCell vm={vm} /> },
]

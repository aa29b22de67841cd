import { HousePlus, Undo2 } from 'lucide-react'
import { guestClockState } from '../../../ipc/clock-words.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatAgo, formatGib, formatMemory, formatMemoryBytes, formatPermille } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { useIsChecking } from '../../state/checking.ts'
import { useMinute, useNowAs } from '../../state/now.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { type StateView, StateWord } from '../../ui/state-word.tsx'
import type { TableColumn } from '../../ui/table.tsx'
import { guestClockView, hasClock } from '../clock/view-model.ts'
import { labelsText } from './labels-text.ts'
import { portsOf } from './ports-by-vm.ts'
import { quarantineLeft, stateRank, vmActions, vmImage, vmProgress, vmRemark, vmState, vmUse } from './view-model.ts'
import { VmMenu } from './vm-menu.tsx'
import { useVmSheets } from './vm-sheets.tsx'

export function VmState({ vm, strong }: { vm: Vm; strong?: boolean }) {
  return (
    <StateWord state={vmState(vm, useMinute())} checking={useIsChecking(vm.hostId)} {...(strong ? { strong } : {})} />
  )
}

function NameCell({ vm }: { vm: Vm }) {
  const remark = vm.deletedAt ? '' : vmRemark(vm)
  return (
    <span className="flex min-w-0 items-baseline gap-2">
      <a
        href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })}
        className="max-w-full shrink-0 truncate font-medium hover:underline"
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
  const fraction = vm.deletedAt || vm.hostUnknown ? undefined : vmProgress(vm)?.fraction
  if (fraction === undefined) return <VmState vm={vm} />
  return (
    <span className="flex flex-col gap-0.5">
      <VmState vm={vm} />
      <span className="h-0.5 w-24 overflow-hidden rounded-full bg-sunken" aria-hidden>
        <span className="block h-full bg-info" style={{ width: `${fraction * 100}%` }} />
      </span>
    </span>
  )
}

function UptimeCell({ vm }: { vm: Vm }) {
  const text = useNowAs((now) => (vm.deletedAt ? (quarantineLeft(vm, now) ?? 'unconfirmed') : upFor(vm, now)))
  if (text === undefined) return none
  return vm.deletedAt ? <span className="text-hold">{text}</span> : text
}

function upFor(vm: Vm, now: number): string | undefined {
  const at = msOf(vm.startedAt)
  if (at === undefined || vm.power !== 'running' || vm.hostUnknown) return undefined
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
          Console
        </a>
      )}
      <VmMenu vm={vm} />
    </span>
  )
}

const none = <span className="text-faint">–</span>
const known = (text: string) => text || none

/** What it takes of its host now; last known values have lost their colour. */
function LiveCell({ vm, text }: { vm: Vm; text: string | undefined }) {
  if (text !== undefined && !vm.deletedAt) return <span className={vm.hostUnknown ? 'text-faint' : ''}>{text}</span>
  return vm.power === 'running' && !vm.deletedAt && !vm.hostUnknown ? (
    <span className="text-faint" title="Its host measured nothing yet">
      …
    </span>
  ) : (
    none
  )
}

function AddressCell({ vm }: { vm: Vm }) {
  const all = [vm.ip, vm.networkIp].filter(Boolean)
  const [first = '', ...more] = all
  return (
    <span title={all.join(', ')} className={vm.hostUnknown ? 'text-faint' : ''}>
      {known(first)}
      {more.length > 0 && <span className="ml-1 text-faint text-xs">+{more.length}</span>}
    </span>
  )
}

function PortsCell({ vm }: { vm: Vm }) {
  const ports = useFleet((f) => portsOf(f.ports, vm.id))
  if (ports.length === 0) return none
  const words = ports.map(({ hostPort, guestPort }) => `${hostPort} → ${guestPort}`)
  return (
    <a href={hrefOf({ page: 'vm', id: vm.id, tab: 'ports' })} title={words.join(', ')} className="hover:underline">
      {words[0]}
      {words.length > 1 && <span className="ml-1 text-faint text-xs">+{words.length - 1}</span>}
    </a>
  )
}

/** The word alone; how far it is off is in its tip. */
function clockWord(vm: Vm): StateView {
  const view = guestClockView(vm)
  return { ...view, word: guestClockState(vm.clock).word, detail: [view.word, view.detail].filter(Boolean).join(': ') }
}

const ClockCell = ({ vm }: { vm: Vm }) =>
  hasClock(vm) ? (
    <a
      href={hrefOf({ page: 'vm', id: vm.id, tab: 'clock' })}
      className="inline-flex max-w-full align-middle hover:underline"
    >
      <StateWord state={clockWord(vm)} />
    </a>
  ) : (
    none
  )

const sizeText = ({ vcpus, memMb, diskGb }: Vm) => `${vcpus} · ${formatMemory(memMb)} · ${formatGib(diskGb)}`
const cpuText = (vm: Vm) => {
  const { cpu } = vmUse(vm)
  return cpu && formatPermille(cpu.used)
}
const memoryText = (vm: Vm) => {
  const { memoryBytes } = vmUse(vm)
  return memoryBytes === undefined ? undefined : formatMemoryBytes(memoryBytes)
}

export const vmColumns: TableColumn<Vm>[] = [
  {
    id: 'state',
    header: 'State',
    fits: true,
    width: '228px',
    sort: (vm) => stateRank(vmState(vm, Date.now())),
    cell: (vm) => <StateCell vm={vm} />,
  },
  {
    id: 'name',
    header: 'Name',
    fits: true,
    width: 'auto',
    fixed: true,
    sort: (vm) => vm.name,
    cell: (vm) => <NameCell vm={vm} />,
  },
  {
    id: 'host',
    header: 'Host',
    width: '118px',
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
    width: '124px',
    from: 'middle',
    sort: (vm) => vm.ip || undefined,
    cell: (vm) => <AddressCell vm={vm} />,
  },
  {
    id: 'image',
    header: 'Image',
    width: '104px',
    from: 'wide',
    sort: (vm) => vm.imageName || vm.imageUrl || undefined,
    cell: (vm) => known(vm.imageName || vm.imageUrl ? vmImage(vm) : ''),
  },
  {
    id: 'size',
    header: 'Size',
    width: '144px',
    from: 'widest',
    sort: (vm) => vm.vcpus * 1e7 + vm.memMb,
    cell: (vm) => <span title="vCPUs · memory · disk">{sizeText(vm)}</span>,
  },
  { id: 'ports', header: 'Ports', width: '128px', from: 'wide', cell: (vm) => <PortsCell vm={vm} /> },
  {
    id: 'clock',
    header: 'Clock',
    width: '128px',
    from: 'widest',
    sort: (vm) => (hasClock(vm) ? stateRank(guestClockView(vm)) : undefined),
    cell: (vm) => <ClockCell vm={vm} />,
  },
  {
    id: 'cpu',
    header: 'CPU',
    fits: true,
    width: '68px',
    align: 'right',
    from: 'middle',
    sort: (vm) => vmUse(vm).cpu?.used,
    cell: (vm) => <LiveCell vm={vm} text={cpuText(vm)} />,
  },
  {
    id: 'memory',
    header: 'Memory',
    fits: true,
    width: '92px',
    align: 'right',
    from: 'middle',
    sort: (vm) => vmUse(vm).memoryBytes,
    cell: (vm) => <LiveCell vm={vm} text={memoryText(vm)} />,
  },
  {
    id: 'uptime',
    header: 'Up for',
    fits: true,
    width: '108px',
    from: 'middle',
    sort: (vm) => msOf(vm.startedAt),
    cell: (vm) => <UptimeCell vm={vm} />,
  },
  {
    id: 'labels',
    header: 'Labels',
    width: '116px',
    from: 'widest',
    sort: (vm) => labelsText(vm.labels) || undefined,
    cell: (vm) => <span title={labelsText(vm.labels)}>{known(labelsText(vm.labels))}</span>,
  },
  {
    id: 'actions',
    header: 'Actions',
    fits: true,
    width: '134px',
    align: 'right',
    fixed: true,
    cell: (vm) => <ActionsCell vm={vm} />,
  },
]

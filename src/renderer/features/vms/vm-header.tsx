import { ChevronDown, HousePlus, Play, Power, RotateCw, SquareTerminal, Undo2, Zap } from 'lucide-react'
import { useEffect, useRef } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cx } from '../../lib/class-names.ts'
import { hrefOf, type VmTab } from '../../routes.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CopyLink } from '../../ui/copy-link.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { Menu } from '../../ui/menu.tsx'
import { restartVm, startVm, stopVm } from './actions.ts'
import { vmActions } from './view-model.ts'
import { VmMenu } from './vm-menu.tsx'
import { useVmSheets } from './vm-sheets.tsx'
import { VmState } from './vms-table.tsx'

/** Who it is, how it is, where it is, how it is reached. */
export function VmTitle({ vm }: { vm: Vm }) {
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
        <span className={cx('flex items-center gap-0.5', vm.hostUnknown ? 'text-faint' : 'text-dim')}>
          {vm.ip}
          <CopyButton text={vm.ip} label="Copy the address" />
        </span>
      )}
      <CopyLink route={{ page: 'vm', id: vm.id, tab: 'overview' }} hostId={vm.hostId} of={vm.name} />
      {vm.protected && <span className="rounded border border-line px-1.5 text-dim text-xs leading-5">Protected</span>}
    </>
  )
}

/** The few acts that are asked for most; the rest is one menu away. */
export function VmHeaderActs({ vm, here }: { vm: Vm; here: VmTab }) {
  const can = vmActions(vm)
  const sheets = useVmSheets()
  const console = useFirstFocus(here)
  return (
    <>
      {can.console && here !== 'console' && (
        <a
          ref={console}
          href={hrefOf({ page: 'vm', id: vm.id, tab: 'console' })}
          title="Open its console (c)"
          className={buttonClass(can.start || vm.deletedAt ? 'plain' : 'primary')}
        >
          <SquareTerminal size={14} aria-hidden />
          Console
        </a>
      )}
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
      {can.stop && <StopButton vm={vm} />}
      {!vm.unowned && <VmMenu vm={vm} />}
    </>
  )
}

/** Where nothing has the focus, as after a row was opened, Enter opens the console. */
function useFirstFocus(here: VmTab) {
  const first = useRef<HTMLAnchorElement>(null)
  const opened = useRef(here)
  useEffect(() => {
    if (opened.current === 'overview' && document.activeElement === document.body) first.current?.focus()
  }, [])
  return first
}

function StopButton({ vm }: { vm: Vm }) {
  const can = vmActions(vm)
  const sheets = useVmSheets()
  return (
    <span className="inline-flex">
      <Button className="rounded-r-none" onClick={() => void stopVm(vm)} title="Its guest is asked to power off">
        <Power size={14} aria-hidden />
        Stop
      </Button>
      <Menu
        trigger={
          <Button aria-label="Other ways to stop" className="-ml-px rounded-l-none px-1.5">
            <ChevronDown size={14} aria-hidden />
          </Button>
        }
        items={[
          { label: 'Stop', icon: <Power size={14} />, onSelect: () => void stopVm(vm) },
          {
            label: 'Restart',
            icon: <RotateCw size={14} />,
            disabled: !can.restart,
            onSelect: () => void restartVm(vm),
          },
          'separator',
          { label: 'Stop by force…', icon: <Zap size={14} />, danger: true, onSelect: () => sheets.forceStop(vm) },
          { note: vm.protected ? 'It is protected: not by force.' : 'Loses what the guest has not written.' },
        ]}
      />
    </span>
  )
}

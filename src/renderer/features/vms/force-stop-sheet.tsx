import { useRef } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { useVm } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { forceStopVm, protectVm, stopVm } from './actions.ts'

/** What a stop by force loses, before it does. */
export function ForceStopSheet({ vm: opened, onClose }: { vm: Vm; onClose: () => void }) {
  const vm = useVm(opened.id) ?? opened
  const safe = useRef<HTMLButtonElement>(null)
  const act = (run: (vm: Vm) => Promise<unknown>) => () => {
    onClose()
    void run(vm)
  }
  return (
    <Dialog
      open
      onClose={onClose}
      tone="danger"
      title={`Stop ${vm.name} by force?`}
      description="As pulling its plug: what the guest has not written to its disk is lost, and its filesystem may need a repair. Its disk stays."
      initialFocus={safe}
      footer={
        <>
          <Button ref={safe} onClick={onClose}>
            Leave it as it is
          </Button>
          <Button onClick={act(stopVm)}>Ask the guest instead</Button>
          <Button look="danger" disabled={vm.protected} onClick={act(forceStopVm)}>
            Stop by force
          </Button>
        </>
      }
    >
      {vm.protected && <ProtectedNote vm={vm} what="stopped by force" />}
      {vm.hostUnknown && <SilentNote vm={vm} what="The stop" undo="Start takes it back until then." />}
    </Dialog>
  )
}

/** Why a protected VM cannot be, with the way out. */
export function ProtectedNote({ vm, what }: { vm: Vm; what: string }) {
  return (
    <div className="flex items-start gap-4 rounded-md border border-warn/40 bg-warn/6 px-3 py-2">
      <p className="min-w-0 flex-1">
        <strong className="font-medium">{vm.name} is protected.</strong> It cannot be {what} before that is taken away.
      </p>
      <Button size="small" onClick={() => void protectVm(vm, false)}>
        Unprotect
      </Button>
    </div>
  )
}

/** What it means that its host does not answer: the wish waits, and the VM may run on. */
export function SilentNote({ vm, what, undo }: { vm: Vm; what: string; undo: string }) {
  return (
    <p className="mt-3 text-warn">
      {vm.hostName} does not answer: {vm.name} may still run, and goes on until the host is back. {what} waits and is
      carried out then. {undo}
    </p>
  )
}

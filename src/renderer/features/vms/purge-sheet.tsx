import { useEffect, useState } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib, shortId } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { purgeVm } from './actions.ts'

const HOLD_S = 5

export function PurgeSheet({ vm, onClose }: { vm: Vm; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const same = typed === vm.name
  const left = useHold(same)
  return (
    <Dialog
      open
      onClose={onClose}
      tone="danger"
      title={`Destroy ${vm.name} for ever`}
      description={`Its disk of ${formatGib(vm.diskGb)} on ${vm.hostName} is removed now. Nothing brings it back.`}
      footer={
        <>
          <Button onClick={onClose}>Keep it in quarantine</Button>
          <Button
            look="danger"
            disabled={!same || left > 0}
            onClick={() => {
              onClose()
              void purgeVm(vm)
            }}
          >
            {same && left > 0 ? `Destroy for ever (${left})` : 'Destroy for ever'}
          </Button>
        </>
      }
    >
      <TextField
        label={`Type the name of the VM, ${vm.name}, to go on`}
        value={typed}
        onChange={(e) => setTyped(e.target.value)}
        hint={same ? 'The button can be pressed after five seconds.' : `Id ${shortId(vm.id)}`}
      />
    </Dialog>
  )
}

/** Seconds left since `running` became true; full while it is not. */
function useHold(running: boolean): number {
  const [left, setLeft] = useState(HOLD_S)
  useEffect(() => {
    if (!running) return
    const end = performance.now() + HOLD_S * 1000
    const timer = setInterval(() => setLeft(Math.max(0, Math.ceil((end - performance.now()) / 1000))), 200)
    return () => {
      clearInterval(timer)
      setLeft(HOLD_S)
    }
  }, [running])
  return left
}

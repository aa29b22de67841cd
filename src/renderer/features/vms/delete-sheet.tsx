import { useRef } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib, shortId } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/page.tsx'
import { deleteVm } from './actions.ts'

export function DeleteSheet({ vm, onClose }: { vm: Vm; onClose: () => void }) {
  const keep = useRef<HTMLButtonElement>(null)
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Delete ${vm.name}?`}
      description="It is stopped and moved to quarantine. Undo brings it back with its disk, until the countdown ends."
      initialFocus={keep}
      footer={
        <>
          <Button ref={keep} onClick={onClose}>
            Keep it
          </Button>
          <Button
            look="danger"
            onClick={() => {
              onClose()
              void deleteVm(vm)
            }}
          >
            Move to quarantine
          </Button>
        </>
      }
    >
      <Facts
        rows={[
          ['Name', vm.name],
          ['Host', vm.hostName],
          ['Disk that goes with it', formatGib(vm.diskGb)],
          [
            'Id',
            <code key="id" className="font-mono text-xs">
              {shortId(vm.id)}
            </code>,
          ],
        ]}
      />
      {vm.hostUnknown && (
        <p className="mt-3 text-warn">
          {vm.hostName} is not answering: the VM may still run. The delete waits and is carried out when the host is
          back.
        </p>
      )}
    </Dialog>
  )
}

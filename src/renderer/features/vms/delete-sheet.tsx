import { useRef } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib, shortId } from '../../lib/format.ts'
import { usePorts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/page.tsx'
import { publishedAt } from '../ports/view-model.ts'
import { deleteVm } from './actions.ts'

export function DeleteSheet({ vm, onClose }: { vm: Vm; onClose: () => void }) {
  const keep = useRef<HTMLButtonElement>(null)
  const ports = usePorts().filter(({ vmId }) => vmId === vm.id)
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
          ...(ports.length > 0
            ? ([['Ports closed with it', ports.map(publishedAt).join(', ')]] satisfies [string, string][])
            : []),
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

import { useRef } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib, shortId } from '../../lib/format.ts'
import { useNow } from '../../state/now.ts'
import { usePorts, useVm } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/page.tsx'
import { publishedAt } from '../ports/view-model.ts'
import { DEFAULT_GRACE_S } from '../settings/periods.ts'
import { useTenants } from '../settings/queries.ts'
import { deleteVm } from './actions.ts'
import { deleteWords } from './delete-words.ts'
import { ProtectedNote, SilentNote } from './force-stop-sheet.tsx'

export function DeleteSheet({ vm: opened, onClose }: { vm: Vm; onClose: () => void }) {
  const vm = useVm(opened.id) ?? opened
  const { data: tenants } = useTenants()
  const tenant = tenants?.find(({ name }) => name === vm.tenant)
  const now = useNow()
  const words = deleteWords(tenant && (tenant.limits?.graceS ?? DEFAULT_GRACE_S), now)
  const keep = useRef<HTMLButtonElement>(null)
  const ports = usePorts().filter(({ vmId }) => vmId === vm.id)
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Delete ${vm.name}?`}
      description={words.meaning}
      initialFocus={keep}
      footer={
        <>
          <Button ref={keep} onClick={onClose}>
            Keep it
          </Button>
          <Button
            look="danger"
            disabled={vm.protected}
            onClick={() => {
              onClose()
              void deleteVm(vm)
            }}
          >
            {words.button}
          </Button>
        </>
      }
    >
      <Facts
        rows={[
          ['Name', vm.name],
          ['Host', vm.hostName],
          ['Disk that goes with it', formatGib(vm.diskGb)],
          ...(words.kept === '' ? [] : ([['Can be brought back', words.kept]] satisfies [string, string][])),
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
      {vm.protected && (
        <div className="mt-3">
          <ProtectedNote vm={vm} what="deleted" />
        </div>
      )}
      {vm.hostUnknown && <SilentNote vm={vm} what="The delete" undo="Undo takes it back until then." />}
    </Dialog>
  )
}

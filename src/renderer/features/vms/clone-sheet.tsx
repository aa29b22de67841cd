import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib } from '../../lib/format.ts'
import { go } from '../../routes.ts'
import { useVm } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { cloneVm, stopVm } from './actions.ts'
import { cloneDraft, cloneProblems, cloneRequest, whyNotCloned } from './clone-draft.ts'
import { vmActions } from './view-model.ts'

interface CloneSheetProps {
  vm: Vm
  onClose: () => void
  isTaken: (name: string) => boolean
}

/** A VM of the disk of a stopped one; why not, while it is not. */
export function CloneSheet({ vm: opened, onClose, isTaken }: CloneSheetProps) {
  const vm = useVm(opened.id) ?? opened
  const [draft, setDraft] = useState(() => cloneDraft(opened, isTaken))
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const why = whyNotCloned(vm)
  const problems = cloneProblems(vm, draft, isTaken)
  const field = (name: 'name' | 'vcpus' | 'memMb' | 'diskGb', wire: string) => ({
    value: draft[name],
    problem: problems.find((p) => p.field === wire)?.problem,
    onChange: (e: { target: { value: string } }) => setDraft((d) => ({ ...d, [name]: e.target.value })),
  })
  const submit = async () => {
    setSending(true)
    setFault(undefined)
    try {
      const made = await cloneVm(cloneRequest(vm, draft))
      onClose()
      if (made) go({ page: 'vm', id: made.id, tab: 'overview' })
    } catch (error) {
      setFault(fromConnectError(error).toData())
      setSending(false)
    }
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Clone ${vm.name}`}
      description={`Its disk of ${formatGib(vm.diskGb)} is copied on ${vm.hostName}. ${vm.name} stays as it is and cannot start meanwhile. Host name, keys and protection are not copied.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {why !== undefined && vmActions(vm).stop && !vm.hostUnknown && (
            <Button onClick={() => void stopVm(vm)}>Stop {vm.name}</Button>
          )}
          <Button
            look="primary"
            disabled={why !== undefined || problems.length > 0 || sending}
            onClick={() => void submit()}
          >
            Clone
          </Button>
        </>
      }
    >
      {why !== undefined && (
        <p role="status" className="mb-3 rounded-md border border-warn/40 bg-warn/6 px-3 py-2">
          <strong className="font-medium">Not now.</strong> {why}
        </p>
      )}
      <div className="grid gap-x-4 gap-y-1 sm:grid-cols-3">
        <div className="sm:col-span-3">
          <TextField label="Name of the clone" {...field('name', 'name')} />
        </div>
        <TextField label="vCPUs" inputMode="numeric" {...field('vcpus', 'vcpus')} />
        <TextField label="Memory (MB)" inputMode="numeric" {...field('memMb', 'mem_mb')} />
        <TextField label="Disk (GB)" inputMode="numeric" {...field('diskGb', 'disk_gb')} />
        <div className="sm:col-span-3">
          <CheckField
            label="Start it"
            checked={draft.start}
            onChange={(e) => setDraft((d) => ({ ...d, start: e.target.checked }))}
          />
        </div>
      </div>
      {fault && <FaultNotice fault={fault} />}
    </Dialog>
  )
}

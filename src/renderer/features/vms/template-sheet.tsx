import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { problemsOf } from '../../../ipc/rules.ts'
import { formatGib, formatMemory, plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { TextField } from '../../ui/field.tsx'
import { Facts } from '../../ui/page.tsx'
import { saveTemplate } from './actions.ts'
import { labelsText } from './labels-text.ts'
import { vmImage } from './view-model.ts'

/** Keeps how a VM was made, so that more like it can be created. */
export function TemplateSheet({ vm, onClose }: { vm: Vm; onClose: () => void }) {
  const [name, setName] = useState(vm.name)
  const [description, setDescription] = useState('')
  const [fault, setFault] = useState<FaultData>()
  const [sending, setSending] = useState(false)
  const request = { name, vm: vm.id, description }
  const problems = problemsOf('createTemplate', request)
  const problem = (field: string) => problems.find((p) => p.field === field)?.problem
  const submit = async () => {
    setSending(true)
    setFault(undefined)
    try {
      await saveTemplate(request)
      onClose()
    } catch (error) {
      setFault(fromConnectError(error).toData())
      setSending(false)
    }
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Save ${vm.name} as a template`}
      description="How it was made is kept: image, size, cloud-init, labels. Its disk, keys and CAs are not in it."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={problems.length > 0 || sending} onClick={() => void submit()}>
            Save template
          </Button>
        </>
      }
    >
      <TextField
        label="Name of the template"
        value={name}
        problem={problem('name')}
        onChange={(e) => setName(e.target.value)}
      />
      <TextField
        label="Description"
        value={description}
        placeholder="What it is for"
        problem={problem('description')}
        onChange={(e) => setDescription(e.target.value)}
      />
      <Facts
        rows={[
          ['Image', vmImage(vm)],
          ['Size', `${plural(vm.vcpus, 'vCPU')}, ${formatMemory(vm.memMb)}, ${formatGib(vm.diskGb)}`],
          ['Labels', labelsText(vm.labels) || 'none'],
        ]}
      />
      {fault && <FaultNotice fault={fault} />}
    </Dialog>
  )
}

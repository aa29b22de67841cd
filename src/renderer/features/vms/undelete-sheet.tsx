import { useState } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { problemsOf } from '../../../ipc/rules.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { undeleteVm } from './actions.ts'

interface UndeleteProps {
  vm: Vm
  onClose: () => void
  isTaken: (name: string) => boolean
}

/** Asked only when another VM took the name meanwhile. */
export function UndeleteSheet({ vm, onClose, isTaken }: UndeleteProps) {
  const [name, setName] = useState(`${vm.name}-2`.slice(0, 63))
  const [rule] = problemsOf('undeleteVm', { vm: vm.id, newName: name })
  const problem = rule?.problem ?? (name === '' ? 'name it' : isTaken(name) ? 'this name is in use' : undefined)
  const submit = async () => {
    if (problem === undefined && (await undeleteVm(vm, name))) onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Bring back ${vm.name} under another name`}
      description={`Another VM is named ${vm.name} now. The disk comes back unchanged.`}
      footer={
        <>
          <Button onClick={onClose}>Leave it in quarantine</Button>
          <Button look="primary" disabled={problem !== undefined} onClick={() => void submit()}>
            Bring back
          </Button>
        </>
      }
    >
      <TextField label="New name" value={name} problem={problem} onChange={(e) => setName(e.target.value)} />
    </Dialog>
  )
}

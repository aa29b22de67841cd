import { useState } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { problemsOf } from '../../../ipc/rules.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { useOwnAct } from '../../ui/sheet-subject.tsx'
import { adoptVm, undeleteVm } from './actions.ts'

interface RenameProps {
  kind: 'undelete' | 'adopt'
  vm: Vm
  onClose: () => void
  isTaken: (name: string) => boolean
}

const WORDS = {
  undelete: {
    rule: 'undeleteVm',
    act: undeleteVm,
    title: (name: string) => `Bring back ${name} under another name`,
    description: 'The disk comes back unchanged.',
    agree: 'Bring back',
    decline: 'Leave it in quarantine',
  },
  adopt: {
    rule: 'adoptVm',
    act: adoptVm,
    title: (name: string) => `Adopt ${name} under another name`,
    description: 'It goes on as it is; the name inside the guest stays.',
    agree: 'Adopt',
    decline: 'Leave it',
  },
} as const

/** Asked only when the name a VM has cannot be its name in this fleet. */
export function RenameSheet({ kind, vm, onClose, isTaken }: RenameProps) {
  const { rule, act, title, description, agree, decline } = WORDS[kind]
  const own = useOwnAct()
  const [name, setName] = useState(`${vm.name}-2`.slice(0, 63))
  const [broken] = problemsOf(rule, { vm: vm.id, newName: name })
  const problem = broken?.problem ?? (name === '' ? 'name it' : isTaken(name) ? 'this name is in use' : undefined)
  const submit = async () => {
    if (problem === undefined && (await own(act(vm, name)))) onClose()
  }
  const why = isTaken(vm.name) ? `Another VM is named ${vm.name}.` : `${vm.name} is no name for a VM here.`
  return (
    <Dialog
      open
      onClose={onClose}
      title={title(vm.name)}
      description={`${why} ${description}`}
      footer={
        <>
          <Button onClick={onClose}>{decline}</Button>
          <Button look="primary" disabled={problem !== undefined} onClick={() => void submit()}>
            {agree}
          </Button>
        </>
      }
    >
      <TextField label="New name" value={name} problem={problem} onChange={(e) => setName(e.target.value)} />
    </Dialog>
  )
}

import { useEffect, useState } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { useFleet } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { TaskQuestionSheet } from '../tasks/task-question.tsx'
import { isOpen, taskFault, taskLine } from '../tasks/view-model.ts'
import { forgetSecrets, signInHost } from './actions.ts'

/** Secrets may be given first; what the host asks besides comes up as a question. */
export function SignInSheet({ host, onClose }: { host: Host; onClose: () => void }) {
  const [password, setPassword] = useState('')
  const [passphrase, setPassphrase] = useState('')
  const [keeps, setKeeps] = useState(host.secretsKept === 'keychain')
  const [taskId, setTaskId] = useState('')
  const task = useFleet((f) => f.tasks.get(taskId))
  const open = task !== undefined && isOpen(task)
  const fault = task && taskFault(task)
  const done = task?.state === 'done'
  useEffect(() => {
    if (done) onClose()
  }, [done, onClose])
  const submit = async () => {
    const started = await signInHost(host, { password, passphrase, keep: keeps ? 'keychain' : 'memory' })
    if (started?.taskId === '') onClose()
    else if (started) setTaskId(started.taskId)
  }
  if (task?.state === 'asking') return <TaskQuestionSheet task={task} onClose={onClose} />
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Sign in to ${host.name}`}
      description={`${host.address}. Leave empty what the host does not need; it is asked for what it needs.`}
      footer={
        <>
          {host.secretsKept !== '' && <Button onClick={() => void forgetSecrets(host)}>Forget what is kept</Button>}
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={open} onClick={() => void submit()}>
            {open ? 'Signing in' : 'Sign in'}
          </Button>
        </>
      }
    >
      <form
        className="grid gap-2"
        onSubmit={(e) => {
          e.preventDefault()
          if (!open) void submit()
        }}
      >
        <TextField
          label="Password"
          type="password"
          value={password}
          hint="If the host takes passwords"
          onChange={(e) => setPassword(e.target.value)}
        />
        <TextField
          label="Passphrase of the key"
          type="password"
          value={passphrase}
          hint="If your key file has one"
          onChange={(e) => setPassphrase(e.target.value)}
        />
        <CheckField
          label="Keep them in this computer's keychain"
          hint="Otherwise they stay in memory until Eitri quits"
          checked={keeps}
          onChange={(e) => setKeeps(e.target.checked)}
        />
        <p role="status" className="min-h-4 text-dim text-xs">
          {open ? taskLine(task) : ''}
        </p>
        {fault && <FaultNotice fault={fault} />}
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

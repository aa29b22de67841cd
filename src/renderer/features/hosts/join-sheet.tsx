import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { api } from '../../api/transport.ts'
import { formatDuration, formatTime } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { go } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useHosts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { draftName, draftProblems, EMPTY_DRAFT, requestOf } from './add-host-draft.ts'
import { joinCommand } from './join-command.ts'

const EXPIRES: [number, string][] = [
  [900, '15 minutes'],
  [3600, '1 hour'],
  [86_400, '1 day'],
]

/** A host lets this app in by a text that a person carries there: for hosts this computer has no login on. */
export function JoinSheet({ onClose }: { onClose: () => void }) {
  const [expiresS, setExpiresS] = useState(900)
  const [blob, setBlob] = useState<{ text: string; endsAt: number }>()
  const [fault, setFault] = useState<FaultData>()
  const make = async () => {
    setFault(undefined)
    try {
      const made = await api.hosts.createJoinBlob({ expiresS })
      setBlob({ text: made.blob, endsAt: msOf(made.expiresAt) ?? Date.now() })
    } catch (error) {
      setFault(fromConnectError(error).toData())
    }
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Join a host by a blob"
      description="For a host you cannot sign in to over SSH from here. Somebody runs one command there; it lets in this app's own key, and nothing else."
      footer={<Button onClick={onClose}>{blob ? 'Close' : 'Cancel'}</Button>}
    >
      <div className="grid gap-4">
        <section className="grid gap-2">
          <h3 className="font-medium">1 · Make the blob</h3>
          <div className="flex items-end gap-3">
            <div className="w-40">
              <SelectField
                label="Good for"
                value={String(expiresS)}
                onChange={(e) => setExpiresS(Number(e.target.value))}
              >
                {EXPIRES.map(([seconds, text]) => (
                  <option key={seconds} value={seconds}>
                    {text}
                  </option>
                ))}
              </SelectField>
            </div>
            <Button look={blob ? 'plain' : 'primary'} className="mb-5" onClick={() => void make()}>
              {blob ? 'Make another' : 'Make the blob'}
            </Button>
          </div>
          {fault && <FaultNotice fault={fault} />}
        </section>
        {blob && <OnTheHost text={blob.text} endsAt={blob.endsAt} />}
        {blob && <AddHere onClose={onClose} />}
      </div>
    </Dialog>
  )
}

function OnTheHost({ text, endsAt }: { text: string; endsAt: number }) {
  const now = useNow()
  const left = endsAt - now
  return (
    <section className="grid gap-2">
      <h3 className="font-medium">2 · On the host, as root</h3>
      <CopyText text={joinCommand(text)} label="Copy the command" />
      <p className={left > 0 ? 'text-dim text-xs' : 'text-bad text-xs'} role="status">
        {left > 0
          ? `Good for one host, for ${formatDuration(left)} more, until ${formatTime(new Date(endsAt), new Date(now))}. It is a secret, shown only now.`
          : 'It has ended: make another.'}
      </p>
    </section>
  )
}

function AddHere({ onClose }: { onClose: () => void }) {
  const names = new Set(useHosts().map((h) => h.name))
  const [draft, setDraft] = useState(EMPTY_DRAFT)
  const [fault, setFault] = useState<FaultData>()
  const problems = draftProblems(draft, names)
  const problem = (field: string) =>
    draft.target === '' ? undefined : problems.find((p) => p.field === field)?.problem
  const submit = async () => {
    setFault(undefined)
    try {
      const { name, ssh } = requestOf(draft)
      const { task } = await api.hosts.addHost({ name, way: { case: 'ssh', value: { ...ssh, joined: true } } })
      onClose()
      if (task) go({ page: 'add-host', taskId: task.id })
    } catch (error) {
      setFault(fromConnectError(error).toData())
    }
  }
  return (
    <form
      className="grid gap-2"
      onSubmit={(e) => {
        e.preventDefault()
        if (problems.length === 0) void submit()
      }}
    >
      <h3 className="font-medium">3 · Reach it from here</h3>
      <div className="grid gap-x-4 sm:grid-cols-2">
        <TextField
          label="Address"
          value={draft.target}
          placeholder="10.0.2.7:22"
          problem={problem('host') ?? problem('port')}
          onChange={(e) => setDraft({ ...draft, target: e.target.value })}
        />
        <TextField
          label="Name here"
          value={draftName(draft)}
          problem={problem('name')}
          onChange={(e) => setDraft({ ...draft, name: e.target.value })}
        />
      </div>
      {fault && <FaultNotice fault={fault} />}
      <div>
        <Button type="submit" look="primary" disabled={draft.target === '' || problems.length > 0}>
          Add the host
        </Button>
      </div>
    </form>
  )
}

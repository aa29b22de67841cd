import { useState } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { problemsOf } from '../../../ipc/rules.ts'
import { plural } from '../../lib/format.ts'
import { useHosts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { toastDone } from '../../ui/toasts.tsx'
import { labelsProblem, labelsText, parseLabels } from '../vms/labels-text.ts'
import { editHost } from './actions.ts'
import { labelChange } from './label-change.ts'

interface EditProps {
  hosts: readonly Host[]
  /** They were many when it was opened: labels stay labels of many also when one is left. */
  many: boolean
  onClose: () => void
}

/** Name and labels of one host, or labels for many. */
export function EditHostSheet({ hosts, many, onClose }: EditProps) {
  const [host] = hosts
  if (!host) return null
  return many ? <LabelMany hosts={hosts} onClose={onClose} /> : <EditOne host={host} onClose={onClose} />
}

function EditOne({ host, onClose }: { host: Host; onClose: () => void }) {
  const names = useHosts()
    .filter((h) => h.id !== host.id)
    .map((h) => h.name)
  const [name, setName] = useState(host.name)
  const [text, setText] = useState(labelsText(host.labels))
  const labels = parseLabels(text)
  const nameProblem = names.includes(name)
    ? 'a host of this name is already here'
    : problemsOf('addHost', { name })[0]?.problem
  const wrong = nameProblem ?? labelsProblem(labels)
  const submit = async () => {
    const { set, remove } = labelChange(host.labels, labels)
    if (await editHost(host, { name, labels: set, removeLabels: remove })) onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Edit ${host.name}`}
      description="Only how it is called and grouped here. Nothing on the host changes."
      footer={<Feet onClose={onClose} disabled={wrong !== undefined} onSave={submit} />}
    >
      <form className="grid gap-2" onSubmit={onEnter(wrong === undefined, submit)}>
        <TextField label="Name" value={name} problem={nameProblem} onChange={(e) => setName(e.target.value)} />
        <LabelsField value={text} onChange={setText} problem={labelsProblem(labels)} />
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

function LabelMany({ hosts, onClose }: Omit<EditProps, 'many'>) {
  const [text, setText] = useState('')
  const [gone, setGone] = useState('')
  const set = parseLabels(text)
  const removeLabels = Object.keys(parseLabels(gone))
  const problem = labelsProblem(set)
  const submit = async () => {
    const done = await Promise.all(hosts.map((host) => editHost(host, { labels: set, removeLabels })))
    toastDone(`Labelled ${done.filter(Boolean).length} of ${plural(hosts.length, 'host')}`)
    onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Labels of ${plural(hosts.length, 'host')}`}
      description={`${namesOf(hosts)}. Other labels stay. Nothing on the hosts changes.`}
      footer={
        <Feet
          onClose={onClose}
          disabled={problem !== undefined || (text.trim() === '' && gone.trim() === '')}
          onSave={submit}
        />
      }
    >
      <form className="grid gap-2" onSubmit={onEnter(problem === undefined, submit)}>
        <LabelsField value={text} onChange={setText} problem={problem} label="Set" />
        <TextField
          label="Take away"
          value={gone}
          hint="Keys, with a comma between them"
          onChange={(e) => setGone(e.target.value)}
        />
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

function LabelsField({
  value,
  onChange,
  problem,
  label = 'Labels',
}: {
  value: string
  onChange: (text: string) => void
  problem: string | undefined
  label?: string
}) {
  return (
    <TextField
      label={label}
      value={value}
      placeholder="rack=2, prod"
      hint="key or key=value, with a comma between them"
      problem={problem}
      onChange={(e) => onChange(e.target.value)}
    />
  )
}

function Feet({ onClose, disabled, onSave }: { onClose: () => void; disabled: boolean; onSave: () => Promise<void> }) {
  return (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="primary" disabled={disabled} onClick={() => void onSave()}>
        Save
      </Button>
    </>
  )
}

const MAX_NAMES = 8

/** The names of hosts in one line, the first eight of many. */
function namesOf(hosts: readonly Host[]): string {
  const names = hosts.slice(0, MAX_NAMES).map((h) => h.name)
  return hosts.length > MAX_NAMES ? `${names.join(', ')} and ${hosts.length - MAX_NAMES} more` : names.join(', ')
}

const onEnter = (right: boolean, submit: () => Promise<void>) => (event: { preventDefault: () => void }) => {
  event.preventDefault()
  if (right) void submit()
}

import { useRef, useState } from 'react'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { controlPlaneOf } from '../hosts/view-model.ts'
import { answerTask, cancelTask } from './actions.ts'
import { HostKeySheet } from './host-key-sheet.tsx'
import { PromptSheet } from './prompt-sheet.tsx'
import type { SheetProps } from './sheet-props.ts'
import { Tried } from './tried.tsx'
import { cancelWord } from './view-model.ts'

/** What a task asks, over the screen that shows it. Closing it leaves the question open. */
export function TaskQuestionSheet({ task, onClose }: { task: Task; onClose: () => void }) {
  const question = task.question
  if (task.state !== 'asking' || !question) return null
  const { kind } = question
  switch (kind.case) {
    case 'hostKey':
      return <HostKeySheet key={question.id} task={task} question={question} hostKey={kind.value} onClose={onClose} />
    case 'secret':
      return <SecretSheet key={question.id} task={task} question={question} onClose={onClose} {...kind.value} />
    case 'prompt':
      return <PromptSheet key={question.id} task={task} question={question} onClose={onClose} {...kind.value} />
    case 'packages':
      return (
        <AgreeSheet
          key={question.id}
          task={task}
          question={question}
          onClose={onClose}
          title={`Install ${kind.value.missing.join(', ')} on ${task.subject}?`}
          description="VMs need these packages there. They come from the host's own package manager, with this command:"
          command={kind.value.command}
          agree="Install them"
          decline="Not now"
        />
      )
    case 'takeOver':
      return (
        <AgreeSheet
          key={question.id}
          task={task}
          question={question}
          onClose={onClose}
          title={`Take ${task.subject} over?`}
          description={`It is held by ${controlPlaneOf(kind.value.controllerName)}. Once you take it over, that one neither sees nor changes the host or its VMs, until it takes the host back. The VMs there keep running, shown here as unowned; you can adopt them.`}
          agree="Take over"
          decline="Leave it"
        />
      )
    default:
      return null
  }
}

const ASK: Record<string, { title: (of: string) => string; label: string }> = {
  password: { title: (of) => `Password for ${of}`, label: 'Password' },
  passphrase: { title: (of) => `Passphrase of ${of}`, label: 'Passphrase' },
  sudo_password: { title: (of) => `sudo password for ${of}`, label: 'sudo password' },
}

function SecretSheet({
  task,
  question,
  onClose,
  what,
  of,
  problem,
}: SheetProps & { what: string; of: string; problem: string }) {
  const [secret, setSecret] = useState('')
  const words = ASK[what] ?? { title: (of: string) => `Secret for ${of}`, label: 'Secret' }
  const [kept, setKept] = useState(false)
  const submit = () => void answerTask(task, question, { case: 'secret', value: secret }, kept ? 'keychain' : '')
  return (
    <Dialog
      open
      onClose={onClose}
      title={words.title(of)}
      description="It goes to the host alone, and is never written to disk as it is."
      footer={
        <>
          <Button onClick={() => void cancelTask(task)}>{cancelWord(task)}</Button>
          <Button look="primary" disabled={secret === ''} onClick={submit}>
            Sign in
          </Button>
        </>
      }
    >
      <form
        onSubmit={(e) => {
          e.preventDefault()
          if (secret !== '') submit()
        }}
      >
        <TextField
          label={words.label}
          type="password"
          value={secret}
          problem={problem && secret === '' ? problem : undefined}
          onChange={(e) => setSecret(e.target.value)}
        />
        <CheckField
          label="Keep it in this computer's keychain"
          hint="Otherwise it stays in memory until Eitri quits"
          checked={kept}
          onChange={(e) => setKept(e.target.checked)}
        />
        <Tried task={task} />
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

function AgreeSheet({
  task,
  question,
  onClose,
  title,
  description,
  command,
  agree,
  decline,
}: SheetProps & { title: string; description: string; command?: string; agree: string; decline: string }) {
  const safe = useRef<HTMLButtonElement>(null)
  const answer = (value: boolean) => void answerTask(task, question, { case: 'agree', value })
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      description={description}
      initialFocus={safe}
      footer={
        <>
          <Button ref={safe} onClick={() => answer(false)}>
            {decline}
          </Button>
          <Button look="primary" onClick={() => answer(true)}>
            {agree}
          </Button>
        </>
      }
    >
      {command && <CopyText text={command} label="Copy the command" />}
    </Dialog>
  )
}

import { useState } from 'react'
import type { PromptQuestion } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { answerTask, cancelTask } from './actions.ts'
import type { SheetProps } from './sheet-props.ts'
import { Tried } from './tried.tsx'
import { cancelWord } from './view-model.ts'

type Props = SheetProps & Pick<PromptQuestion, 'of' | 'instruction' | 'prompt' | 'echo' | 'problem'>

/** What the server of a host asks, in its own words. */
export function PromptSheet({ task, question, onClose, of, instruction, prompt, echo, problem }: Props) {
  const [answer, setAnswer] = useState('')
  const submit = () => void answerTask(task, question, { case: 'secret', value: answer })
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${of} asks at the sign-in`}
      description={`${instruction ? `It says: ${instruction}. ` : ''}These are the host's own words. The answer goes to it and is kept nowhere; it may not wait long.`}
      footer={
        <>
          <Button onClick={() => void cancelTask(task)}>{cancelWord(task)}</Button>
          <Button look="primary" disabled={answer === ''} onClick={submit}>
            Answer
          </Button>
        </>
      }
    >
      <form
        onSubmit={(e) => {
          e.preventDefault()
          if (answer !== '') submit()
        }}
      >
        <TextField
          label={prompt || 'Answer'}
          type={echo ? 'text' : 'password'}
          value={answer}
          problem={problem && answer === '' ? problem : undefined}
          autoComplete="one-time-code"
          onChange={(e) => setAnswer(e.target.value)}
        />
        <Tried task={task} />
        <button type="submit" hidden />
      </form>
    </Dialog>
  )
}

import { useRef, useState } from 'react'
import type { HostKeyQuestion } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { formatDate } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { answerTask, cancelTask } from './actions.ts'
import { compareCommand } from './compare-command.ts'
import type { SheetProps } from './sheet-props.ts'

type HostKeyProps = SheetProps & { hostKey: HostKeyQuestion }

export function HostKeySheet(props: HostKeyProps) {
  return props.hostKey.knownFingerprint === undefined ? <NewKey {...props} /> : <ChangedKey {...props} />
}

function NewKey({ task, question, hostKey, onClose }: HostKeyProps) {
  const refuse = useRef<HTMLButtonElement>(null)
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      initialFocus={refuse}
      title={`Is this ${hostKey.host}?`}
      description="This app meets it for the first time. Nothing was sent yet. Compare the fingerprint with what the host says about itself."
      footer={
        <>
          <Button ref={refuse} onClick={() => void cancelTask(task)}>
            Do not connect
          </Button>
          <Button
            look="primary"
            onClick={() => void answerTask(task, question, { case: 'acceptFingerprint', value: hostKey.fingerprint })}
          >
            Trust and continue
          </Button>
        </>
      }
    >
      <Fingerprint label={`${hostKey.keyType} key of ${hostKey.host}`} value={hostKey.fingerprint} />
      <p className="mt-4 mb-1.5 text-dim">On the host's own console, this prints the same line:</p>
      <CopyText text={compareCommand(hostKey.keyType)} label="Copy the command" />
    </Dialog>
  )
}

function ChangedKey({ task, question, hostKey, onClose }: HostKeyProps) {
  return (
    <ChangedKeySheet
      host={hostKey.host}
      keyType={hostKey.keyType}
      fingerprint={hostKey.fingerprint}
      known={hostKey.knownFingerprint ?? ''}
      knownSinceMs={msOf(hostKey.knownSince)}
      onClose={onClose}
      onRefuse={() => void cancelTask(task)}
      onReplace={() => void answerTask(task, question, { case: 'acceptFingerprint', value: hostKey.fingerprint })}
    />
  )
}

interface ChangedKeyProps {
  host: string
  keyType: string
  fingerprint: string
  /** Empty = only keys of other types are known. */
  known: string
  knownSinceMs?: number | undefined
  onReplace: () => void
  onRefuse: () => void
  onClose: () => void
}

/** Both keys beside each other; replacing the known one takes the last characters of the new. */
export function ChangedKeySheet(props: ChangedKeyProps) {
  const { host, keyType, fingerprint, known, knownSinceMs: since, onReplace, onRefuse, onClose } = props
  const refuse = useRef<HTMLButtonElement>(null)
  const [typed, setTyped] = useState('')
  const lastFour = fingerprint.slice(-4)
  return (
    <Dialog
      open
      wide
      tone="danger"
      onClose={onClose}
      initialFocus={refuse}
      title={`${host} answered with a different host key`}
      description="We did not sign in. Its VMs keep running. Rebuilt lately? Or someone in the middle."
      footer={
        <>
          <Button look="danger" disabled={typed !== lastFour} onClick={onReplace}>
            Replace the key
          </Button>
          <Button ref={refuse} look="primary" onClick={onRefuse}>
            Do not connect
          </Button>
        </>
      }
    >
      <div className="grid gap-3 sm:grid-cols-2">
        <Fingerprint
          label={since === undefined ? 'Known until now' : `Known since ${formatDate(new Date(since))}`}
          value={known}
        />
        <Fingerprint label={`Answered now (${keyType})`} value={fingerprint} bad />
      </div>
      <p className="mt-4 mb-1.5 text-dim">Compare on the host's own console:</p>
      <CopyText text={compareCommand(keyType)} label="Copy the command" />
      <div className="mt-4 max-w-xs">
        <TextField
          label="To replace it, type the last 4 characters of the new fingerprint"
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
          maxLength={4}
          className="font-mono"
        />
      </div>
    </Dialog>
  )
}

function Fingerprint({ label, value, bad }: { label: string; value: string; bad?: boolean }) {
  const groups = value.replace(/^SHA256:/, '').match(/.{1,8}/g) ?? []
  return (
    <figure className={`rounded-lg border p-3 ${bad ? 'border-bad/50 bg-bad/6' : 'border-line bg-bg'}`}>
      <figcaption className={`mb-1.5 text-xs ${bad ? 'text-bad' : 'text-faint'}`}>{label}</figcaption>
      <code role="img" aria-label={value} className="flex flex-wrap gap-x-2.5 font-mono text-base leading-6">
        <span className="text-faint">SHA256:</span>
        {groups.map((group, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the groups of one fingerprint never move
          <span key={i}>{group}</span>
        ))}
      </code>
    </figure>
  )
}

import { useEffect, useRef, useState } from 'react'
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

/** A sheet that has just come up must not be answered by a key meant for what was there before it. */
const SETTLE_MS = 1000

function useSettled(): boolean {
  const [settled, setSettled] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLE_MS)
    return () => clearTimeout(timer)
  }, [])
  return settled
}

function NewKey({ task, question, hostKey, onClose }: HostKeyProps) {
  const refuse = useRef<HTMLButtonElement>(null)
  const settled = useSettled()
  const { host, keyType, fingerprint } = hostKey
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      initialFocus={refuse}
      title={`Is this ${host}?`}
      description="This app meets it for the first time. Nothing was sent yet. Compare the fingerprint with what the host says about itself."
      footer={
        <>
          <Button ref={refuse} onClick={() => void cancelTask(task)}>
            Do not connect
          </Button>
          <Button
            look="primary"
            disabled={!settled}
            onClick={() => void answerTask(task, question, { case: 'acceptFingerprint', value: fingerprint })}
          >
            Trust and continue
          </Button>
        </>
      }
    >
      <Fingerprint label={`${keyType} key of ${host}`} value={fingerprint} big />
      <Compare keyType={keyType} />
    </Dialog>
  )
}

/** How a person checks a fingerprint without trusting this connection. */
function Compare({ keyType }: { keyType: string }) {
  return (
    <>
      <p className="mt-4 mb-1.5 text-dim">On the host's own console, this prints the same line:</p>
      <CopyText text={compareCommand(keyType)} label="Copy the command" />
    </>
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
          label={since === undefined ? 'Known until now' : `First seen ${formatDate(new Date(since))}`}
          value={known}
        />
        <Fingerprint label={`Answers with now (${keyType})`} value={fingerprint} bad />
      </div>
      <Compare keyType={keyType} />
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

interface FingerprintProps {
  label: string
  /** SHA256:… Empty = none of this type is known. */
  value: string
  bad?: boolean
  big?: boolean
}

function Fingerprint({ label, value, bad, big }: FingerprintProps) {
  const groups = value.replace(/^SHA256:/, '').match(/.{1,8}/g) ?? []
  return (
    <figure className={`rounded-lg border p-3 ${bad ? 'border-bad/50 bg-bad/6' : 'border-line bg-bg'}`}>
      <figcaption className={`mb-1.5 text-xs ${bad ? 'text-bad' : 'text-faint'}`}>{label}</figcaption>
      {value === '' && <span className="text-dim">Only keys of other types are known.</span>}
      <code
        role="img"
        aria-label={value || 'none'}
        className={`flex flex-wrap gap-x-3 font-mono ${big ? 'text-xl leading-8' : 'text-base leading-6'}`}
      >
        {value !== '' && <span className="text-faint">SHA256:</span>}
        {groups.map((group, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the groups of one fingerprint never move
          <span key={i}>{group}</span>
        ))}
      </code>
    </figure>
  )
}

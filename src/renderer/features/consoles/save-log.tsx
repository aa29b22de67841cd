import { useEffect, useRef, useState } from 'react'
import { formatBytes } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { chooseLogFile } from './log-file.ts'
import { type LogProgress, readLog } from './log-reader.ts'
import { consoleWire } from './open-consoles.ts'

interface SaveLogProps {
  vmId: string
  name: string
  loggedBytes: bigint
  onClose: () => void
}

type Stage =
  | { at: 'asking' }
  | { at: 'reading'; progress: LogProgress }
  | { at: 'done'; progress: LogProgress }
  | { at: 'failed'; why: string }

const BEGINNING: LogProgress = {
  doneBytes: 0n,
  totalBytes: undefined,
  missedBytes: 0n,
  first: 0n,
  head: 0n,
  waiting: '',
}

/** The whole log of a console from its host into a file, with how far it is and a way to stop. */
export function SaveLog({ vmId, name, loggedBytes, onClose }: SaveLogProps) {
  const [stage, setStage] = useState<Stage>({ at: 'asking' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(new Error('cancelled')), [])
  const save = async () => {
    const stop = new AbortController()
    running.current = stop
    try {
      const file = await chooseLogFile(`${name}-serial0.log`)
      if (!file) return
      const write = (bytes: Uint8Array) => file.write(bytes)
      const onProgress = (progress: LogProgress) => setStage({ at: 'reading', progress })
      setStage({ at: 'reading', progress: BEGINNING })
      try {
        const progress = await readLog({ vmId, line: consoleWire, write, onProgress, signal: stop.signal })
        await file.close()
        setStage({ at: 'done', progress })
      } catch (error) {
        await file.abandon().catch(() => {})
        throw error
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      setStage(stop.signal.aborted ? { at: 'asking' } : { at: 'failed', why })
    }
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Save the log of ${name}`}
      description="Every byte its host keeps of this console, as the guest wrote it, escape sequences too."
      footer={
        stage.at === 'done' ? (
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        ) : stage.at === 'reading' ? (
          <Button onClick={() => running.current?.abort(new Error('cancelled'))}>Stop</Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button look="primary" onClick={() => void save()}>
              {stage.at === 'failed' ? 'Try again' : 'Choose a file'}
            </Button>
          </>
        )
      }
    >
      <div role="status" className="min-h-10 text-dim">
        {stage.at === 'asking' && `About ${formatBytes(loggedBytes)} now.`}
        {stage.at === 'failed' && <p className="text-bad">Nothing was saved: {stage.why}</p>}
        {(stage.at === 'reading' || stage.at === 'done') && <Progress {...stage.progress} done={stage.at === 'done'} />}
      </div>
    </Dialog>
  )
}

function Progress({ doneBytes, totalBytes, missedBytes, waiting, done }: LogProgress & { done: boolean }) {
  const total = totalBytes ?? 0n
  return (
    <>
      <progress
        aria-label="Read from the host"
        className="h-1.5 w-full accent-accent"
        value={total === 0n ? (done ? 1 : 0) : Number((doneBytes * 1000n) / total) / 1000}
        max={1}
      />
      <p>
        {waiting !== '' && !done && `Waiting: ${waiting} `}
        {done ? `Saved ${formatBytes(doneBytes - missedBytes)}.` : `${formatBytes(doneBytes)} of ${formatBytes(total)}`}
        {missedBytes > 0n && ` ${formatBytes(missedBytes)} went past what the host keeps meanwhile.`}
      </p>
    </>
  )
}

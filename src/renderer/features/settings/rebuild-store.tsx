import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { rebuildStore } from './actions.ts'
import { Confirm } from './confirm.tsx'
import { Setting } from './setting.tsx'

/** The way out of a damaged store: a new one from what hosts hold, the damaged file kept beside it. */
export function RebuildStore() {
  const [asked, setAsked] = useState(false)
  const [busy, setBusy] = useState(false)
  const [done, setDone] = useState<{ keptAt: string; notes: string[] }>()
  const run = async () => {
    setBusy(true)
    setDone(await rebuildStore())
    setBusy(false)
  }
  return (
    <>
      <Setting
        label="Make a new store"
        hint="From what the hosts hold. The damaged file is kept beside it; VMs keep running."
      >
        <Button disabled={busy} onClick={() => setAsked(true)}>
          {busy ? 'Asking the hosts…' : 'Make a new store…'}
        </Button>
      </Setting>
      {done && (
        <div className="grid gap-2 py-3" role="status">
          <p>The damaged file is kept at:</p>
          <CopyText text={done.keptAt} />
          <ul className="list-disc pl-5 text-dim">
            {done.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </div>
      )}
      {asked && (
        <Confirm
          title="Make a new store from what the hosts hold?"
          act="Make a new store"
          onAct={() => void run()}
          onClose={() => setAsked(false)}
        >
          <p>
            What only the damaged store knew and could not be read is lost. A backup put back with eitri restore may
            hold more.
          </p>
        </Confirm>
      )}
    </>
  )
}

import { useState } from 'react'
import type { BackupStoreResponse } from '../../../ipc/gen/eitri/fleet/v1/store_pb.js'
import { formatBytes } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { backUp } from './actions.ts'
import { suggestedBackup } from './backup-path.ts'

export function BackupSheet({ dataDir, onClose }: { dataDir: string; onClose: () => void }) {
  const [path, setPath] = useState(() => suggestedBackup(dataDir, new Date()))
  const [busy, setBusy] = useState(false)
  const [done, setDone] = useState<BackupStoreResponse>()
  const problem = path.startsWith('/') ? undefined : 'use an absolute path'
  const run = async () => {
    setBusy(true)
    setDone(await backUp(path))
    setBusy(false)
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={done ? 'Backed up' : 'Back up now'}
      description={
        done ? `${formatBytes(done.sizeBytes)}, a whole copy of the store.` : 'Everything goes on meanwhile.'
      }
      footer={
        done ? (
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button look="primary" disabled={busy || problem !== undefined} onClick={() => void run()}>
              {busy ? 'Writing the copy…' : 'Back up'}
            </Button>
          </>
        )
      }
    >
      {done ? (
        <div className="grid gap-3">
          <CopyText text={done.path} label="Copy the path" />
          <CopyText text={`sha256 ${done.sha256}`} label="Copy the digest" />
          {done.needs.length > 0 && (
            <>
              <p>To put it back on another computer you also need:</p>
              <ul className="list-disc pl-5 text-dim">
                {done.needs.map((need) => (
                  <li key={need}>{need}</li>
                ))}
              </ul>
            </>
          )}
        </div>
      ) : (
        <TextField
          label="New file on the computer that Eitri runs on"
          hint="No file is replaced. Private keys are not in it."
          problem={problem}
          value={path}
          onChange={(event) => setPath(event.target.value)}
        />
      )}
    </Dialog>
  )
}

import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { plural } from '../../lib/format.ts'
import { useFleetShallow } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { askForClock } from './actions.ts'
import { type Resynced, resyncedWords, resyncMany } from './resync-many.ts'
import { whyNotSettable } from './view-model.ts'

/** Re-syncs the chosen guests; says how far it is, and what could not be done until it is dismissed. */
export function ResyncBulk({ ids }: { ids: readonly string[] }) {
  const vms = useFleetShallow((f) => ids.flatMap((id) => f.vms.get(id) ?? []))
  const settable = vms.filter((vm) => whyNotSettable(vm) === undefined)
  const [at, setAt] = useState<{ done: number; of: number }>()
  const [result, setResult] = useState<Resynced>()
  const left = ids.length - settable.length
  const why = settable.length === 0 ? 'None of these is a guest whose clock its host can set.' : undefined
  return (
    <>
      {result && (
        <span role="status" className={result.failed.length > 0 ? 'text-bad' : 'text-good'}>
          {resyncedWords(result)}{' '}
          <Button size="small" look="quiet" onClick={() => setResult(undefined)}>
            Dismiss
          </Button>
        </span>
      )}
      {left > 0 && settable.length > 0 && !at && (
        <span className="text-faint text-xs">{plural(left, 'other')} cannot be set by a host</span>
      )}
      <Button
        size="small"
        look="primary"
        disabled={at !== undefined || why !== undefined}
        {...(why ? { title: why } : {})}
        onClick={() => {
          setResult(undefined)
          setAt({ done: 0, of: settable.length })
          void resyncMany(settable, askForClock, (done) => setAt({ done, of: settable.length }))
            .then(setResult)
            .finally(() => setAt(undefined))
        }}
      >
        <RefreshCw size={13} aria-hidden />
        {at ? `Setting ${Math.min(at.done + 1, at.of)} of ${at.of}…` : `Re-sync ${plural(settable.length, 'guest')}`}
      </Button>
    </>
  )
}

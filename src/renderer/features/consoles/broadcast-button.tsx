import { Radio } from 'lucide-react'
import { useEffect, useState } from 'react'
import { plural } from '../../lib/format.ts'
import { usePreferences } from '../../state/preferences.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { setBroadcast, useBroadcast, whoReceives } from './broadcast.ts'

/** Once the sheet is gone, and its button with it. */
const backToConsole = () =>
  requestAnimationFrame(() => document.querySelector<HTMLElement>('[data-console-focused] textarea')?.focus())

/** Off until asked for; while it is on it is red, says to how many, and ends by itself when another tab is shown. */
export function BroadcastButton({ tabId }: { tabId: string }) {
  const { on, panes, names } = useBroadcast()
  const allowed = usePreferences((p) => p.terminal.broadcast)
  const [asking, setAsking] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab ends it
  useEffect(() => () => setBroadcast(false), [tabId])
  useEffect(() => {
    if (!allowed) setBroadcast(false)
  }, [allowed])
  const { takes, left } = whoReceives({ panes, names })
  if (on)
    return (
      <Button
        look="danger"
        size="small"
        title={left.length === 0 ? undefined : `Without the keyboard, so nothing goes there: ${left.join(', ')}`}
        onClick={() => setBroadcast(false)}
      >
        <Radio size={13} aria-hidden />
        Typing into {plural(takes.length, 'pane')} of {panes.size} · Stop (Esc Esc)
      </Button>
    )
  const why = !allowed ? 'Switched off in Settings' : panes.size < 2 ? 'Needs two panes beside each other' : ''
  return (
    <>
      <Button
        size="small"
        disabled={why !== ''}
        title={why || 'Type into all panes of this tab'}
        onClick={() => setAsking(true)}
      >
        <Radio size={13} aria-hidden />
        Broadcast off
      </Button>
      {asking && (
        <Dialog
          open
          onClose={() => setAsking(false)}
          title={takes.length === 0 ? 'No pane here takes keys' : `Type into ${plural(takes.length, 'pane')} at once?`}
          description="Each key goes to every pane of this tab with a red frame. Esc twice stops it, and so does going to another tab."
          footer={
            <>
              <Button onClick={() => setAsking(false)}>Not now</Button>
              <Button
                look="danger"
                disabled={takes.length === 0}
                onClick={() => {
                  setAsking(false)
                  setBroadcast(true)
                  backToConsole()
                }}
              >
                Broadcast
              </Button>
            </>
          }
        >
          <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
            <dt className="text-dim">Typed into</dt>
            <dd>{takes.join(', ') || 'none'}</dd>
            {left.length > 0 && (
              <>
                <dt className="text-dim">Left out</dt>
                <dd className="text-warn">{left.join(', ')}: read-only or not connected. Take its keyboard first.</dd>
              </>
            )}
          </dl>
        </Dialog>
      )}
    </>
  )
}

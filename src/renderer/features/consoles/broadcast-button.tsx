import { Radio } from 'lucide-react'
import { useEffect, useState } from 'react'
import { plural } from '../../lib/format.ts'
import { usePreferences } from '../../state/preferences.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { canReceive, setBroadcast, useBroadcast } from './broadcast.ts'

/** Once the sheet is gone, and its button with it. */
const backToConsole = () =>
  requestAnimationFrame(() => document.querySelector<HTMLElement>('[data-console-focused] textarea')?.focus())

/** Off until asked for; while it is on it is red, says to how many, and ends by itself when another tab is shown. */
export function BroadcastButton({ tabId }: { tabId: string }) {
  const { on, panes } = useBroadcast()
  const allowed = usePreferences((p) => p.terminal.broadcast)
  const [asking, setAsking] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab ends it
  useEffect(() => () => setBroadcast(false), [tabId])
  useEffect(() => {
    if (!allowed) setBroadcast(false)
  }, [allowed])
  const receiving = [...panes.values()].filter(canReceive).length
  if (on)
    return (
      <Button look="danger" size="small" onClick={() => setBroadcast(false)}>
        <Radio size={13} aria-hidden />
        Typing into {plural(receiving, 'pane')} of {panes.size} · Stop (Esc Esc)
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
          title={`Type into ${plural(receiving, 'pane')} at once?`}
          description="Each key goes to every pane of this tab with a red frame. Read-only panes get none. Esc twice stops it, and so does going to another tab."
          footer={
            <>
              <Button onClick={() => setAsking(false)}>Not now</Button>
              <Button
                look="danger"
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
        />
      )}
    </>
  )
}

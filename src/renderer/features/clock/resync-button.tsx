import { RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'

/** Says that it is at work: a guest may take seconds to answer. */
export function ResyncButton({
  run,
  look = 'plain',
  label,
  why,
}: {
  run: () => Promise<void>
  look?: 'plain' | 'primary'
  label?: string
  /** Why it cannot be done; absent = it can. */
  why?: string | undefined
}) {
  const [busy, setBusy] = useState(false)
  return (
    <Button
      size="small"
      look={look}
      disabled={busy || why !== undefined}
      {...(why ? { title: why } : {})}
      {...(label ? { 'aria-label': label } : {})}
      onClick={() => {
        setBusy(true)
        void run().finally(() => setBusy(false))
      }}
    >
      <RefreshCw size={13} aria-hidden />
      {busy ? 'Setting it…' : 'Re-sync'}
    </Button>
  )
}

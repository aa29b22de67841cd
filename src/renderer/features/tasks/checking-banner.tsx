import { RefreshCw } from 'lucide-react'
import { plural } from '../../lib/format.ts'
import { useChecking } from '../../state/checking.ts'

/** After a sleep or a silence: how many hosts were not heard since, and that what is grey is from before. */
export function CheckingBanner() {
  const left = useChecking((c) => c.pending.size)
  if (left === 0) return null
  return (
    <div role="status" className="flex items-center gap-2 border-info/40 border-b bg-info/8 px-5 py-1.5">
      <RefreshCw size={14} aria-hidden className="text-info" />
      <p>
        <strong className="font-medium">Checking {plural(left, 'host')}…</strong> What is grey is from before; each host
        gets its colour back when it reports.
      </p>
    </div>
  )
}

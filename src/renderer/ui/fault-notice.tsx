import { AlertTriangle, ClipboardCopy } from 'lucide-react'
import type { ReactNode } from 'react'
import type { FaultText } from '../../ipc/fault-text.ts'
import { windowFaultText } from '../../ipc/fault-text-window.ts'
import type { FaultData } from '../../ipc/faults.ts'
import { cx } from '../lib/class-names.ts'
import { Button } from './button.tsx'

/** The fault as text for a report: its words, then code, id and params. */
export function faultDetails(fault: FaultData, { what, effect, next }: FaultText): string {
  const params = Object.entries(fault.params).map(([k, v]) => `${k}: ${v}`)
  return [what, effect, next, '', `${fault.code} (${fault.disposition}) ${fault.id}`, ...params].join('\n')
}

/** What happened, what it means, what can be done. Code and id only in the copied details. */
export function FaultNotice({
  fault,
  words = windowFaultText(fault.code, fault.params),
  tone = 'bad',
  actions,
}: {
  fault: FaultData
  /** Said instead of the code's own words, where the other side already made a sentence. */
  words?: FaultText
  tone?: 'bad' | 'warn'
  actions?: ReactNode
}) {
  const { what, effect, next } = words
  return (
    <div
      role="alert"
      className={cx(
        'flex items-start gap-2.5 rounded-lg border px-3 py-2.5',
        tone === 'bad' ? 'border-bad/40 bg-bad/6' : 'border-warn/40 bg-warn/6',
      )}
    >
      <AlertTriangle
        size={16}
        aria-hidden
        className={cx('mt-0.5 shrink-0', tone === 'bad' ? 'text-bad' : 'text-warn')}
      />
      <div className="min-w-0 flex-1 break-words">
        <p className="font-medium">{what}</p>
        <p className="text-dim">{[effect, next].filter(Boolean).join(' ')}</p>
      </div>
      <div className="flex shrink-0 items-center gap-1">
        {actions}
        <Button
          look="quiet"
          size="small"
          title="Copy the details"
          onClick={() => void navigator.clipboard.writeText(faultDetails(fault, words))}
        >
          <ClipboardCopy size={13} aria-hidden />
          Copy details
        </Button>
      </div>
    </div>
  )
}

import { CircleX, Info, TriangleAlert } from 'lucide-react'
import type { Finding } from '../../../ipc/cloud-init/finding.ts'
import { cx } from '../../lib/class-names.ts'
import { Button } from '../../ui/button.tsx'

const LOOK = {
  error: { word: 'Error', icon: CircleX, color: 'text-bad' },
  warning: { word: 'Warning', icon: TriangleAlert, color: 'text-warn' },
  info: { word: 'Note', icon: Info, color: 'text-info' },
} as const

interface CloudInitFindingsProps {
  found: readonly Finding[]
  /** They are of the text as it stands, so their edits fit. */
  current: boolean
  onJump: (finding: Finding) => void
  onApply: (finding: Finding) => void
}

/** What is to be said of user-data, line by line. */
export function CloudInitFindings({ found, current, onJump, onApply }: CloudInitFindingsProps) {
  return (
    <ul
      aria-label="Findings in the user-data"
      className="mt-1.5 max-h-56 divide-y divide-line overflow-y-auto rounded-md border border-line"
    >
      {found.map((finding) => {
        const { word, icon: Icon, color } = LOOK[finding.severity]
        return (
          <li
            key={`${finding.line}:${finding.column} ${finding.rule}`}
            className="flex items-start gap-2 px-2.5 py-1.5"
          >
            <Icon size={14} aria-hidden className={cx('mt-0.5 shrink-0', color)} />
            <div className="min-w-0 flex-1 text-xs leading-5">
              <button
                type="button"
                className="rounded-sm font-medium text-ink underline decoration-line-strong underline-offset-2 hover:decoration-ink"
                title="Go to this line (F8 goes to the next one)"
                onClick={() => onJump(finding)}
              >
                {word} in line {finding.line}
              </button>
              <span className="text-ink">: {finding.what}.</span> <span className="text-dim">{finding.fix}</span>
            </div>
            {finding.edits && (
              <Button
                size="small"
                disabled={!current}
                aria-label={`Apply the fix in line ${finding.line}: ${finding.fix}`}
                onClick={() => onApply(finding)}
              >
                Apply fix
              </Button>
            )}
          </li>
        )
      })}
    </ul>
  )
}

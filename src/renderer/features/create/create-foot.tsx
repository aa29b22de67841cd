import type { FaultData } from '../../../ipc/faults.ts'
import { cx } from '../../lib/class-names.ts'
import { hrefOf } from '../../routes.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { keyText } from '../../ui/key-table.ts'
import type { standingOf } from './create-standing.ts'

const CREATE_KEYS = keyText('mod+enter')
const TONE = { quiet: 'text-dim', warn: 'text-warn', bad: 'text-bad' } as const

interface FootProps {
  standing: ReturnType<typeof standingOf>
  /** Nothing can be made yet, whatever is pressed. */
  waits: boolean
  /** Something that is shown as wrong has to be mended. */
  isWrong: boolean
  sending: boolean
  fault: FaultData | undefined
}

/** What is in the way, and the button. While no mistake is shown it can be pressed: that shows them. */
export function CreateFoot({ standing, waits, isWrong, sending, fault }: FootProps) {
  return (
    <footer className="border-line border-t bg-panel px-4 py-2">
      {fault && <CreateFault fault={fault} />}
      <div className="mx-auto flex max-w-6xl items-center gap-2">
        <span role="status" className="line-clamp-2 min-w-0 text-xs tabular-nums">
          {standing && <span className={cx(TONE[standing.tone])}>{standing.text}</span>}
        </span>
        <a href={hrefOf({ page: 'vms', filter: '' })} className={`ml-auto ${buttonClass('plain')}`}>
          Cancel
        </a>
        <Button
          type="submit"
          look="primary"
          disabled={waits || isWrong || sending}
          title={waits ? standing?.text : `${CREATE_KEYS}, wherever the caret is`}
        >
          {sending ? 'Asking…' : 'Create'}
          {!sending && (
            <kbd aria-hidden className="font-normal text-xs">
              {CREATE_KEYS}
            </kbd>
          )}
        </Button>
      </div>
    </footer>
  )
}

function CreateFault({ fault }: { fault: FaultData }) {
  const left =
    fault.disposition === 'transient'
      ? 'Whether it was made is not known. Create asks for the same VM again: it is made once.'
      : 'No VM was made. What is written here stays.'
  return (
    <div className="mx-auto mb-2 max-w-6xl">
      <FaultNotice fault={fault} />
      <p className="mt-1 text-dim text-xs">{left}</p>
    </div>
  )
}

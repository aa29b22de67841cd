import { useFleet } from '../../state/use-fleet.ts'
import { SheetSubject } from '../../ui/sheet-subject.tsx'
import { FitSheet } from './fit-sheet.tsx'
import type { OpenConsole } from './open-consoles.ts'
import { fitCommand, fitted, type PaneSheet } from './pane-acts.ts'
import { PasteGuard } from './paste-guard.tsx'
import { ReadAsText } from './read-as-text.tsx'
import { ReadLog } from './read-log.tsx'
import { SaveLog } from './save-log.tsx'
import { cursorLine, isPromptLike } from './terminal-text.ts'

interface PaneSheetsProps {
  console: OpenConsole
  sheet: PaneSheet | undefined
  name: string
  /** Empty = it is no console of a VM. */
  vmId: string
  onClose: () => void
  /** From reading the log to saving it. */
  onSave: () => void
}

/** What of a pane asks or shows over it. Its text stays to be read when its VM is gone; the rest acts on the VM. */
export function PaneSheets(props: PaneSheetsProps) {
  const { name, vmId, sheet } = props
  const isGone = useFleet((f) => vmId !== '' && sheet !== undefined && sheet !== 'text' && !f.vms.has(vmId))
  const what =
    'It was destroyed, or its host left the fleet. What this console showed stays in the pane until it is closed.'
  return (
    <SheetSubject key={String(sheet)} gone={isGone ? { title: `${name} is gone`, what } : undefined}>
      <Standing {...props} />
    </SheetSubject>
  )
}

function Standing({ console, sheet, name, vmId, onClose, onSave }: PaneSheetsProps) {
  const { terminal } = console
  if (sheet === undefined || sheet === 'find') return null
  if (sheet === 'text') return <ReadAsText console={console} name={name} onClose={onClose} />
  if (sheet === 'log')
    return <SaveLog vmId={vmId} name={name} loggedBytes={console.session.loggedBytes} onClose={onClose} />
  if (sheet === 'read-log')
    return <ReadLog vmId={vmId} name={name} end={console.session.logEnd} onClose={onClose} onSave={onSave} />
  if (sheet === 'fit')
    return (
      <FitSheet
        name={name}
        command={fitCommand(terminal)}
        refused={!isPromptLike(cursorLine(terminal))}
        onClose={onClose}
        onType={() => {
          fitted(console)
          onClose()
        }}
      />
    )
  return (
    <PasteGuard
      text={sheet.paste}
      vmName={name}
      onClose={onClose}
      onPaste={() => {
        console.paste(sheet.paste)
        onClose()
      }}
    />
  )
}

import { FitSheet } from './fit-sheet.tsx'
import type { OpenConsole } from './open-consoles.ts'
import { fitCommand, fitted, type PaneSheet } from './pane-acts.ts'
import { PasteGuard } from './paste-guard.tsx'
import { ReadAsText } from './read-as-text.tsx'
import { SaveLog } from './save-log.tsx'
import { cursorLine, isPromptLike } from './terminal-text.ts'

interface PaneSheetsProps {
  console: OpenConsole
  sheet: PaneSheet | undefined
  name: string
  /** Empty = it is no console of a VM. */
  vmId: string
  onClose: () => void
}

/** What of a pane asks or shows over it. */
export function PaneSheets({ console, sheet, name, vmId, onClose }: PaneSheetsProps) {
  const { terminal } = console
  if (sheet === undefined || sheet === 'find') return null
  if (sheet === 'text') return <ReadAsText console={console} name={name} onClose={onClose} />
  if (sheet === 'log')
    return <SaveLog vmId={vmId} name={name} loggedBytes={console.session.loggedBytes} onClose={onClose} />
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

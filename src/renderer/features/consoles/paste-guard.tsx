import { plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { visibleText } from './paste-text.ts'

const MAX_PREVIEW = 4000

interface PasteGuardProps {
  text: string
  vmName: string
  onPaste: () => void
  onClose: () => void
}

/** Shows what is about to be typed into a guest when it is more than one line. */
export function PasteGuard({ text, vmName, onPaste, onClose }: PasteGuardProps) {
  const lines = text.split(/\r\n|\r|\n/).length
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Type ${plural(lines, 'line')} into ${vmName}?`}
      description="A shell there runs each line as it comes."
      footer={
        <>
          <Button onClick={onClose}>Do not paste</Button>
          <Button look="primary" onClick={onPaste}>
            Paste {plural(lines, 'line')}
          </Button>
        </>
      }
    >
      <pre className="max-h-64 overflow-auto rounded-md border border-line bg-bg p-3 font-mono text-xs leading-5">
        {visibleText(text.slice(0, MAX_PREVIEW))}
        {text.length > MAX_PREVIEW && '\n…'}
      </pre>
    </Dialog>
  )
}

import { LIMITS } from '../../../ipc/units.ts'
import { formatBytes, plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { MAX_PREVIEW, tooLongToPaste, visibleText } from './paste-text.ts'

interface PasteGuardProps {
  text: string
  vmName: string
  onPaste: () => void
  onClose: () => void
}

/** Shows what is about to be typed into a guest when it is more than one line, or why it is not. */
export function PasteGuard({ text, vmName, onPaste, onClose }: PasteGuardProps) {
  const bytes = tooLongToPaste(text)
  if (bytes !== undefined) return <TooLong bytes={BigInt(bytes)} vmName={vmName} onClose={onClose} />
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

function TooLong({ bytes, vmName, onClose }: { bytes: bigint; vmName: string; onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Too much to type into ${vmName}`}
      description={`This is ${formatBytes(bytes)}; at most ${formatBytes(BigInt(LIMITS.consolePasteBytes))} are typed at once, so that all of it arrives. Nothing was typed.`}
      footer={
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p className="text-dim">Copy it into the guest as a file, over SSH, or paste it in parts.</p>
    </Dialog>
  )
}

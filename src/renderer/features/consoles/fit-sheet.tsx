import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'

interface FitSheetProps {
  name: string
  command: string
  /** The line in front of the cursor does not look like a shell that waits. */
  refused: boolean
  onType: () => void
  onClose: () => void
}

/** A serial line knows no size: a shell there is told by a command typed into it, once a person saw it. */
export function FitSheet({ name, command, refused, onType, onClose }: FitSheetProps) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={refused ? `${name} does not wait for a command` : `Tell ${name} the size of this view?`}
      description={
        refused
          ? 'A serial line carries no size, so it is told by a command typed at a shell’s prompt. The cursor does not stand behind one now. Log in or leave the program there, then choose Fit again.'
          : 'A serial line carries no size, so programs there draw for 80×24. This types one command at the prompt, as you would.'
      }
      footer={
        refused ? (
          <Button look="primary" onClick={onClose}>
            Close
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Do not type</Button>
            <Button look="primary" onClick={onType}>
              Type it
            </Button>
          </>
        )
      }
    >
      {!refused && <pre className="rounded-md border border-line bg-bg p-3 font-mono text-xs">{command}</pre>}
    </Dialog>
  )
}

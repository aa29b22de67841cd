import { type ReactNode, useRef } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'

/** Asks before what cannot be taken back; the focus is on the way out. */
export function Confirm({
  title,
  children,
  act,
  onAct,
  onClose,
}: {
  title: string
  children: ReactNode
  act: string
  onAct: () => void
  onClose: () => void
}) {
  const keep = useRef<HTMLButtonElement>(null)
  return (
    <Dialog
      open
      tone="danger"
      title={title}
      onClose={onClose}
      initialFocus={keep}
      footer={
        <>
          <Button ref={keep} onClick={onClose}>
            Leave as it is
          </Button>
          <Button
            look="danger"
            onClick={() => {
              onClose()
              onAct()
            }}
          >
            {act}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  )
}

/** While something is read, or when it could not be. */
export function Reading({ what, failed, onAgain }: { what: string; failed: boolean; onAgain: () => void }) {
  return failed ? (
    <p className="flex flex-wrap items-center gap-3 py-3 text-dim">
      {what} could not be read. Nothing was changed.
      <Button size="small" onClick={onAgain}>
        Try again
      </Button>
    </p>
  ) : (
    <p className="py-3 text-faint" role="status">
      Reading {what.toLowerCase()}…
    </p>
  )
}

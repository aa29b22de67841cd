import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { cx } from '../lib/class-names.ts'
import { formatClock } from '../lib/format.ts'
import { Button, IconButton } from './button.tsx'
import { useCopied } from './copy-text.tsx'
import { useFocusReturn } from './focus-return.ts'
import { useSubject } from './sheet-subject.tsx'
import { fieldsIn, typedText } from './typed-text.ts'

export interface DialogProps {
  open: boolean
  onClose: () => void
  title: ReactNode
  /** Read after the title. Shown under it. */
  description?: ReactNode
  children?: ReactNode
  /** Buttons, the safe one first. */
  footer?: ReactNode
  tone?: 'plain' | 'danger'
  wide?: boolean
  /** What gets the focus first. Absent = the first thing that can have it. */
  initialFocus?: RefObject<HTMLElement | null>
}

/**
 * A modal sheet. Escape and a click beside it close it; the focus goes back to where it came from. When what it is about
 * is gone (`SheetSubject`) it says so, and nothing in it acts any more.
 */
export function Dialog(props: DialogProps) {
  const { open, onClose, description, children, wide, initialFocus } = props
  const { gone } = useSubject()
  const fields = useRef<HTMLFieldSetElement>(null)
  const title = gone?.title ?? props.title
  const tone = gone ? 'plain' : props.tone
  const footer = gone ? <GoneFooter fields={fields} onClose={onClose} /> : props.footer
  const giveFocusBack = useFocusReturn(open)
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/35 dark:bg-black/60" />
        <Radix.Content
          {...(description === undefined ? { 'aria-describedby': undefined } : {})}
          onCloseAutoFocus={giveFocusBack}
          onOpenAutoFocus={(event) => {
            if (!initialFocus?.current) return
            event.preventDefault()
            initialFocus.current.focus()
          }}
          className={cx(
            'fixed top-[12vh] left-1/2 z-50 flex max-h-[80vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col',
            'animate-[rise_140ms_ease-out] rounded-xl border bg-panel shadow-pop',
            wide ? 'max-w-2xl' : 'max-w-lg',
            tone === 'danger' ? 'border-bad/50' : 'border-line',
          )}
        >
          <header className="pt-4 pr-12 pb-2 pl-5">
            <Radix.Title className={cx('font-semibold text-lg leading-6', tone === 'danger' && 'text-bad')}>
              {title}
            </Radix.Title>
            {description !== undefined && (
              <Radix.Description className={cx('mt-1 text-dim', gone && 'sr-only')}>{description}</Radix.Description>
            )}
            {gone && <GoneNote what={gone.what} />}
          </header>
          {children !== undefined && (
            <div className="min-h-0 overflow-y-auto px-5 py-2">
              <fieldset ref={fields} role="presentation" disabled={gone !== undefined} className="contents">
                {children}
              </fieldset>
            </div>
          )}
          {footer !== undefined && <footer className="flex justify-end gap-2 px-5 pt-2 pb-4">{footer}</footer>}
          <Radix.Close asChild>
            <IconButton label="Close" className="absolute top-3 right-3">
              <X size={16} aria-hidden />
            </IconButton>
          </Radix.Close>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function GoneNote({ what }: { what: string }) {
  const { since } = useSubject()
  return (
    <p role="alert" className="mt-1">
      {what} This window learnt it at {formatClock(new Date(since))}; nothing was sent since.
    </p>
  )
}

function GoneFooter({ fields, onClose }: { fields: RefObject<HTMLFieldSetElement | null>; onClose: () => void }) {
  const close = useRef<HTMLButtonElement>(null)
  const [typed, setTyped] = useState('')
  const [copied, copy] = useCopied()
  useEffect(() => {
    if (fields.current) setTyped(typedText(fieldsIn(fields.current)))
    close.current?.focus()
  }, [fields])
  return (
    <>
      {typed !== '' && <Button onClick={() => copy(typed)}>{copied ? 'Copied' : 'Copy what is in the fields'}</Button>}
      <Button ref={close} look="primary" onClick={onClose}>
        Close
      </Button>
    </>
  )
}

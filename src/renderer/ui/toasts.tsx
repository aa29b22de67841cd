import { Toaster as Sonner, toast } from 'sonner'
import { fromConnectError } from '../../ipc/fault-wire.ts'
import { noteFault } from '../features/notices/note-fault.ts'
import { FaultNotice } from './fault-notice.tsx'

/** A fault the person caused: stays until it is dismissed, and in the bell after that. A cancelled call says nothing. */
export function toastFault(error: unknown): void {
  const fault = fromConnectError(error)
  if (fault.disposition === 'cancelled') return
  noteFault(fault.toData())
  toast.custom(
    (id) => (
      <div className="w-[420px] rounded-lg bg-panel shadow-pop">
        <FaultNotice
          fault={fault.toData()}
          actions={
            <button
              type="button"
              className="h-6 rounded px-2 text-dim text-xs hover:bg-hover"
              onClick={() => toast.dismiss(id)}
            >
              Dismiss
            </button>
          }
        />
      </div>
    ),
    { duration: Number.POSITIVE_INFINITY },
  )
}

/** A short word that something the person asked for is under way, with its one way back. */
export function toastDone(text: string, undo?: { label: string; run: () => void }): void {
  toast(text, undo ? { action: { label: undo.label, onClick: undo.run }, duration: 8000 } : { duration: 4000 })
}

export function Toasts({ dark }: { dark: boolean }) {
  return (
    <Sonner
      theme={dark ? 'dark' : 'light'}
      position="bottom-right"
      offset={{ bottom: 48, right: 16 }}
      visibleToasts={4}
      toastOptions={{
        style: { background: 'var(--panel)', borderColor: 'var(--line)', color: 'var(--ink)', fontSize: 13 },
      }}
    />
  )
}

import { CheckCircle2, Circle, CircleDashed } from 'lucide-react'
import type { ReactNode } from 'react'
import { cx } from '../../lib/class-names.ts'
import { go } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Meter } from '../../ui/progress.tsx'
import { signWith } from './actions.ts'
import { useAuthorities, useGuestTrust } from './queries.ts'
import { type Rotation, type RotationStep, rotationOf, type StepId } from './rotation.ts'
import { openTrustSheet } from './trust-sheets.ts'
import type { CaKind } from './view-model.ts'

/** Guests that are named at once. */
const SHOWN = 100
const ICON = { done: CheckCircle2, now: CircleDashed, later: Circle }

/** From one authority to the next without locking anybody out. It may be closed and opened at any step. */
export function RotateSheet({ kind, onClose }: { kind: CaKind; onClose: () => void }) {
  const cas = useAuthorities()
  const guests = useGuestTrust()
  const rotation = cas.data && guests.data && rotationOf(kind, cas.data, guests.data)
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={kind === 'user' ? 'Rotate the authority for people' : 'Rotate the authority for guests'}
      description="Step by step, both stay trusted meanwhile. Close this at any time: it goes on from where the fleet stands."
      footer={<Button onClick={onClose}>Close</Button>}
    >
      {rotation ? (
        <ol className="grid gap-1">
          {rotation.steps.map((step, at) => (
            <StepLine key={step.id} step={step} number={at + 1}>
              <StepAct id={step.id} rotation={rotation} />
            </StepLine>
          ))}
        </ol>
      ) : (
        <p className="text-dim">Asking which guests trust which authority…</p>
      )}
    </Dialog>
  )
}

function StepLine({ step, number, children }: { step: RotationStep; number: number; children: ReactNode }) {
  const Icon = ICON[step.state]
  return (
    <li className={cx('flex gap-3 rounded-lg px-3 py-2.5', step.state === 'now' && 'bg-bg')}>
      <Icon
        size={18}
        aria-hidden
        className={cx(
          'mt-0.5 shrink-0',
          step.state === 'done' ? 'text-good' : step.state === 'now' ? 'text-info' : 'text-faint',
        )}
      />
      <div className="min-w-0 flex-1">
        <p className="font-medium">
          {number}. {step.what}
          <span className="sr-only">: {step.state === 'done' ? 'done' : step.state === 'now' ? 'next' : 'later'}</span>
        </p>
        <p className="text-dim">{step.detail}</p>
        {children}
      </div>
    </li>
  )
}

function StepAct({ id, rotation }: { id: StepId; rotation: Rotation }) {
  const { kind, old, next, cutOff } = rotation
  const line = (children: ReactNode) => <div className="mt-2 flex flex-wrap items-center gap-2">{children}</div>
  switch (id) {
    case 'add':
      return (
        !next &&
        line(
          <>
            <Button look="primary" size="small" onClick={() => openTrustSheet({ sheet: 'create', kind })}>
              Create…
            </Button>
            <Button size="small" onClick={() => openTrustSheet({ sheet: 'import', kind })}>
              Import…
            </Button>
          </>,
        )
      )
    case 'spread':
      return next && <Spread rotation={rotation} />
    case 'sign':
      if (!next || next.state === 'signing') return null
      return next.held === 'elsewhere' ? (
        <p className="mt-1 text-dim text-xs">Its private key is elsewhere, so it cannot sign here.</p>
      ) : (
        line(
          <Button size="small" look="primary" onClick={() => void signWith(next)}>
            Sign with {next.name}
          </Button>,
        )
      )
    case 'retire':
      return (
        old &&
        next?.state === 'signing' &&
        line(
          <Button size="small" onClick={() => openTrustSheet({ sheet: 'retire', ca: old })}>
            {cutOff.length === 0 ? `Retire ${old.name}…` : `See who would lose access…`}
          </Button>,
        )
      )
  }
}

function Spread({ rotation: { done, total, missing } }: { rotation: Rotation }) {
  return (
    <div className="mt-2 grid gap-2">
      <div className="max-w-72">
        <Meter used={done} total={Math.max(1, total)} text={`${done} of ${total}`} label="Guests that are through" />
      </div>
      {missing.length > 0 && (
        <details>
          <summary className="cursor-default text-dim text-xs">{missing.length} missing, and why</summary>
          <ul className="mt-1 grid max-h-40 gap-0.5 overflow-y-auto rounded-md border border-line bg-panel px-3 py-2 text-xs">
            {missing.slice(0, SHOWN).map(({ vmId, vmName, why }) => (
              <li key={vmId}>
                <button
                  type="button"
                  className="min-h-6 font-medium hover:underline"
                  onClick={() => go({ page: 'vm', id: vmId, tab: 'trust' })}
                >
                  {vmName}
                </button>
                <span className="text-dim">: {why}</span>
              </li>
            ))}
            {missing.length > SHOWN && <li className="text-faint">and {missing.length - SHOWN} more</li>}
          </ul>
        </details>
      )}
    </div>
  )
}

import type { ReactNode } from 'react'
import type { Ca } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { formatDate, plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { Button } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-text.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Facts } from '../../ui/page.tsx'
import { StateWord } from '../../ui/state-word.tsx'
import { caState, heldWords, signsWords } from './view-model.ts'

/** All that is known of one authority. */
export function CaSheet({ ca, onClose }: { ca: Ca; onClose: () => void }) {
  const made = msOf(ca.createdAt)
  const retired = msOf(ca.retiredAt)
  const state = caState(ca)
  const rows: [string, ReactNode][] = [
    ['State', <StateWord key="state" state={state} />],
    ['Signs', signsWords(ca)],
    ['Private key', heldWords(ca)],
    ['Used by', plural(ca.usedBy, 'VM')],
    ['Made', made === undefined ? '–' : formatDate(new Date(made))],
    ...(retired === undefined ? [] : ([['Retired', formatDate(new Date(retired))]] satisfies [string, ReactNode][])),
  ]
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={ca.name}
      {...(state.detail === undefined ? {} : { description: state.detail })}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <div className="grid gap-3">
        <Facts rows={rows} />
        <Labelled label="Fingerprint">
          <CopyText text={ca.fingerprint} label="Copy the fingerprint" />
        </Labelled>
        <Labelled label="Public key">
          <CopyText text={ca.publicKey} label="Copy the public key" />
        </Labelled>
      </div>
    </Dialog>
  )
}

const Labelled = ({ label, children }: { label: string; children: ReactNode }) => (
  <div>
    <p className="mb-1 text-dim text-xs">{label}</p>
    {children}
  </div>
)

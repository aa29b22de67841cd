import { useState } from 'react'
import type { Ca, VmTrust } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { TextField } from '../../ui/field.tsx'
import { retireCa } from './actions.ts'
import { useAuthorities, useGuestTrust } from './queries.ts'
import { useSubmit } from './use-submit.ts'
import { cutOffWithout } from './view-model.ts'

/** Names shown at once. */
const SHOWN = 50

/** Who would lose access is shown first; while there is anybody, the name must be typed. */
export function RetireSheet({ ca, onClose }: { ca: Ca; onClose: () => void }) {
  const cas = useAuthorities()
  const guests = useGuestTrust()
  const [typed, setTyped] = useState('')
  const { fault, running, submit } = useSubmit(onClose)
  const known = cas.data && guests.data
  const cutOff = known ? cutOffWithout(ca, cas.data, guests.data) : []
  const isBlocked = !known || (cutOff.length > 0 && typed !== ca.name)
  return (
    <Dialog
      open
      onClose={onClose}
      tone="danger"
      title={`Retire ${ca.name}`}
      description={
        ca.kind === 'user'
          ? 'Nobody is given a certificate of it any more. VMs made from now on do not trust it.'
          : 'No guest is given a certificate of it any more; those that hold one get another.'
      }
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button
            look="danger"
            disabled={isBlocked || running}
            onClick={() => submit(() => retireCa(ca, cutOff.length > 0))}
          >
            {running ? 'Retiring…' : 'Retire'}
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        <WhoLoses ca={ca} cutOff={cutOff} guests={guests.data} />
        {cutOff.length > 0 && (
          <TextField
            label={`Type ${ca.name} to retire it all the same`}
            value={typed}
            onChange={(e) => setTyped(e.target.value)}
            hint="Make it sign again to take this back, as long as its key is here."
          />
        )}
        {fault && <FaultNotice fault={fault} />}
      </div>
    </Dialog>
  )
}

function WhoLoses({ ca, cutOff, guests }: { ca: Ca; cutOff: string[]; guests: VmTrust[] | undefined }) {
  if (!guests) return <p className="text-dim">Asking which guests trust it…</p>
  if (cutOff.length === 0)
    return (
      <p className="text-dim">
        {ca.usedBy === 0
          ? 'No VM uses it.'
          : `Nobody loses access: ${plural(ca.usedBy, 'VM')} that used it trust another one too.`}
      </p>
    )
  const what =
    ca.kind === 'user'
      ? 'trust no other: nobody gets into them by certificate any more'
      : 'hold a certificate that nobody could renew'
  return (
    <div className="grid gap-2">
      <p>
        {plural(cutOff.length, 'VM')} {what}:
      </p>
      <ul className="max-h-40 columns-2 overflow-y-auto rounded-md border border-line bg-bg px-3 py-2 text-xs">
        {cutOff.slice(0, SHOWN).map((name) => (
          <li key={name} className="truncate">
            {name}
          </li>
        ))}
        {cutOff.length > SHOWN && <li className="text-faint">and {cutOff.length - SHOWN} more</li>}
      </ul>
    </div>
  )
}

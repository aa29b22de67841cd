import { useRef } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { revokeHost } from './actions.ts'

/** Ends the credential of a host, having said what follows. */
export function RevokeSheet({ host, onClose }: { host: Host; onClose: () => void }) {
  const keep = useRef<HTMLButtonElement>(null)
  const submit = async () => {
    if (await revokeHost(host)) onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Revoke the credential of ${host.name}?`}
      description="For a host that was lost or is not yours any more."
      initialFocus={keep}
      footer={
        <>
          <Button ref={keep} onClick={onClose}>
            Keep it
          </Button>
          <Button look="danger" onClick={() => void submit()}>
            Revoke
          </Button>
        </>
      }
    >
      <ul className="grid list-disc gap-1 pl-5">
        <li>Its session ends at its next report, and it is not dialled again.</li>
        <li>Its VMs keep running there and are shown as unknown here.</li>
        <li>It is let in again only when it joins by a new blob.</li>
        <li>It stays in the list, so that you see it; Remove takes it out.</li>
      </ul>
    </Dialog>
  )
}

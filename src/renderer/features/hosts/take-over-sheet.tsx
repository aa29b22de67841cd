import { useRef } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { useOwnAct } from '../../ui/sheet-subject.tsx'
import { takeOverHost } from './actions.ts'
import { ownerOf } from './view-model.ts'

/** Moves a host here from another control plane, or makes this app's older data count on it: says what follows, and asks. */
export function TakeOverSheet({ host, onClose }: { host: Host; onClose: () => void }) {
  const own = useOwnAct()
  const keep = useRef<HTMLButtonElement>(null)
  const owner = ownerOf(host)
  const { newerData } = host
  if (owner === undefined && !newerData) return null
  const submit = async () => {
    if (await own(takeOverHost(host, { useOlderData: newerData !== undefined }))) onClose()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={newerData ? `Use this app's data on ${host.name}?` : `Take ${host.name} over?`}
      description={
        newerData
          ? `The host has followed newer data of this fleet (epoch ${newerData.hostEpoch}) than this app holds (epoch ${newerData.epoch}).`
          : `It is held by ${owner}.`
      }
      initialFocus={keep}
      footer={
        <>
          <Button ref={keep} onClick={onClose}>
            Leave it
          </Button>
          <Button look="danger" onClick={() => void submit()}>
            {newerData ? "Use this app's data" : 'Take over'}
          </Button>
        </>
      }
    >
      <ul className="grid list-disc gap-1 pl-5">
        {newerData ? (
          <>
            <li>{plural(newerData.unknownVms, 'VM')} there that this app does not know: kept running, unowned</li>
            <li>{plural(newerData.missingVms, 'VM')} of this app that are not there: made anew, empty</li>
            <li>{plural(newerData.deletedVms, 'VM')} deleted in this app that live there: moved to quarantine</li>
          </>
        ) : (
          <>
            <li>
              That one is shut out: it neither sees nor changes the host or its VMs, until it takes the host back.
            </li>
            <li>Every VM there keeps running.</li>
            <li>VMs that this app does not know are shown as unowned; you can adopt them.</li>
            <li>What you changed here meanwhile is carried out.</li>
          </>
        )}
      </ul>
    </Dialog>
  )
}

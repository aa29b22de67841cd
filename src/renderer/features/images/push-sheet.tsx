import { useState } from 'react'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { formatBytes, formatMemoryBytes } from '../../lib/format.ts'
import { useHosts, useTasks } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { sendingRate, transferText } from '../create/estimates.ts'
import { isCurrent } from '../hosts/view-model.ts'
import { pushTo } from './actions.ts'

/** Brings an image to hosts before a VM needs it. */
export function PushSheet({ image, onClose }: { image: Image; onClose: () => void }) {
  const hosts = useHosts()
  const time = transferText(image.sizeBytes, sendingRate(useTasks()))
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const toggle = (id: string) =>
    setChosen((was) => (was.has(id) ? new Set([...was].filter((one) => one !== id)) : new Set([...was, id])))
  const push = async () => {
    onClose()
    for (const id of chosen) await pushTo(image, id)
  }
  const size = image.sizeBytes === undefined ? 'its size is not known yet' : formatBytes(image.sizeBytes)
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Push ${image.name} to hosts`}
      description={`${size}${time ? `, ${time}` : ''}. ${image.url === '' ? 'It is sent from this computer' : 'It comes to this computer first, is checked, and goes on from here'}; a cut line goes on where it stopped.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={chosen.size === 0} onClick={() => void push()}>
            {chosen.size > 1 ? `Push to ${chosen.size} hosts` : 'Push'}
          </Button>
        </>
      }
    >
      <fieldset aria-label="Hosts" className="grid gap-1">
        {hosts.map((host) => {
          const why = image.cachedOn.includes(host.id)
            ? 'has it'
            : !isCurrent(host)
              ? 'not connected now'
              : host.arch !== '' && host.arch !== image.arch
                ? `is ${host.arch}; the image is for ${image.arch}`
                : undefined
          const free = host.metrics?.diskFreeBytes
          return (
            <label key={host.id} className="flex min-h-8 items-center gap-3 rounded-md px-2 hover:bg-hover">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                disabled={why !== undefined}
                checked={chosen.has(host.id)}
                onChange={() => toggle(host.id)}
              />
              <span className={why ? 'text-dim' : 'font-medium'}>{host.name}</span>
              <span className="ml-auto text-faint text-xs">
                {why ?? (free === undefined ? '' : `${formatMemoryBytes(free)} of disk free`)}
              </span>
            </label>
          )
        })}
        {hosts.length === 0 && <p className="text-dim">There is no host yet.</p>}
      </fieldset>
    </Dialog>
  )
}

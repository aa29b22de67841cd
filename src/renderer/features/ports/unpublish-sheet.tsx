import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { unpublishAll } from './actions.ts'
import { leadsTo, publishedAt } from './view-model.ts'

/** Ports closed by one confirmation at most. */
export const MOST_AT_ONCE = 50

/** All of them by name before any is closed. */
export function UnpublishSheet({ ports, onClose }: { ports: readonly Port[]; onClose: () => void }) {
  const taken = ports.slice(0, MOST_AT_ONCE)
  const over = ports.length - taken.length
  const active = taken.reduce((sum, { sessions }) => sum + Number(sessions?.active ?? 0), 0)
  return (
    <Dialog
      open
      onClose={onClose}
      tone="danger"
      title={`Unpublish ${plural(taken.length, 'port')}`}
      description={`${active === 0 ? 'Nobody is connected to them now.' : `${plural(active, 'connection')} end with them.`}${over > 0 ? ` At most ${MOST_AT_ONCE} at once: ${over} stay for the next time.` : ''}`}
      footer={
        <>
          <Button onClick={onClose}>Keep them</Button>
          <Button
            look="danger"
            onClick={() => {
              onClose()
              void unpublishAll(taken)
            }}
          >
            Unpublish {taken.length}
          </Button>
        </>
      }
    >
      <ul className="max-h-64 overflow-y-auto rounded-md border border-line bg-bg px-3 py-2 text-xs">
        {taken.map((port) => (
          <li key={port.id} className="flex justify-between gap-3 py-0.5">
            <span>{publishedAt(port)}</span>
            <span className="text-dim">{leadsTo(port)}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

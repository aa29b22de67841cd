import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { plural } from '../../lib/format.ts'
import { useFleetShallow } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { type Gone, SheetSubject } from '../../ui/sheet-subject.tsx'
import { unpublishAll } from './actions.ts'
import { leadsTo, publishedAt } from './view-model.ts'

/** Ports closed by one confirmation at most. */
export const MOST_AT_ONCE = 50

interface UnpublishProps {
  ports: readonly Port[]
  onClose: () => void
}

/** All of them by name before any is closed; those closed meanwhile leave the list. */
export function UnpublishSheet({ ports: opened, onClose }: UnpublishProps) {
  const left = useFleetShallow((f) => opened.flatMap(({ id }) => f.ports.get(id) ?? []))
  return (
    <SheetSubject gone={left.length === 0 ? goneOf(opened) : undefined}>
      <Unpublish ports={left.length === 0 ? opened : left} onClose={onClose} />
    </SheetSubject>
  )
}

const goneOf = (opened: readonly Port[]): Gone => ({
  title: `${opened.length === 1 && opened[0] ? publishedAt(opened[0]) : plural(opened.length, 'port')} ${opened.length === 1 ? 'is' : 'are'} published no more`,
  what: 'Closed meanwhile, by another window or the command line. The VMs behind go on.',
})

function Unpublish({ ports, onClose }: UnpublishProps) {
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

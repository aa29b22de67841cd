import { useRef } from 'react'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { formatBytes, plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useVms } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { useOwnAct } from '../../ui/sheet-subject.tsx'
import { removeImage } from './actions.ts'
import { usersOf } from './view-model.ts'

const NAMED = 20

/** Says who uses it; what is used stays. */
export function RemoveImageSheet({ image, onClose }: { image: Image; onClose: () => void }) {
  const users = usersOf(image, useVms())
  const own = useOwnAct()
  const used = image.usedBy > 0
  const cancel = useRef<HTMLButtonElement>(null)
  const others = image.usedBy - users.length
  return (
    <Dialog
      open
      onClose={onClose}
      initialFocus={cancel}
      title={used ? `${image.name} is in use` : `Remove ${image.name}?`}
      description={
        used
          ? `${plural(image.usedBy, 'VM')} of this fleet ${image.usedBy === 1 ? 'is' : 'are'} made of it, so it stays. Those in quarantine count until they are destroyed.`
          : whatGoes(image)
      }
      footer={
        <>
          <Button ref={cancel} onClick={onClose}>
            {used ? 'Close' : 'Keep it'}
          </Button>
          {!used && (
            <Button look="danger" onClick={() => void own(removeImage(image)).then((done) => done && onClose())}>
              Remove image
            </Button>
          )}
        </>
      }
    >
      {used && (
        <ul className="grid gap-0.5">
          {users.slice(0, NAMED).map((vm) => (
            <li key={vm.id}>
              <a
                className="text-accent underline"
                href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })}
                onClick={onClose}
              >
                {vm.name}
              </a>{' '}
              <span className="text-faint">
                on {vm.hostName}
                {vm.deletedAt ? ', in quarantine' : ''}
              </span>
            </li>
          ))}
          {users.length > NAMED && <li className="text-dim">and {users.length - NAMED} more</li>}
          {others > 0 && <li className="text-dim">{plural(others, 'VM')} not listed here</li>}
        </ul>
      )}
    </Dialog>
  )
}

const whatGoes = (image: Image): string =>
  image.url === ''
    ? `No VM uses it. Its file (${image.sizeBytes === undefined ? 'size not known' : formatBytes(image.sizeBytes)}) is deleted from this computer and cannot be brought back. Copies on hosts stay until they are cleaned up.`
    : 'No VM uses it. It leaves this list and can be added again. Copies on hosts stay until they are cleaned up.'

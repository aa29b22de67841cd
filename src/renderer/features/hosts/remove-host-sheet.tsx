import { useRef, useState } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { plural } from '../../lib/format.ts'
import { go } from '../../routes.ts'
import { useVms } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField } from '../../ui/field.tsx'
import { useOwnAct } from '../../ui/sheet-subject.tsx'
import { removeHost } from './actions.ts'

const MAX_NAMES = 50

/** Says what stays behind, and asks whether the agent goes too. */
export function RemoveHostSheet({ host, onClose }: { host: Host; onClose: () => void }) {
  const own = useOwnAct()
  const keep = useRef<HTMLButtonElement>(null)
  const vms = useVms().filter((vm) => vm.hostId === host.id)
  const answers = host.link === 'connected'
  const [uninstall, setUninstall] = useState(answers && vms.length === 0)
  const [leave, setLeave] = useState(false)
  const needsLeave = vms.length > 0 || !answers
  const submit = async () => {
    if (!(await own(removeHost(host, { force: leave, uninstall: uninstall && answers })))) return
    onClose()
    go({ page: 'hosts', filter: '' })
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Remove ${host.name}?`}
      description={
        vms.length === 0
          ? 'It leaves your fleet. Adding it again finds it as it was.'
          : `It leaves your fleet with ${plural(vms.length, 'VM')}, which keep running there and are not seen here any more. Adding the host again finds them.`
      }
      initialFocus={keep}
      footer={
        <>
          <Button ref={keep} onClick={onClose}>
            Keep it
          </Button>
          <Button look="danger" disabled={needsLeave && !leave} onClick={() => void submit()}>
            Remove host
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        {vms.length > 0 && (
          <p className="rounded-md border border-line bg-bg px-3 py-2">
            Left behind:{' '}
            {vms
              .slice(0, MAX_NAMES)
              .map((vm) => vm.name)
              .join(', ')}
            {vms.length > MAX_NAMES && ` and ${vms.length - MAX_NAMES} more`}
          </p>
        )}
        {needsLeave && (
          <CheckField
            label={vms.length > 0 ? 'Remove it although VMs are left there' : 'Remove it although it does not answer'}
            hint={answers ? undefined : 'Its agent stays as it is; it cannot be reached now.'}
            checked={leave}
            onChange={(e) => setLeave(e.target.checked)}
          />
        )}
        {answers && (
          <CheckField
            label="Take the agent away too"
            hint="Stops and removes its service and its file on the host."
            checked={uninstall}
            onChange={(e) => setUninstall(e.target.checked)}
          />
        )}
      </div>
    </Dialog>
  )
}

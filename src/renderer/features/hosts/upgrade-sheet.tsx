import { useMemo, useRef } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { toastDone } from '../../ui/toasts.tsx'
import { upgradeHost } from './actions.ts'
import { planUpgrade } from './upgrade-plan.ts'

/** Which agents are replaced by what, before they are. */
export function UpgradeSheet({ hosts, onClose }: { hosts: readonly Host[]; onClose: () => void }) {
  const go = useRef<HTMLButtonElement>(null)
  const { steps, left } = useMemo(() => planUpgrade(hosts), [hosts])
  const submit = async () => {
    onClose()
    const begun = await Promise.all(steps.map(({ host }) => upgradeHost(host)))
    const count = begun.filter(Boolean).length
    if (count > 0) toastDone(`Updating the agent of ${plural(count, 'host')}; the strip below shows how far it is`)
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={steps.length === 0 ? 'No agent to update' : `Update ${plural(steps.length, 'agent')}?`}
      description="The new agent is sent, checked there and started beside the running VMs. When it does not come up, the host goes back to the one it has, by itself."
      initialFocus={go}
      footer={
        <>
          <Button onClick={onClose}>{steps.length === 0 ? 'Close' : 'Cancel'}</Button>
          {steps.length > 0 && (
            <Button ref={go} look="primary" onClick={() => void submit()}>
              {steps.length === 1 ? 'Update agent' : `Update ${steps.length} agents`}
            </Button>
          )}
        </>
      }
    >
      <ul aria-label="What will happen" className="grid gap-1">
        {steps.map(({ host, from, to }) => (
          <li key={host.id} className="flex gap-3">
            <span className="w-44 shrink-0 truncate font-medium">{host.name}</span>
            <span>
              {from} → {to}
            </span>
          </li>
        ))}
        {left.map(({ host, why }) => (
          <li key={host.id} className="flex gap-3 text-faint">
            <span className="w-44 shrink-0 truncate">{host.name}</span>
            <span>left out: it {why}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

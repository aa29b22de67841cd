import { useMemo, useRef, useState } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { plural } from '../../lib/format.ts'
import { useVms } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { toastDone } from '../../ui/toasts.tsx'
import { drainHost } from './actions.ts'
import { DRAIN_CAP, type DrainPlan, type DrainStep, planDrain } from './drain-plan.ts'

/** What draining does to each VM, before it is done. */
export function DrainSheet({ hosts, onClose }: { hosts: readonly Host[]; onClose: () => void }) {
  const [stopVms, setStopVms] = useState(true)
  const keep = useRef<HTMLButtonElement>(null)
  const vms = useVms()
  const plan = useMemo(() => planDrain(hosts, vms, { stopVms }), [hosts, vms, stopVms])
  const count = plan.steps.length
  const name = hosts.length === 1 ? hosts[0]?.name : plural(count, 'host')
  const submit = async () => {
    const done = await Promise.all(plan.steps.map(({ host }) => drainHost(host, { drain: true, stopVms })))
    const drained = done.filter(Boolean).length
    if (drained > 0) toastDone(hosts.length === 1 ? `${name} is drained` : `Drained ${drained} of ${count} hosts`)
    onClose()
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={count === 0 ? 'Nothing to drain' : `Drain ${name}?`}
      description="It takes no new VMs until you undrain it. No VM is moved or deleted; start brings stopped ones back."
      initialFocus={keep}
      footer={
        <>
          <Button ref={keep} onClick={onClose}>
            {count === 0 ? 'Close' : 'Cancel'}
          </Button>
          {count > 0 && (
            <Button look="primary" onClick={() => void submit()}>
              {stopping(plan) > 0 ? `Drain and stop ${plural(stopping(plan), 'VM')}` : 'Drain'}
            </Button>
          )}
        </>
      }
    >
      <fieldset className="mb-3 grid gap-1.5">
        <legend className="mb-1 font-medium text-dim text-xs">Its running VMs</legend>
        <Choice
          label="Stop them"
          hint="Each guest is asked to power off; disks stay"
          on={stopVms}
          onPick={() => setStopVms(true)}
        />
        <Choice
          label="Leave them running"
          hint="Only new VMs are kept away"
          on={!stopVms}
          onPick={() => setStopVms(false)}
        />
      </fieldset>
      <ul aria-label="What will happen" className="grid gap-2">
        {plan.steps.map((step) => (
          <Step key={step.host.id} step={step} />
        ))}
        {plan.left.map(({ host, why }) => (
          <li key={host.id} className="text-faint">
            {host.name} is left out: it {why}.
          </li>
        ))}
      </ul>
      {plan.beyond.length > 0 && (
        <p className="mt-3 text-warn">
          One confirmation covers {DRAIN_CAP}; {plural(plan.beyond.length, 'host')} more stay selected for the next.
        </p>
      )}
    </Dialog>
  )
}

const stopping = (plan: DrainPlan) => plan.steps.reduce((sum, { stops }) => sum + stops.length, 0)

function Choice({ label, hint, on, onPick }: { label: string; hint: string; on: boolean; onPick: () => void }) {
  return (
    <label className="flex items-start gap-2">
      <input type="radio" name="drain" className="mt-0.5 size-4 accent-accent" checked={on} onChange={onPick} />
      <span>
        {label}
        <span className="block text-faint text-xs">{hint}</span>
      </span>
    </label>
  )
}

function Step({ step: { host, stops, stays, off, waits } }: { step: DrainStep }) {
  return (
    <li className="rounded-md border border-line bg-bg px-3 py-2">
      <p className="font-medium">
        {host.name}
        {waits && <span className="font-normal text-warn"> · does not answer: this waits until it does</span>}
      </p>
      {stops.length > 0 && (
        <p>
          <span className="text-faint">Stop</span> {stops.join(', ')}
        </p>
      )}
      {stays.length > 0 && (
        <p>
          <span className="text-faint">Run on</span> {stays.map(({ name, why }) => `${name} (${why})`).join(', ')}
        </p>
      )}
      {stops.length + stays.length === 0 && (
        <p className="text-faint">{off === 0 ? 'It has no VMs.' : `No VM runs there; ${plural(off, 'VM')} off.`}</p>
      )}
    </li>
  )
}

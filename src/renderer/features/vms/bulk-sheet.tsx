import { type ReactNode, useMemo, useRef, useState } from 'react'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { plural } from '../../lib/format.ts'
import { type FleetSnapshot, fleetStore } from '../../state/fleet-store.ts'
import { useFleet } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { CheckField } from '../../ui/field.tsx'
import { publishedAt } from '../ports/view-model.ts'
import {
  type BulkAct,
  type BulkPlan,
  bulkMeaning,
  bulkQuestion,
  bulkVerbs,
  byName,
  capOf,
  isInterrupting,
  planBulk,
} from './bulk-plan.ts'
import { startBulkRun } from './bulk-run.ts'
import { portsByVm } from './ports-by-vm.ts'

export interface BulkSheetProps {
  act: BulkAct
  ids: readonly string[]
  onClose: () => void
  /** Called with those that were asked. */
  onDone: (ids: readonly string[]) => void
  /** What has to be said first; false = nothing is planned yet. */
  isAsked?: boolean
  /** Where it is said. */
  children?: ReactNode
}

/** What an act on many VMs will do, before it does: each by name, and who is left out and why. */
export function BulkSheet({ act, ids, onClose, onDone, isAsked = true, children }: BulkSheetProps) {
  const [withSilent, setWithSilent] = useState(false)
  const safe = useRef<HTMLButtonElement>(null)
  const go = useRef<HTMLButtonElement>(null)
  const plan = useBulkPlan(act, ids, withSilent)
  const { ask } = bulkVerbs(act)
  const count = isAsked ? plan.steps.length : 0
  const confirm = () => {
    startBulkRun(plan)
    onDone(plan.steps.map(({ vm }) => vm.id))
    onClose()
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={isAsked ? bulkQuestion(plan) : `${ask} ${plural(ids.length, 'VM')}`}
      description={isAsked ? bulkMeaning(plan) : 'Say which labels. Guests are not touched.'}
      {...(children === undefined ? { initialFocus: isInterrupting(act) || count === 0 ? safe : go } : {})}
      footer={
        <>
          <Button ref={safe} onClick={onClose}>
            {isAsked && count === 0 ? 'Close' : 'Cancel'}
          </Button>
          {count > 0 && (
            <Button ref={go} look={act.do === 'delete' ? 'danger' : 'primary'} onClick={confirm}>
              {act.do === 'delete' ? `Move ${plural(count, 'VM')} to quarantine` : `${ask} ${plural(count, 'VM')}`}
            </Button>
          )}
        </>
      }
    >
      {children}
      {count > 0 && <Steps plan={plan} />}
      {(plan.silent > 0 || withSilent) && (
        <div className="mt-3">
          <CheckField
            label={`Also ask for ${plural(plan.silent, 'VM')} whose host does not answer`}
            hint="What is asked waits there and is carried out when the host is back; until then it can be taken back."
            checked={withSilent}
            onChange={(e) => setWithSilent(e.target.checked)}
          />
        </div>
      )}
      {plan.beyond.length > 0 && (
        <p className="mt-3 text-warn">
          One confirmation covers at most {capOf(act)}, and only those listed. {plural(plan.beyond.length, 'VM')} more{' '}
          {plan.beyond.length === 1 ? 'stays' : 'stay'} selected for the next.
        </p>
      )}
      <GoneMeanwhile ids={ids} />
      {isAsked && plan.left.length > 0 && <LeftOut left={plan.left} open={count === 0} />}
    </Dialog>
  )
}

/** Of the chosen some may leave the fleet while this is open: they leave the plan, and are counted. */
function GoneMeanwhile({ ids }: { ids: readonly string[] }) {
  const gone = useFleet((f) => ids.reduce((n, id) => (f.vms.has(id) ? n : n + 1), 0))
  if (gone === 0) return null
  return (
    <p role="status" className="mt-3 text-warn">
      {plural(gone, 'chosen VM')} {gone === 1 ? 'is' : 'are'} gone meanwhile; nothing is asked of{' '}
      {gone === 1 ? 'it' : 'them'}.
    </p>
  )
}

const idsKnown = (ids: readonly string[]): Vm[] => {
  const { vms } = fleetStore.getState()
  return ids.map((id) => vms.get(id)).filter((vm): vm is Vm => vm !== undefined)
}

/** The VMs as they are now, planned again when one of them changes. */
function useBulkPlan(act: BulkAct, ids: readonly string[], withSilent: boolean): BulkPlan {
  const vms = useFleet((f) => f.vms)
  // Names are put in order once: thousands chosen are not sorted anew at each change of the fleet.
  const ordered = useMemo(() => byName(idsKnown(ids)).map(({ id }) => id), [ids])
  const ports = useFleet((f) => f.ports)
  const planned = (among: FleetSnapshot['vms'], listed?: ReadonlySet<string>) => {
    const chosen = ordered.map((id) => among.get(id)).filter((vm): vm is Vm => vm !== undefined)
    return planBulk(act, chosen, { portsOf: (id) => portNames(portsByVm(ports).get(id)), withSilent, listed })
  }
  // Who leaves the plan makes no room for a VM that nobody read before confirming.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is listed anew only when something else is asked
  const listed = useMemo(() => {
    if (!isInterrupting(act)) return undefined
    return new Set(planned(fleetStore.getState().vms).steps.map(({ vm }) => vm.id))
  }, [act, ordered, withSilent])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `planned` is made of the others
  return useMemo(() => planned(vms, listed), [act, ordered, vms, ports, withSilent, listed])
}

const portNames = (ports: readonly Port[] = []) => ports.map(publishedAt)

/** Of those left out; who is asked is listed whole. */
const LISTED = 200

const LIST = 'overflow-y-auto rounded-md border border-line bg-bg'

function Steps({ plan }: { plan: BulkPlan }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls and holds no control has to be reached by keys
    <ul aria-label="What will happen" tabIndex={0} className={`${LIST} max-h-64`}>
      {plan.steps.map(({ vm, effect, waits }) => (
        <li key={vm.id} className="flex items-baseline gap-3 border-line border-b px-3 py-1.5 last:border-b-0">
          <span className="w-44 shrink-0 truncate" title={`${vm.name} on ${vm.hostName}`}>
            <span className="font-medium">{vm.name}</span> <span className="text-faint">on {vm.hostName}</span>
          </span>
          <span className="min-w-0 flex-1 text-dim">
            {effect}
            {waits && <span className="text-warn"> · waits for {vm.hostName}; it may still run</span>}
          </span>
        </li>
      ))}
    </ul>
  )
}

function LeftOut({ left, open }: { left: BulkPlan['left']; open: boolean }) {
  return (
    <details className="mt-3" open={open}>
      <summary className="min-h-6 text-dim">{plural(left.length, 'VM')} left out, and why</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls and holds no control has to be reached by keys */}
      <ul aria-label="Left out" tabIndex={0} className={`${LIST} mt-1 max-h-40`}>
        {left.slice(0, LISTED).map(({ vm, why }) => (
          <li key={vm.id} className="flex items-baseline gap-3 border-line border-b px-3 py-1 last:border-b-0">
            <span className="w-44 shrink-0 truncate" title={`${vm.name} on ${vm.hostName}`}>
              {vm.name || 'no name'} <span className="text-faint">on {vm.hostName}</span>
            </span>
            <span className="min-w-0 flex-1 text-dim">{why}</span>
          </li>
        ))}
        {left.length > LISTED && <li className="px-3 py-1 text-dim">and {left.length - LISTED} more</li>}
      </ul>
    </details>
  )
}

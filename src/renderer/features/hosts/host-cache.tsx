import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { type FaultData, faultFromData } from '../../../ipc/faults.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { HostCollection } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { cx } from '../../lib/class-names.ts'
import { formatMemoryBytes, plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField } from '../../ui/field.tsx'
import { Card } from '../../ui/page.tsx'
import { toastDone } from '../../ui/toasts.tsx'
import { collectImages } from './actions.ts'
import { hostQueryKeys, useCollectionPlan } from './queries.ts'
import { collectionLines, freedBy } from './storage-view.ts'

/** The image cache of a host: what a collection would take, shown before it does. */
export function HostCache({ host }: { host: Host }) {
  const [all, setAll] = useState(false)
  const plan = useCollectionPlan(host, all)
  return (
    <Card title="Image cache">
      {host.link !== 'connected' ? (
        <p className="text-dim">{host.name} does not answer: what is in its cache cannot be looked at now.</p>
      ) : plan.isError ? (
        <FaultNotice
          fault={fromConnectError(plan.error).toData()}
          actions={
            <Button size="small" onClick={() => void plan.refetch()}>
              Try again
            </Button>
          }
        />
      ) : plan.data === undefined ? (
        <p className="text-faint" role="status">
          Asking {host.name} what is in its cache…
        </p>
      ) : (
        <Plan host={host} plan={plan.data} all={all} onAll={setAll} />
      )}
    </Card>
  )
}

interface PlanProps {
  host: Host
  plan: HostCollection
  all: boolean
  onAll: (all: boolean) => void
}

function Plan({ host, plan, all, onAll }: PlanProps) {
  const client = useQueryClient()
  const [busy, setBusy] = useState(false)
  const fault: FaultData | undefined = plan.fault && faultFromData(plan.fault).toData()
  if (fault) return <FaultNotice fault={fault} />
  const lines = collectionLines(plan)
  const going = plan.removed.length
  const collect = async () => {
    setBusy(true)
    const done = await collectImages(host, all)
    setBusy(false)
    if (done) toastDone(`Freed ${formatMemoryBytes(freedBy(done))} on ${host.name}`)
    await client.invalidateQueries({ queryKey: hostQueryKeys.caches(host.id) })
  }
  return (
    <div className="grid gap-3">
      <p className="text-dim">
        {formatMemoryBytes(plan.freeBytes)} free. Below {formatMemoryBytes(plan.lowBytes)} images go before their time.
      </p>
      {plan.unknown !== '' && <p className="text-warn">Nothing can go now: {plan.unknown}</p>}
      {lines.length === 0 ? (
        <p className="text-faint">Its cache is empty.</p>
      ) : (
        <table aria-label="Image cache" className="w-full">
          <thead>
            <tr className="text-left text-faint text-xs">
              <th className="pb-1 font-medium">Image</th>
              <th className="pb-1 pr-4 text-right font-medium">Size</th>
              <th className="pb-1 font-medium">What happens</th>
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line.sha256} className="border-line border-t">
                <td className="py-1 pr-3" title={line.sha256}>
                  {line.name}
                </td>
                <td className="py-1 pr-4 text-right">{line.size}</td>
                <td className={cx('py-1', line.goes ? '' : 'text-dim')}>
                  {line.goes ? 'Goes' : 'Stays'}: {line.why}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div className="flex flex-wrap items-center justify-between gap-3">
        <CheckField
          label="Everything nothing refers to, whatever its age"
          checked={all}
          onChange={(e) => onAll(e.target.checked)}
        />
        <Button disabled={busy || going === 0} onClick={() => void collect()}>
          {busy
            ? 'Collecting…'
            : going === 0
              ? 'Nothing to collect'
              : `Collect ${plural(going, 'image')}, ${formatMemoryBytes(freedBy(plan))}`}
        </Button>
      </div>
    </div>
  )
}

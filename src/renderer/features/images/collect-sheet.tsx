import { useState } from 'react'
import { windowFaultLine } from '../../../ipc/fault-text-window.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { faultFromData } from '../../../ipc/faults.ts'
import type { HostCollection } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { api } from '../../api/transport.ts'
import { formatBytes, formatDuration, formatMemoryBytes, plural } from '../../lib/format.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { CheckField } from '../../ui/field.tsx'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import { useUnused } from './queries.ts'
import { collectionSum } from './view-model.ts'

/** Images no VM needs go from the caches of hosts; what would go is shown first. */
export function CollectSheet({ onClose }: { onClose: () => void }) {
  const [all, setAll] = useState(true)
  const [busy, setBusy] = useState(false)
  const { data, error, isFetching } = useUnused(all)
  const sum = collectionSum(data?.hosts ?? [])
  const collect = async () => {
    setBusy(true)
    try {
      const done = collectionSum((await api.images.collectImages({ host: '', dryRun: false, all })).hosts)
      toastDone(`Removed ${plural(done.items, 'image')}, ${formatBytes(done.bytes)} freed`)
      onClose()
    } catch (fault) {
      toastFault(fault)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Clean up hosts"
      description="Images no VM of a host refers to are removed from its cache. They are fetched or sent again when a VM needs them."
      footer={
        <>
          <Button onClick={onClose}>Keep them</Button>
          <Button look="primary" disabled={busy || isFetching || sum.items === 0} onClick={() => void collect()}>
            {busy
              ? 'Removing…'
              : sum.items === 0
                ? 'Nothing to remove'
                : `Remove ${plural(sum.items, 'image')}, ${formatBytes(sum.bytes)}`}
          </Button>
        </>
      }
    >
      <CheckField
        label="Also what has been unused for a short time only"
        checked={all}
        onChange={(e) => setAll(e.target.checked)}
      />
      {error && <FaultNotice fault={fromConnectError(error).toData()} />}
      {isFetching && !data && (
        <p role="status" className="mt-3 text-dim">
          Asking every connected host what it could remove…
        </p>
      )}
      <div className="mt-3 grid gap-3">
        {data?.hosts.map((host) => (
          <HostPart key={host.hostId} host={host} />
        ))}
        {data?.hosts.length === 0 && <p className="text-dim">There is no host yet.</p>}
      </div>
    </Dialog>
  )
}

function HostPart({ host }: { host: HostCollection }) {
  const fault = host.fault && faultFromData(host.fault).toData()
  return (
    <section aria-label={host.hostName} className="rounded-md border border-line p-3">
      <h3 className="flex flex-wrap gap-2 font-medium">
        {host.hostName}
        {!fault && (
          <span className="ml-auto font-normal text-faint text-xs">{formatMemoryBytes(host.freeBytes)} free</span>
        )}
      </h3>
      {fault && <p className="text-warn">{windowFaultLine(fault.code, fault.params)}</p>}
      {host.unknown !== '' && <p className="text-warn">Nothing goes while {host.unknown}.</p>}
      {!fault && host.removed.length === 0 && host.unknown === '' && <p className="text-dim">Nothing to remove.</p>}
      <ul className="grid gap-0.5">
        {host.removed.map((item) => (
          <li key={item.sha256} className="flex gap-2">
            <span>{item.names.join(', ') || item.sha256.slice(0, 12)}</span>
            {!item.whole && <span className="text-faint">unfinished</span>}
            <span className="text-faint">unused for {formatDuration(Number(item.unusedS) * 1000)}</span>
            <span className="ml-auto">{formatBytes(item.sizeBytes)}</span>
          </li>
        ))}
      </ul>
      {host.kept.length > 0 && <p className="mt-1 text-faint text-xs">{plural(host.kept.length, 'image')} stay.</p>}
    </section>
  )
}

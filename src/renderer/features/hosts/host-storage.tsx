import type { ReactNode } from 'react'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatMemoryBytes } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useNow } from '../../state/now.ts'
import { useImages, useVms } from '../../state/use-fleet.ts'
import { Card, Facts } from '../../ui/page.tsx'
import { Meter } from '../../ui/progress.tsx'
import { HostCache } from './host-cache.tsx'
import { hostStorage, takenWords } from './storage-view.ts'
import { asOf } from './view-model.ts'

/** What takes its disk, what is free, and what could go. */
export function HostStorage({ host }: { host: Host }) {
  const now = useNow()
  const age = asOf(host, now)
  const view = hostStorage(host, useVms(), useImages())
  const { disk } = view
  const rows: [string, ReactNode][] = [
    [
      'Disk',
      disk ? (
        <Meter
          key="disk"
          used={disk.total - disk.free}
          total={disk.total}
          label="Disk in use"
          text={`${formatMemoryBytes(disk.total - disk.free)} of ${formatMemoryBytes(disk.total)}, ${formatMemoryBytes(disk.free)} free`}
        />
      ) : (
        <span key="none" className="text-faint">
          not reported
        </span>
      ),
    ],
    ['Disks of VMs', takenWords(view.alive)],
    [
      'Quarantine',
      view.quarantine.vms === 0 ? (
        'none'
      ) : (
        <a
          key="quarantine"
          href={hrefOf({ page: 'vms', filter: `host:${host.name} state:quarantine` })}
          className="text-accent hover:underline"
        >
          {takenWords(view.quarantine)}
        </a>
      ),
    ],
    ['Images cached', view.images.length === 0 ? 'none reported' : view.images.map(({ name }) => name).join(', ')],
  ]
  return (
    <>
      <Card title={age === '' ? 'Where its agent keeps its state' : `Where its agent keeps its state ${age}`}>
        <Facts rows={rows} />
      </Card>
      <HostCache host={host} />
    </>
  )
}

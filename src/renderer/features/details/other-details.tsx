import { formatBytes } from '../../lib/format.ts'
import { useFleet, useFleetShallow, useTask } from '../../state/use-fleet.ts'
import { CopyText } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Facts } from '../../ui/page.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { taskFault } from '../tasks/view-model.ts'
import { Part } from './details-parts.tsx'

export function ImageDetails({ id }: { id: string }) {
  const image = useFleet((f) => f.images.get(id))
  const hosts = useFleetShallow((f) => image?.cachedOn.map((host) => f.hosts.get(host)?.name ?? host) ?? [])
  if (!image) return null
  return (
    <div className="grid gap-4">
      {image.description && <p className="text-dim">{image.description}</p>}
      <Facts
        rows={[
          ['Kind', image.kind === 'kernel' ? 'kernel and initial disk' : 'disk image'],
          ['Made for', image.arch],
          [
            'Size',
            image.sizeBytes === undefined ? 'not known before the first download' : formatBytes(image.sizeBytes),
          ],
          ['Used by', `${image.usedBy} VMs`.replace(/^1 VMs/, '1 VM')],
          ['Ready on', hosts.length === 0 ? 'no host yet' : hosts.join(', ')],
          ...(image.url ? [['From', image.url] satisfies [string, string]] : []),
        ]}
      />
      {image.sha256 && (
        <Part title="SHA-256">
          <CopyText text={image.sha256} label="Copy the digest" />
        </Part>
      )}
    </div>
  )
}

export function TaskDetails({ id }: { id: string }) {
  const task = useTask(id)
  if (!task) return null
  const fault = taskFault(task)
  return (
    <div className="grid gap-4">
      {fault && <FaultNotice fault={fault} />}
      <TaskSteps task={task} />
    </div>
  )
}

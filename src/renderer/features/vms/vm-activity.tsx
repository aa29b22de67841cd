import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { hrefOf } from '../../routes.ts'
import { Card } from '../../ui/page.tsx'
import { AuditList } from '../activity/audit-list.tsx'

const SHOWN = 200

/** What was asked of it and what happened to it, newest first. */
export const VmActivity = ({ vm }: { vm: Vm }) => (
  <div className="mx-auto max-w-5xl">
    <Card
      title={`What happened to it, newest first; the last ${SHOWN}`}
      actions={
        <a href={hrefOf({ page: 'activity', filter: `vm:${vm.name}` })} className="text-accent text-xs hover:underline">
          All activity
        </a>
      }
    >
      <AuditList vm={vm.id} limit={SHOWN} />
    </Card>
  </div>
)

import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { quarantineLeft } from '../vms/view-model.ts'
import { useVmSheets } from '../vms/vm-sheets.tsx'

const SHOWN = 6
const DAY_MS = 24 * 3600_000

/** Deleted VMs, the one that is destroyed next first. */
export function QuarantineCard({ vms, now }: { vms: readonly Vm[]; now: number }) {
  const { undelete } = useVmSheets()
  const kept = vms
    .filter((vm) => vm.deletedAt)
    .sort((a, b) => (msOf(a.quarantineEndsAt) ?? Infinity) - (msOf(b.quarantineEndsAt) ?? Infinity))
  return (
    <Card title="Quarantine">
      {kept.length === 0 ? (
        <p className="text-faint">Empty. A deleted VM waits here until its time ends, and can be brought back.</p>
      ) : (
        <ul className="-my-1">
          {kept.slice(0, SHOWN).map((vm) => {
            const left = quarantineLeft(vm, now)
            const ends = msOf(vm.quarantineEndsAt)
            const soon = ends !== undefined && ends - now < DAY_MS
            return (
              <li key={vm.id} className="flex items-center gap-3 border-line border-b py-1.5 last:border-b-0">
                <a
                  href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })}
                  className="min-w-0 flex-1 truncate font-medium hover:underline"
                >
                  {vm.name}
                </a>
                <span className={soon ? 'text-warn' : 'text-dim'}>{left ?? `waits for ${vm.hostName}`}</span>
                <Button size="small" aria-label={`Undo the delete of ${vm.name}`} onClick={() => undelete(vm)}>
                  Undo
                </Button>
              </li>
            )
          })}
        </ul>
      )}
      {kept.length > SHOWN && (
        <a
          href={hrefOf({ page: 'vms', filter: 'state:quarantine' })}
          className="mt-3 inline-block text-accent hover:underline"
        >
          All {kept.length} in quarantine
        </a>
      )}
    </Card>
  )
}

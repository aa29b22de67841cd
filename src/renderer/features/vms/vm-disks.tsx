import { Pencil } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatGib, formatMemoryBytes, shortId } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useFleetShallow, useHost, useVm } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { Meter } from '../../ui/progress.tsx'
import { vmActions, vmImage, vmUse } from './view-model.ts'
import { useVmSheets } from './vm-sheets.tsx'

/** Its disk: how large, how much of it is written, what it was made from, what was made from it. */
export function VmDisks({ vm }: { vm: Vm }) {
  const sheets = useVmSheets()
  const source = useVm(vm.cloneOf)
  const copies = useFleetShallow((f) => [...f.vms.values()].filter(({ cloneOf }) => cloneOf === vm.id))
  const rows: [string, ReactNode][] = [
    ['Size', formatGib(vm.diskGb)],
    ['Taken on the host', <Taken key="taken" vm={vm} />],
    ['Made from', vm.cloneOf ? <CopyOf key="from" id={vm.cloneOf} vm={source} /> : <Image key="from" vm={vm} />],
  ]
  if (copies.length > 0) rows.push(['Copied to', <Links key="copies" vms={copies} />])
  return (
    <div className="mx-auto grid max-w-5xl gap-4">
      <Card
        title="Disk"
        actions={
          vmActions(vm).edit && (
            <Button size="small" look="quiet" onClick={() => sheets.edit(vm)} title="Edit (e)">
              <Pencil size={13} aria-hidden />
              Grow…
            </Button>
          )
        }
      >
        <Facts rows={rows} />
        <p className="mt-3 text-dim">
          <Growing vm={vm} />
        </p>
      </Card>
    </div>
  )
}

function Taken({ vm }: { vm: Vm }) {
  const { disk } = vmUse(vm)
  if (!disk) return <span className="text-faint">not reported</span>
  const text = `${formatMemoryBytes(disk.used)} of ${formatGib(vm.diskGb)}`
  const shown =
    disk.used <= disk.total ? <Meter {...disk} label="Disk in use" text={text} /> : formatMemoryBytes(disk.used)
  return <span className={vm.hostUnknown ? 'text-faint' : ''}>{shown}</span>
}

function Image({ vm }: { vm: Vm }) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <span {...(vm.imageUrl ? { title: vm.imageUrl } : {})}>{vmImage(vm)}</span>
      {vm.imageSha256 && (
        <span className="inline-flex items-center gap-1 text-faint">
          <code className="font-mono text-xs">sha256 {shortId(vm.imageSha256)}…</code>
          <CopyButton text={vm.imageSha256} label="Copy the SHA-256 of the image" />
        </span>
      )}
    </span>
  )
}

const CopyOf = ({ id, vm }: { id: string; vm: Vm | undefined }) =>
  vm ? (
    <span>
      the disk of <Links vms={[vm]} />
    </span>
  ) : (
    <span>
      the disk of a VM that is gone <code className="font-mono text-faint text-xs">{shortId(id)}</code>
    </span>
  )

const Links = ({ vms }: { vms: readonly Vm[] }) => (
  <span className="flex flex-wrap gap-x-2">
    {vms.map((vm) => (
      <a key={vm.id} href={hrefOf({ page: 'vm', id: vm.id, tab: 'disks' })} className="text-accent underline">
        {vm.name}
      </a>
    ))}
  </span>
)

/** What growing it takes. Only QEMU tells a running guest. */
function Growing({ vm }: { vm: Vm }) {
  const backend = useHost(vm.hostId)?.backend ?? ''
  if (vm.needsRestart.includes('disk_gb')) return `The running guest sees ${formatGib(vm.diskGb)} at its next start.`
  const fs = 'cloud-init or the guest itself grows the filesystem.'
  if (vm.power !== 'running') return `A disk only grows. The guest sees its new size when it starts; ${fs}`
  return backend === '' || backend === 'qemu'
    ? `A disk only grows. A running guest sees its new size at once, without a restart; ${fs}`
    : `A disk only grows. ${backend} tells a guest its new size at its next start; ${fs}`
}

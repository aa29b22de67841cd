import { Cable, Plus } from 'lucide-react'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { usePorts } from '../../state/use-fleet.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { DataTable } from '../../ui/table.tsx'
import { openPublish } from './port-sheets.tsx'
import { vmPortColumns } from './ports-table.tsx'

/** A VM's addresses and its published ports. */
export function VmPorts({ vm }: { vm: Vm }) {
  const ports = usePorts().filter(({ vmId }) => vmId === vm.id)
  const mayPublish = vm.deletedAt === undefined && !vm.unowned
  return (
    <div className="mx-auto flex max-w-5xl flex-col gap-4">
      <section aria-label="Addresses" className="rounded-lg border border-line bg-panel px-4 py-3">
        <h2 className="mb-2 font-medium">Addresses</h2>
        <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-1">
          <Address name="On the host" address={vm.ip} none={noAddress(vm)} />
          {vm.network && <Address name={`On ${vm.network}`} address={vm.networkIp} none="not known" />}
        </dl>
      </section>
      <section aria-label="Published ports" className="rounded-lg border border-line bg-panel">
        <div className="flex items-center justify-between px-4 py-3">
          <h2 className="font-medium">Published ports</h2>
          {mayPublish && (
            <Button onClick={() => openPublish(vm)} title="Publish a port (p)">
              <Plus size={14} aria-hidden />
              Publish a port
            </Button>
          )}
        </div>
        {ports.length === 0 ? (
          <p className="flex items-center gap-2 px-4 pb-4 text-dim">
            <Cable size={15} aria-hidden className="text-faint" />
            Nothing is published: a published port is the way to {vm.name} from other machines.
          </p>
        ) : (
          <DataTable
            label={`Published ports of ${vm.name}`}
            rows={ports}
            columns={vmPortColumns}
            rowId={(port) => port.id}
            onOpen={() => undefined}
            initialSort={{ id: 'published', desc: false }}
            minWidth={620}
          />
        )}
      </section>
    </div>
  )
}

function noAddress({ hostUnknown, power }: Vm): string {
  if (hostUnknown || power === undefined) return 'not known'
  return power === 'running' ? 'none its host knows of; a published port leads in all the same' : 'none while it is off'
}

function Address({ name, address, none }: { name: string; address: string; none: string }) {
  return (
    <>
      <dt className="text-dim">{name}</dt>
      <dd className="flex items-center gap-1">
        {address === '' ? <span className="text-faint">{none}</span> : address}
        {address !== '' && <CopyButton text={address} label={`Copy ${address}`} />}
      </dd>
    </>
  )
}

import { randomBytes } from 'node:crypto'
import type { Report } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { HostRow } from '../store/host-row.ts'
import type { NewImage } from '../store/images-store.ts'
import type { Stores } from '../store/stores.ts'
import type { HostPlan, RebuiltVm } from './rebuild-plan.ts'

/** Writes what a host's rows become. Within a transaction, and without triggers: nothing follows from it but this. */
export function putHost(stores: Stores, host: HostRow, plan: HostPlan, report: Report | undefined, now: Date): void {
  const { db, vms } = stores
  for (const id of plan.drop) db.run('DELETE FROM vms WHERE id = $id', { id })
  for (const { vm, deletedAt, graceS } of plan.put) {
    // The index counts live names alone, and a deleted VM may share its name with one that lives.
    vms.adopt(deletedAt ? { ...vm, name: vm.id } : vm)
    db.run('UPDATE vms SET name = $name, deleted_at = $deletedAt, grace_s = $graceS WHERE id = $id', {
      id: vm.id,
      name: vm.name,
      deletedAt: deletedAt?.toISOString() ?? null,
      graceS,
    })
  }
  if (plan.epoch !== undefined) putPorts(stores, host, plan, now)
  for (const { vm } of plan.put) putImage(stores, host, vm, report)
  putEpoch(stores, host, plan.epoch)
}

/** What the host publishes stays published: whether a port that cannot be read was taken back since, nobody can say. */
function putPorts({ db }: Stores, host: HostRow, { ports, readIsOlder }: HostPlan, now: Date): void {
  if (readIsOlder) db.run('DELETE FROM exposures WHERE host_id = $id', { id: host.id })
  for (const port of ports)
    db.run(
      `INSERT INTO exposures (id, tenant, vm_id, host_id, guest_port, host_port, protocol, scope, created_at)
       SELECT $id, tenant, id, host_id, $guestPort, $hostPort, $protocol, $scope, $createdAt FROM vms WHERE id = $vmId
       ON CONFLICT DO NOTHING`,
      { ...port, createdAt: now.toISOString() },
    )
}

/** An image that a VM needs has a row, by its digest. */
function putImage({ images }: Stores, host: HostRow, vm: RebuiltVm['vm'], report: Report | undefined): void {
  if (images.findBySha256(vm.imageSha256)) return
  const size = report?.images.find(({ sha256 }) => sha256 === vm.imageSha256)?.sizeBytes
  const image: NewImage = {
    id: randomBytes(16).toString('hex'),
    name: `recovered-${vm.imageSha256.slice(0, 12)}`,
    kind: vm.imageKind,
    format: vm.imageFormat,
    arch: host.facts?.arch === 'aarch64' ? 'aarch64' : 'x86_64',
    url: vm.imageUrl,
    sha256: vm.imageSha256,
    sizeBytes: size ? Number(size) : null,
    ...{ defaultVcpus: 0, defaultMemMb: 0, defaultDiskGb: 0 },
    description: 'Taken over from VMs that were made from it.',
  }
  images.create(image)
}

/** Where nobody can say what the host was told, it counts as told more than this store knows. */
function putEpoch({ db }: Stores, { id }: HostRow, epoch: bigint | undefined): void {
  db.run('DELETE FROM sent_snapshots WHERE host_id = $id', { id })
  if (epoch === undefined)
    db.run("UPDATE hosts SET sent_epoch = 1, sent_digest = '', epoch = max(epoch, 1) WHERE id = $id", { id })
  else
    db.run(
      "UPDATE hosts SET epoch = max(epoch, $epoch) + 1, sent_epoch = max(sent_epoch, $epoch), sent_digest = '' WHERE id = $id",
      { id, epoch },
    )
  db.run("INSERT INTO sent_snapshots (host_id, epoch, digest) SELECT id, sent_epoch, '' FROM hosts WHERE id = $id", {
    id,
  })
}

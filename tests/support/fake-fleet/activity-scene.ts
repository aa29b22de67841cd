import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { AuditEntrySchema } from '../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { at } from './rows.ts'

const MIN = 60_000
const HOUR = 60 * MIN

/** A trail of a few days, newest first, with an entry of every kind people look for. */
export function aTrail({ hosts, vms }: FleetState, now: number) {
  const vm = (name: string) => vms.find((one) => one.name === name)?.id ?? ''
  const host = (name: string) => hosts.find((one) => one.name === name)?.id ?? ''
  let id = 4000
  const entry = (ago: number, change: MessageInitShape<typeof AuditEntrySchema>) =>
    create(AuditEntrySchema, {
      ...{ id: String(id--), at: at(now - ago), tenant: 'default', user: 'ada', client: 'app' },
      requestId: `0b12f3a4-77aa-4c1e-9d2b-${String(id).padStart(12, '0')}`,
      ...(change as object),
    })
  const json = JSON.stringify
  return [
    entry(4 * MIN, {
      ...{
        action: 'vm.create',
        vmId: vm('ci-runner-7'),
        hostId: host('rack2-07'),
        detail: { name: 'ci-runner-7', image: 'tiny' },
      },
      after: json({ name: 'ci-runner-7', vcpus: 2, mem_mb: 4096, disk_gb: 20, labels: { ci: '' }, autostart: true }),
    }),
    entry(9 * MIN, {
      ...{ action: 'vm.update', vmId: vm('web-12'), hostId: host('rack2-07') },
      ...{
        before: json({ mem_mb: 1024, labels: { app: 'shop' } }),
        after: json({ mem_mb: 2048, labels: { app: 'shop', prod: '' } }),
      },
    }),
    entry(12 * MIN, {
      ...{
        action: 'vm.trouble',
        vmId: vm('scratch'),
        hostId: host('rack2-07'),
        user: '',
        client: 'eitri',
        requestId: '',
      },
      detail: {
        name: 'scratch',
        reason: 'vm/exited',
        said: 'scratch ended by itself (signal 9: killed by the kernel, out of memory).',
      },
    }),
    entry(40 * MIN, {
      action: 'port.publish',
      vmId: vm('web-12'),
      hostId: host('rack2-07'),
      detail: { host_port: '8443', guest_port: '443' },
    }),
    entry(3 * HOUR, { action: 'vm.stop', vmId: vm('mail-1'), hostId: host('rack2-07'), client: 'cli' }),
    entry(20 * HOUR, { action: 'vm.delete', vmId: vm('old-ci'), hostId: host('rack2-07'), detail: { name: 'old-ci' } }),
    entry(26 * HOUR, { action: 'mcp.call', client: 'mcp', detail: { method: 'VmService/ListVms' } }),
    entry(27 * HOUR, { action: 'host.sign-in', hostId: host('build-4') }),
    entry(51 * HOUR, {
      action: 'store.backup',
      tenant: 'system',
      detail: { path: '/home/ada/backup/eitri-2026-11-28.db' },
    }),
    entry(52 * HOUR, { action: 'host.add', hostId: host('edge-1'), detail: { name: 'edge-1' } }),
  ]
}

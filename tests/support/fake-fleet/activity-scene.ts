import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { AuditEntrySchema } from '../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { aTask, at } from './rows.ts'
import { busyScene } from './scenes.ts'

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
  const done = (tookMs: number, ...steps: [string, number][]) => ({
    ...{ result: 'done', tookMs: BigInt(tookMs), taskId: '5a'.repeat(16) },
    steps: steps.map(([name, ms]) => ({ name, state: 'done', tookMs: BigInt(ms) })),
  })
  return [
    entry(MIN / 2, {
      ...{ action: 'vm.restart', vmId: vm('web-12'), hostId: host('rack2-07'), detail: { name: 'web-12' } },
      ...{ result: 'running', taskId: '5b'.repeat(16) },
    }),
    entry(2 * MIN, {
      ...{ action: 'task.end', client: 'app', detail: { name: 'edge-2', kind: 'add_host', took_ms: '31200' } },
      ...{ result: 'failed', tookMs: 31_200n, taskId: '5c'.repeat(16) },
      steps: [
        { name: 'Connect', state: 'done', tookMs: 900n },
        { name: 'Look at host', state: 'done', tookMs: 4200n },
        { name: 'Install agent', state: 'failed', tookMs: 26_100n },
        { name: 'First report', state: 'waiting' },
      ],
      fault: {
        ...{ code: 'host/unreachable', disposition: 'transient', id: '9f3a2b' },
        params: { host: 'edge-2', address: '10.0.7.2:22', adding: 'true' },
      },
    }),
    entry(4 * MIN, {
      ...{
        action: 'vm.create',
        vmId: vm('ci-runner-7'),
        hostId: host('rack2-07'),
        detail: { name: 'ci-runner-7', image: 'tiny' },
      },
      ...done(11_300, ['Tell rack2-07', 200], ['Make the VM', 8900], ['Start it', 2200]),
      after: json({ name: 'ci-runner-7', vcpus: 2, mem_mb: 4096, disk_gb: 20, labels: { ci: '' }, autostart: true }),
    }),
    entry(9 * MIN, {
      ...{ action: 'vm.update', vmId: vm('web-12'), hostId: host('rack2-07'), detail: { name: 'web-12' } },
      ...done(640, ['Tell rack2-07', 120], ['Apply the change', 520]),
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
    entry(3 * HOUR, {
      action: 'vm.stop',
      vmId: vm('mail-1'),
      hostId: host('rack2-07'),
      client: 'cli',
      ...done(3200, ['Tell rack2-07', 300], ['Stop it', 2900]),
    }),
    entry(20 * HOUR, {
      action: 'vm.delete',
      vmId: vm('old-ci'),
      hostId: host('rack2-07'),
      detail: { name: 'old-ci' },
      ...done(5100, ['Tell rack2-07', 200], ['Stop it and keep it in quarantine', 4900]),
    }),
    entry(26 * HOUR, { action: 'mcp.call', client: 'mcp', detail: { method: 'VmService/ListVms' } }),
    entry(27 * HOUR, { action: 'host.sign-in', hostId: host('build-4') }),
    entry(51 * HOUR, {
      action: 'store.backup',
      ...{ tenant: 'system', result: 'done' },
      detail: { path: '/home/ada/backup/eitri-2026-11-28.db' },
    }),
    entry(52 * HOUR, { action: 'host.add', hostId: host('edge-1'), detail: { name: 'edge-1' } }),
  ]
}

/** What hosts are carrying out, and what was cut short with the app. */
export function vmActsScene(now: number): FleetState {
  const fleet = busyScene(now)
  const vmId = (name: string) => fleet.vms.find((vm) => vm.name === name)?.id ?? ''
  const by = { user: 'ada', client: 'app' }
  fleet.tasks.push(
    aTask({
      ...{ kind: 'create_vm', subject: 'ci-runner-7', state: 'running', createdAt: at(now - 9000), ...by },
      vmId: vmId('ci-runner-7'),
      steps: [
        { name: 'Tell rack2-07', state: 'done', startedAt: at(now - 9000), endedAt: at(now - 8800) },
        {
          ...{ name: 'Make the VM', state: 'running', detail: 'copying disk', startedAt: at(now - 8800) },
          ...{ doneBytes: 15_100_000n, totalBytes: 24_600_000n },
        },
        { name: 'Start it', state: 'waiting' },
      ],
    }),
    aTask({
      ...{ kind: 'start_vm', subject: 'mail-1', state: 'running', createdAt: at(now - 3 * MIN), ...by },
      vmId: vmId('mail-1'),
      steps: [
        { name: 'Tell edge-1', state: 'running', detail: 'waits for edge-1', startedAt: at(now - 3 * MIN) },
        { name: 'Start it', state: 'waiting' },
      ],
    }),
    aTask({
      ...{ kind: 'stop_vm', subject: 'web-12', state: 'superseded', vmId: vmId('web-12'), ...by },
      ...{ createdAt: at(now - 5 * MIN), endedAt: at(now - 5 * MIN + 1200) },
      steps: [
        { name: 'Tell rack2-07', state: 'done' },
        { name: 'Stop it', state: 'running' },
      ],
    }),
    aTask({
      ...{ kind: 'add_host', subject: 'edge-2', state: 'failed', ...by },
      ...{ createdAt: at(now - 20 * MIN), endedAt: at(now - 19 * MIN) },
      steps: [
        { name: 'Connect', state: 'done' },
        { name: 'Install agent', state: 'failed' },
      ],
      fault: {
        ...{ code: 'task/interrupted', disposition: 'permanent', id: '77aa51' },
        params: { kind: 'add_host', subject: 'edge-2', step: 'Install agent' },
      },
    }),
  )
  return fleet
}

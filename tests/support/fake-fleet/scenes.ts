import { create } from '@bufbuild/protobuf'
import { type FleetState, FleetStateSchema } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { GuestStateSchema } from '../../../src/ipc/gen/eitri/fleet/v1/guest_pb.js'
import { aGuestClock, aHost, aHostClock, anImage, anUnreportedVm, at, aVm } from './rows.ts'

const MIN = 60_000
const HOUR = 60 * MIN
const DAY = 24 * HOUR

export const emptyScene = (): FleetState => create(FleetStateSchema, {})

/** A fleet in which every state word of hosts and VMs is to be seen. */
export function busyScene(now: number): FleetState {
  const rack = aHost({ name: 'rack2-07', createdAt: at(now - 90 * DAY), lastSeenAt: at(now), vms: 9 })
  const local = aHost({
    name: 'this-computer',
    kind: 'local',
    address: '',
    carrier: 'unix',
    hostKeyFingerprint: '',
    runsAs: 'ada',
    startedBy: 'app',
    os: 'Debian 12',
    cpuModel: 'Intel Core i7-1365U',
    acceleration: 'tcg',
    accelerationDetail: '/dev/kvm is there but does not run (I/O error)',
    capacity: { vcpus: 12, memMb: 32768n, diskGb: 400n },
    allocated: { vcpus: 2, memMb: 1024n, diskGb: 21n },
    lastSeenAt: at(now),
    vms: 2,
  })
  const edge = aHost({
    name: 'edge-1',
    address: 'root@edge-1.lab.test:2222',
    link: 'unreachable',
    linkFault: {
      code: 'host/unreachable',
      disposition: 'transient',
      params: { address: 'edge-1.lab.test:2222', detail: 'timed out' },
      id: '4c1e',
    },
    nextTryAt: at(now + 14_000),
    lastSeenAt: at(now - 7 * MIN),
    stale: true,
    os: 'Ubuntu 24.04',
    vms: 2,
    allocated: { vcpus: 30, memMb: 122880n, diskGb: 900n },
    capacity: { vcpus: 32, memMb: 131072n, diskGb: 1000n },
  })
  const rebuilt = aHost({
    name: 'db-rack-3',
    address: 'ops@10.0.2.31:22',
    link: 'key_changed',
    linkFault: {
      code: 'ssh/host-key-changed',
      disposition: 'permanent',
      params: {
        fingerprint: 'SHA256:9wTt1bYpLr5mQeJd2uGhSaFiNxWcVz03n4KvZqk8cXo',
        known: 'SHA256:3n4KvZqk8cXo9wTt1bYpLr5mQeJd2uGhSaFiNxWcVz0',
      },
      id: '77aa',
    },
    lastSeenAt: at(now - 26 * HOUR),
    stale: true,
    vms: 1,
  })
  const asks = aHost({
    name: 'build-4',
    address: 'ci@build-4:22',
    link: 'sign_in_needed',
    linkFault: {
      code: 'ssh/auth-refused',
      disposition: 'permanent',
      params: { address: 'ci@build-4:22', methods: 'publickey' },
      id: '0b12',
    },
    lastSeenAt: at(now - 3 * HOUR),
    stale: true,
    vms: 0,
    arch: 'aarch64',
    os: 'Debian 13',
  })
  const on = { hostId: rack.id, hostName: rack.name, asOf: at(now - 2000), createdAt: at(now - 12 * DAY) }
  const onEdge = { hostId: edge.id, hostName: edge.name, asOf: at(now - 7 * MIN), createdAt: at(now - 40 * DAY) }
  const vms = [
    aVm({
      ...on,
      name: 'web-12',
      metrics: { cpuTimeMs: 8_100_000n, cpuBusyPermille: 64, rssBytes: 1_410_000_000n, diskUsedBytes: 2_900_000_000n },
      ip: '10.20.0.12',
      vcpus: 2,
      memMb: 2048,
      imageName: 'debian-12',
      startedAt: at(now - 4 * DAY),
      labels: { app: 'shop', prod: '' },
    }),
    aVm({
      ...on,
      name: 'web-13',
      metrics: { cpuTimeMs: 8_100_000n, cpuBusyPermille: 3, rssBytes: 1_260_000_000n, diskUsedBytes: 2_700_000_000n },
      ip: '10.20.0.13',
      vcpus: 2,
      memMb: 2048,
      imageName: 'debian-12',
      startedAt: at(now - 4 * DAY),
      labels: { app: 'shop' },
    }),
    aVm({
      ...on,
      name: 'db-3',
      metrics: {
        cpuTimeMs: 8_100_000n,
        cpuBusyPermille: 2740,
        rssBytes: 8_700_000_000n,
        diskUsedBytes: 61_000_000_000n,
      },
      ip: '10.20.0.31',
      vcpus: 4,
      memMb: 8192,
      diskGb: 80,
      imageName: 'debian-12',
      startedAt: at(now - 11 * DAY),
    }),
    aVm({
      ...on,
      name: 'ci-runner-7',
      vcpus: 2,
      memMb: 4096,
      diskGb: 20,
      phase: 'creating',
      power: 'stopped',
      detail: 'sending the image to the host',
      progress: { step: 2, steps: 6, doneBytes: 15_100_000n, totalBytes: 24_600_000n },
      createdAt: at(now - 9000),
    }),
    aVm({
      ...on,
      name: 'mail-1',
      power: 'stopped',
      desiredPower: 'stopped',
      imageName: 'debian-12',
      metrics: { diskUsedBytes: 1_900_000_000n },
    }),
    aVm({ ...on, name: 'queue-2', power: 'stopped', detail: 'waiting for memory on the host' }),
    aVm({
      ...on,
      name: 'cache-1',
      desiredPower: 'stopped',
      ip: '10.20.0.40',
      startedAt: at(now - HOUR),
      detail: 'asked the guest to power off',
    }),
    aVm({
      ...on,
      name: 'scratch',
      power: 'stopped',
      reason: 'vm/exited',
      detail: 'scratch ended by itself (signal 9: killed by the kernel, out of memory).',
    }),
    aVm({
      ...on,
      name: 'looper',
      power: 'stopped',
      phase: 'failed',
      reason: 'vm/crash-loop',
      detail: 'looper ended by itself 3 times in a row, each soon after its start (the kernel of the guest panicked).',
    }),
    aVm({
      ...on,
      name: 'imported',
      phase: 'failed',
      power: 'stopped',
      reason: 'image/digest-mismatch',
      detail: 'The bytes of tiny do not match its SHA-256.',
    }),
    aVm({ ...on, name: 'lab-2', power: 'paused', ip: '10.20.0.44', startedAt: at(now - 5 * HOUR) }),
    aVm({ ...onEdge, name: 'sensor-hub', hostUnknown: true, ip: '10.20.1.5', startedAt: at(now - 33 * DAY) }),
    aVm({ ...onEdge, name: 'camera-gw', hostUnknown: true, power: 'stopped', desiredPower: 'stopped' }),
    aVm({
      ...on,
      name: 'old-ci',
      deletedAt: at(now - 20 * HOUR),
      quarantineEndsAt: at(now + 6 * DAY + 4 * HOUR),
      power: 'stopped',
      desiredPower: 'stopped',
      diskGb: 40,
    }),
    aVm({
      ...on,
      name: 'tmp-9',
      deletedAt: at(now - 6 * DAY),
      quarantineEndsAt: at(now + 22 * HOUR),
      power: 'stopped',
      desiredPower: 'stopped',
    }),
    anUnreportedVm({ ...onEdge, name: 'edge-new', createdAt: at(now - 60_000), hostUnknown: false }),
    aVm({
      hostId: local.id,
      hostName: local.name,
      name: 'play',
      metrics: { cpuTimeMs: 8_100_000n, cpuBusyPermille: 9, rssBytes: 104_000_000n, diskUsedBytes: 37_000_000n },
      memMb: 96,
      diskGb: 1,
      ip: '10.0.2.15',
      startedAt: at(now - 12 * MIN),
      asOf: at(now - 1000),
      createdAt: at(now - DAY),
      acceleration: 'tcg',
    }),
  ]
  const images = [
    anImage({
      cachedOn: [rack.id, local.id],
      usedBy: 9,
      createdAt: at(now - 30 * DAY),
      os: 'Tiny Linux',
      verified: 'built',
    }),
    anImage({
      name: 'debian-12',
      kind: 'disk',
      url: 'https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-genericcloud-amd64.qcow2',
      sha256: '11c7f0d2a4b6e8c0d2f4a6b8c0e2f4a6b8d0f2a4c6e8f0a2b4d6f8a0c2e4f6a8',
      sizeBytes: 337_600_000n,
      isDefault: false,
      defaultVcpus: 1,
      defaultMemMb: 512,
      defaultDiskGb: 10,
      description: 'Debian 12 with cloud-init.',
      ...{ os: 'Debian 12 (bookworm)', verified: 'checked', format: 'qcow2', virtualBytes: 3_221_225_472n },
      digestsUrl: 'https://cloud.debian.org/images/cloud/bookworm/latest/SHA512SUMS',
      cachedOn: [rack.id],
      usedBy: 4,
    }),
    anImage({
      name: 'ubuntu-24-04',
      kind: 'disk',
      url: 'https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img',
      sha256: '22c7f0d2a4b6e8c0d2f4a6b8c0e2f4a6b8d0f2a4c6e8f0a2b4d6f8a0c2e4f6a8',
      isDefault: false,
      description: 'Ubuntu 24.04 LTS with cloud-init.',
      ...{ os: 'Ubuntu 24.04 LTS', verified: 'listed', catalogue: 'ubuntu-24-04-amd64' },
      digestsUrl: 'https://cloud-images.ubuntu.com/releases/24.04/release-20260814/SHA256SUMS',
    }),
  ].map((image) => {
    if (image.name === 'ubuntu-24-04') delete image.sizeBytes
    return image
  })
  return create(FleetStateSchema, { hosts: [rack, local, edge, rebuilt, asks], vms, images })
}

/** The busy fleet with a host that another control plane holds, VMs that no fleet owns and one of an image by URL. */
export function sharedScene(now: number): FleetState {
  const fleet = busyScene(now)
  const [rack] = fleet.hosts
  const held = aHost({
    name: 'lab-9',
    address: 'ops@lab-9:22',
    link: 'held_by_other',
    linkFault: {
      code: 'agent/foreign-controller',
      disposition: 'permanent',
      params: { controller: 'ada-desk' },
      id: '51fe',
    },
    lastSeenAt: at(now - 2 * HOUR),
    stale: true,
    vms: 1,
    capacity: { vcpus: 96, memMb: 1_800_294n, diskGb: 7200n },
  })
  const on = { hostId: rack!.id, hostName: rack!.name, asOf: at(now - 2000) }
  fleet.hosts.push(held)
  fleet.vms.push(
    aVm({ hostId: held.id, hostName: held.name, name: 'shared-1', hostUnknown: true, asOf: at(now - 2 * HOUR) }),
    aVm({ ...on, name: 'stray', unowned: true, imageName: '', ip: '10.20.0.60', startedAt: at(now - DAY) }),
    aVm({ ...on, name: 'db-3', unowned: true, imageName: '', power: 'stopped', desiredPower: 'stopped' }),
    aVm({
      ...on,
      name: 'tiny-guest',
      imageName: '',
      imageUrl: 'https://images.example/tiny/alpine-virt-3.22.qcow2',
      memMb: 96,
      diskGb: 1,
      startedAt: at(now - HOUR),
      metrics: { cpuBusyPermille: 30, rssBytes: 237_000_000n, diskUsedBytes: 41_000_000n },
    }),
    aVm({
      ...on,
      name: 'retry',
      power: 'stopped',
      phase: 'failed',
      reason: 'vm/exited',
      detail: 'retry ended by itself (the guest powered off); next try in 9 s.',
    }),
  )
  return fleet
}

/** The busy fleet with every state word of clocks, and guests with something to say of their first boot. */
export function clockScene(now: number): FleetState {
  const fleet = busyScene(now)
  const [rack, local, edge] = fleet.hosts
  if (rack) rack.clock = aHostClock(now)
  if (local)
    local.clock = aHostClock(now, { state: 'not_synchronised', source: '', detail: 'No source was reachable.' })
  if (edge) edge.clock = aHostClock(now - 7 * MIN, { stale: true })
  const guest = (name: string, change: Partial<FleetState['vms'][number]>) =>
    Object.assign(fleet.vms.find((vm) => vm.name === name) ?? {}, { clockPolicy: 'auto', ...change })
  const ok = { guestAgent: 'answering', guestAgentVersion: '7.2.22', cloudInit: 'done', fleetPayload: 'applied' }
  const asOf = at(now - 4000)
  guest('web-12', { clock: aGuestClock(0.3, now), guest: create(GuestStateSchema, { ...ok, asOf }) })
  guest('web-13', {
    clock: aGuestClock(-320, now),
    guest: create(GuestStateSchema, {
      ...{ ...ok, asOf, cloudInit: 'error', fleetPayload: 'not_applied' },
      fleetPayloadDetail: 'user-data switches vendor data off',
      modules: [
        { name: 'runcmd', stage: 'modules-final', result: 'failed', detail: 'exit code 127' },
        { name: 'package-update-upgrade-install', stage: 'modules-final', result: 'failed' },
        { name: 'ssh', stage: 'init', result: 'warned', detail: 'unsupported host key type: dsa' },
      ],
    }),
  })
  guest('db-3', {
    clock: aGuestClock(-41_200, now, {
      lastAct: {
        ...{ cause: 'resume', means: 'set_time', result: 'failed', detail: 'the guest refused to set its time' },
        ...{ offsetBeforeUs: -41_200_000n, at: at(now - 151_000) },
      },
    }),
    guest: create(GuestStateSchema, { ...ok, asOf, cloudInit: 'running' }),
  })
  guest('cache-1', { clockPolicy: 'windows-domain', clock: aGuestClock(12, now) })
  guest('sensor-hub', { clock: aGuestClock(3, now - 7 * MIN) })
  guest('play', { guest: create(GuestStateSchema, { guestAgent: 'silent', asOf }) })
  return fleet
}

/** The clock fleet whose hosts agree against this computer. */
export function wrongAppScene(now: number): FleetState {
  const fleet = clockScene(now)
  const against = { wrong: 'app', appOffsetUs: -41_000_000n, appUncertaintyUs: 6000n }
  const [rack] = fleet.hosts
  if (rack) rack.clock = aHostClock(now, against)
  fleet.hosts.push(aHost({ name: 'rack2-08', lastSeenAt: at(now), clock: aHostClock(now, against) }))
  return fleet
}

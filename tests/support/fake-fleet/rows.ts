import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import { GuestClockSchema, HostClockSchema } from '../../../src/ipc/gen/eitri/fleet/v1/clock_pb.js'
import { HostSchema } from '../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { ImageSchema } from '../../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import { TaskSchema } from '../../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { VmSchema } from '../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { lifecycleOf } from '../../../src/ipc/lifecycle.ts'

let serial = 0
/** An id like the real ones, never the same twice. */
export const newId = (): string => (++serial).toString(16).padStart(4, '0').repeat(8)

/** Ids start anew, so that the same scene has the same ones. */
export const startIdsAnew = (): void => {
  serial = 0
}

export const at = (ms: number): Timestamp => timestampFromMs(ms)

/** A running VM; `changes` say what is different about it. */
export function aVm(changes: MessageInitShape<typeof VmSchema> = {}) {
  const vm = create(VmSchema, {
    id: newId(),
    name: 'web-1',
    hostId: 'h1',
    hostName: 'rack2-07',
    tenant: 'default',
    imageName: 'tiny',
    imageSha256: 'a'.repeat(64),
    vcpus: 1,
    memMb: 512,
    diskGb: 10,
    desiredPower: 'running',
    power: 'running',
    phase: 'ready',
    autostart: true,
    acceleration: 'kvm',
    ...(changes as object),
  })
  vm.lifecycle ||= lifecycleOf({
    deleted: vm.deletedAt !== undefined,
    phase: vm.phase,
    power: vm.power,
    desiredPower: vm.desiredPower,
  })
  return vm
}

/** A VM whose host has not said anything about it. */
export function anUnreportedVm(changes: MessageInitShape<typeof VmSchema> = {}) {
  const vm = aVm({ lifecycle: 'creating', ...(changes as object) })
  delete vm.power
  delete vm.phase
  return vm
}

/** A guest's clock measured just now, that far from its host. */
export const aGuestClock = (offsetMs: number, now: number, changes: MessageInitShape<typeof GuestClockSchema> = {}) =>
  create(GuestClockSchema, {
    source: 'guest_agent',
    offsetUs: BigInt(Math.round(offsetMs * 1000)),
    uncertaintyUs: 400n,
    measuredAt: at(now - 6000),
    ...(changes as object),
  })

/** A clock that chrony keeps. */
export const aHostClock = (now: number, changes: MessageInitShape<typeof HostClockSchema> = {}) =>
  create(HostClockSchema, {
    ...{ state: 'synchronised', offsetUs: 180n, stratum: 3, source: '10.0.0.1', daemon: 'chrony' },
    ...{ since: at(now - 86_400_000), measuredAt: at(now - 9000), appOffsetUs: 2100n, appUncertaintyUs: 6000n },
    ...(changes as object),
  })

/** A connected SSH host. */
export function aHost(changes: MessageInitShape<typeof HostSchema> = {}) {
  return create(HostSchema, {
    id: newId(),
    name: 'rack2-07',
    status: 'enrolled',
    kind: 'ssh',
    address: 'ops@10.0.2.7:22',
    link: 'connected',
    agentVersion: '0.1.0',
    backend: 'qemu',
    vmmVersion: 'QEMU emulator version 7.2.22',
    acceleration: 'kvm',
    os: 'Debian 12',
    arch: 'x86_64',
    init: 'systemd',
    cpuModel: 'AMD EPYC 7443P 24-Core Processor',
    runsAs: 'root',
    startedBy: 'systemd',
    carrier: 'streamlocal',
    hostKeyFingerprint: 'SHA256:3n4KvZqk8cXo9wTt1bYpLr5mQeJd2uGhSaFiNxWcVz0',
    capacity: { vcpus: 48, memMb: 131072n, diskGb: 1800n },
    allocated: { vcpus: 14, memMb: 28672n, diskGb: 240n },
    metrics: {
      load1: 1.42,
      memAvailableBytes: 96_000_000_000n,
      diskFreeBytes: 1_310_000_000_000n,
      uptimeS: 1_036_800n,
      agentRssBytes: 61_000_000n,
      load5: 1.2,
      load15: 0.98,
      cpuBusyPermille: 118,
      cpus: 48,
      memTotalBytes: 134_900_000_000n,
      swapTotalBytes: 8_589_934_592n,
      swapFreeBytes: 8_400_000_000n,
      diskTotalBytes: 1_900_000_000_000n,
      agentPssBytes: 52_000_000n,
      agentFds: 34,
    },
    epoch: 7n,
    ...(changes as object),
  })
}

export function anImage(changes: MessageInitShape<typeof ImageSchema> = {}) {
  return create(ImageSchema, {
    id: newId(),
    name: 'tiny',
    kind: 'kernel',
    arch: 'x86_64',
    sha256: '9f2c4e7a1b6d8035c1f0e2a4b6d8f0a2c4e6f8a0b2d4f6a8c0e2f4a6b8d0f2a4',
    sizeBytes: 24_600_000n,
    isDefault: true,
    defaultVcpus: 1,
    defaultMemMb: 96,
    defaultDiskGb: 1,
    description: 'Kernel, shell and SSH from Debian packages. The serial console is a root shell without a password.',
    ...(changes as object),
  })
}

export const aTask = (changes: MessageInitShape<typeof TaskSchema> = {}) =>
  create(TaskSchema, { id: newId(), kind: 'add_host', subject: 'rack2-07', state: 'running', ...(changes as object) })

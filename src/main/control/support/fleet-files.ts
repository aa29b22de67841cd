import { timestampDate } from '@bufbuild/protobuf/wkt'
import { FAULT_CODES } from '../../../ipc/faults.ts'
import type { FleetState } from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type BundleText, eachOf, facts, fileOf } from './bundle-file.ts'
import type { Labels } from './labels.ts'
import type { Redactor } from './redactor.ts'

const STATES = [
  ...['connected', 'connecting', 'unreachable', 'sign_in_needed', 'key_not_trusted', 'key_changed', 'agent_missing'],
  ...['held_by_other', 'identity_mismatch', 'enrolled', 'decommissioning', 'local', 'ssh', 'login', 'key', 'revoked'],
  ...['running', 'paused', 'stopped', 'suspended', 'creating', 'ready', 'failed', 'deleting', 'unix', 'streamlocal'],
  ...['stdio', 'ssh2', 'openssh', 'memory', 'keychain', 'stop', 'leave', 'x86_64', 'aarch64', 'qemu', 'systemd'],
  ...['cloud-hypervisor', 'vfkit', 'kvm', 'tcg', 'hvf', 'openrc', 'cron', 'app', 'root', 'disk', 'kernel', 'qcow2'],
  ...['raw', 'tcp', 'udp', 'lan', 'loopback', 'listening', 'waiting', 'synchronised', 'not_synchronised', 'chrony'],
  ...['timesyncd', 'ntpd', 'host', 'guest_agent', 'answering', 'silent', 'done', 'degraded', 'error', 'disabled'],
  ...['absent', 'applied', 'not_applied', 'current', 'older', 'nat', 'user', 'system', 'operator', 'down', 'blocks'],
  ...['warns', 'auto', 'host-only', 'network', 'none', 'windows-standalone', 'windows-domain', 'verifying', 'unknown'],
  ...['restarting', 'refused', 'rolled_back', 'asking', 'cancelled', 'skipped', 'add_host', 'remove_host', 'sign_in'],
  ...['build_image', 'push_image', 'import_image', 'upgrade_host', 'add_image', 'darwin', 'linux', 'vcpus', 'mem_mb'],
  ...['disk_gb', 'clock_policy', 'guests'],
]
const CODES: readonly string[] = FAULT_CODES

/** What of a fleet is told: states, numbers and codes. Sentences lose every word that is not this app's own. */
export async function fleetFiles(labels: Labels, state: FleetState): Promise<BundleText[]> {
  return [
    await fileOf(
      labels,
      'hosts.txt',
      'Hosts: how they are reached, what keeps them from answering, what they have.',
      (r) => eachOf(state.hosts, (host) => hostLines(r, host)),
    ),
    await fileOf(labels, 'vms.txt', 'VMs: what they should be, what their hosts last said of them.', (r) =>
      eachOf(state.vms, (vm) => vmLines(r, vm)),
    ),
    await fileOf(labels, 'images-and-ports.txt', 'Images and published ports: kinds, sizes and states.', function* (r) {
      yield* eachOf(state.images, (image) => imageLines(r, image))
      yield* eachOf(state.ports, (port) => [portLine(r, port)])
    }),
    await fileOf(labels, 'tasks.txt', 'Tasks that run or ran lately, with their steps and faults.', (r) =>
      eachOf(state.tasks, (task) => taskLines(r, task)),
    ),
  ]
}

type Stamp = Parameters<typeof timestampDate>[0]
const at = (stamp: Stamp | undefined): string => (stamp ? timestampDate(stamp).toISOString() : '')
const word = (r: Redactor, value: string) => r.word(value, STATES)
/** The first word and the version of a name like "Debian 12 (bookworm)": the rest may say anything. */
const system = (r: Redactor, value: string) =>
  value === ''
    ? ''
    : (/^(Debian|Ubuntu|Fedora|Alpine|Arch|macOS|Rocky|AlmaLinux|openSUSE|Red Hat)\b[^\d]{0,30}?(\d{1,3}(\.\d{1,3})?)?/
        .exec(value)
        ?.slice(1, 3)
        .filter(Boolean)
        .join(' ') ?? r.out('text'))
const program = (r: Redactor, value: string) =>
  value === '' ? '' : (/\d{1,4}\.\d{1,4}(\.\d{1,4})?/.exec(value)?.[0] ?? r.out('text'))

function faultWords(
  r: Redactor,
  fault: { code: string; disposition: string; params: Record<string, string>; id: string } | undefined,
) {
  if (!fault) return {}
  const { detail = '', ...params } = fault.params
  const code = r.word(fault.code, CODES)
  const named = Object.entries(params).map(([key, value]) => `${r.sentence(key)} ${r.sentence(value)}`)
  return { fault: code, 'fault said': r.sentence(detail), 'fault params': named.join('; ') }
}

function hostLines(r: Redactor, host: Host): string[] {
  const { metrics, capacity, allocated, clock } = host
  return [
    r.label('host', host.id),
    ...facts({
      ...{ status: word(r, host.status), kind: word(r, host.kind), link: word(r, host.link) },
      ...faultWords(r, host.linkFault),
      ...{ address: host.address === '' ? '' : r.sentence(host.address), 'last seen': at(host.lastSeenAt) },
      ...{ stale: host.stale, 'next try': at(host.nextTryAt), created: at(host.createdAt) },
      ...{ carrier: word(r, host.carrier), 'ssh client': word(r, host.sshClient) },
      ...{ 'ssh client because': r.sentence(host.sshClientDetail), 'signed in by': word(r, host.credential) },
      ...{
        'secrets kept in': word(r, host.secretsKept),
        'host key': host.hostKeyFingerprint && r.label('key', host.hostKeyFingerprint),
      },
      ...{ agent: r.version(host.agentVersion), 'agent this app has': r.version(host.upgradeAvailable) },
      ...{ 'runs as': host.runsAs === 'root' || host.runsAs === '' ? host.runsAs : r.label('user', host.runsAs) },
      ...{
        'started by': word(r, host.startedBy),
        backend: word(r, host.backend),
        hypervisor: program(r, host.vmmVersion),
      },
      ...{ acceleration: word(r, host.acceleration), 'acceleration says': r.sentence(host.accelerationDetail) },
      ...{
        os: system(r, host.os),
        arch: word(r, host.arch),
        init: word(r, host.init),
        lacks: r.sentence(host.missing.join(' ')),
      },
      ...{ epoch: host.epoch, 'reported epoch': host.reportedEpoch, 'newer data there': host.newerData !== undefined },
      ...{
        draining: word(r, host.draining),
        vms: host.vms,
        'upgrade ended': word(r, host.upgradeOutcome?.state ?? ''),
      },
      ...{ 'upgrade said': r.sentence(host.upgradeOutcome?.detail ?? ''), labels: Object.keys(host.labels).length },
      ...(capacity ? { has: `${capacity.vcpus} vCPU, ${capacity.memMb} MiB, ${capacity.diskGb} GiB` } : {}),
      ...(allocated ? { promised: `${allocated.vcpus} vCPU, ${allocated.memMb} MiB, ${allocated.diskGb} GiB` } : {}),
      ...{ 'disk free': metrics?.diskFreeBytes, 'memory free': metrics?.memAvailableBytes, load: metrics?.load1 },
      ...{ 'agent memory': metrics?.agentRssBytes, 'agent files': metrics?.agentFds, 'up for s': metrics?.uptimeS },
      ...{
        clock: word(r, clock?.state ?? ''),
        'clock kept by': word(r, clock?.daemon ?? ''),
        'clock wrong': word(r, clock?.wrong ?? ''),
      },
      ...{ 'clock off us': clock?.offsetUs, 'clock off from here us': clock?.appOffsetUs },
    }),
    ...host.notices.map((notice) => `  notice: ${r.sentence(notice)}`),
    ...host.networks.map((n) => `  network: ${word(r, n.kind)} ${word(r, n.state)} ${r.sentence(n.detail)}`.trimEnd()),
    ...host.networkFindings.map(
      (f) => `  network finding: ${word(r, f.severity)}${f.mended ? ', mended' : ''}: ${r.sentence(f.what)}`,
    ),
  ]
}

function vmLines(r: Redactor, vm: Vm): string[] {
  const { guest, clock, metrics } = vm
  return [
    r.label('vm', vm.id),
    ...facts({
      ...{ host: r.label('host', vm.hostId), wanted: word(r, vm.desiredPower), power: word(r, vm.power ?? 'unknown') },
      ...{ phase: word(r, vm.phase ?? 'unknown'), lifecycle: word(r, vm.lifecycle), reason: r.word(vm.reason, CODES) },
      ...{ said: r.sentence(vm.detail), 'as of': at(vm.asOf), 'host unknown': vm.hostUnknown, unowned: vm.unowned },
      ...{
        size: `${vm.vcpus} vCPU, ${vm.memMb} MiB, ${vm.diskGb} GiB`,
        image: vm.imageSha256 && r.label('digest', vm.imageSha256),
      },
      ...{ created: at(vm.createdAt), started: at(vm.startedAt), deleted: at(vm.deletedAt) },
      ...{
        'quarantine ends': at(vm.quarantineEndsAt),
        acceleration: word(r, vm.acceleration),
        protected: vm.protected,
      },
      ...{ 'has an address': vm.ip !== '', 'network of its own': vm.network !== '', autostart: vm.autostart },
      ...{
        'needs restart for': vm.needsRestart.map((field) => word(r, field)).join(' '),
        labels: Object.keys(vm.labels).length,
      },
      ...{
        'clock policy': word(r, vm.clockPolicy),
        'clock off us': clock?.offsetUs,
        'clock said by': word(r, clock?.source ?? ''),
      },
      ...{ 'clock says': r.sentence(clock?.detail ?? ''), 'guest agent': word(r, guest?.guestAgent ?? '') },
      ...{ 'cloud-init': word(r, guest?.cloudInit ?? ''), "fleet's part": word(r, guest?.fleetPayload ?? '') },
      ...{ "fleet's part says": r.sentence(guest?.fleetPayloadDetail ?? ''), 'failed modules': guest?.modules.length },
      ...{
        'host certificate ends': at(vm.hostCertificate?.validBefore),
        revocations: word(r, vm.trust?.revocations ?? ''),
      },
      ...{ 'memory of its hypervisor': metrics?.rssBytes, 'disk used': metrics?.diskUsedBytes },
    }),
  ]
}

function imageLines(r: Redactor, image: Image): string[] {
  return [
    r.label('image', image.id),
    ...facts({
      ...{
        kind: word(r, image.kind),
        arch: word(r, image.arch),
        format: word(r, image.format),
        bytes: image.sizeBytes,
      },
      ...{ digest: image.sha256 && r.label('digest', image.sha256), 'from a publisher': image.url !== '' },
      ...{ default: image.isDefault, 'used by': image.usedBy, 'cached on': image.cachedOn.length },
    }),
  ]
}

const portLine = (r: Redactor, port: Port): string =>
  `port of ${r.label('vm', port.vmId)} on ${r.label('host', port.hostId)}: ${r.word(port.protocol, STATES)} ${port.hostPort} to ${port.guestPort}, ${r.word(port.scope, STATES)}, ${r.word(port.state ?? 'unknown', STATES)} ${r.sentence(port.reason)}`.trimEnd()

function taskLines(r: Redactor, task: Task): string[] {
  return [
    `${r.label('task', task.id)}: ${word(r, task.kind)} ${word(r, task.state)}`,
    ...facts({
      ...{ about: r.sentence(task.subject), began: at(task.createdAt), ended: at(task.endedAt) },
      ...faultWords(r, task.fault),
    }),
    ...task.steps.map((step) =>
      `  step ${r.sentence(step.name)}: ${word(r, step.state)} ${at(step.startedAt)} ${at(step.endedAt)} ${r.sentence(step.detail)}`.trimEnd(),
    ),
  ]
}

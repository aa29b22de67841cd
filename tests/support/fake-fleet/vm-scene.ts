import { create } from '@bufbuild/protobuf'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { GuestStateSchema } from '../../../src/ipc/gen/eitri/fleet/v1/guest_pb.js'
import { type Template, TemplateSchema } from '../../../src/ipc/gen/eitri/fleet/v1/template_pb.js'
import { type Ca, CaSchema } from '../../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import {
  type GetVmCommandResponse,
  GetVmCommandResponseSchema,
  GuestTrustSchema,
  HostCertificateSchema,
  TrustedCasSchema,
  type Vm,
} from '../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { portScene } from './port-scene.ts'
import { aGuestClock, at } from './rows.ts'

const DAY = 86_400_000
const USER_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHx3kQ2vYb0c8dPq7RkVJm5nT1sWzLgU9eBoXfAiCyHd people'
const OLD_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB7mQpYc4tWn8vZxK2sLdFhJ0gRuEiOaXyTbNkVwMqPz old-laptop'
const HOST_CA = 'SHA256:Xo2vYb0c8dPq7RkVJm5nT1sWzLgU9eBoXfAiCyHd9w'

/** CAs of the fake fleet: one that signs people's keys, one that signs hosts'. */
export const someCas = (): Ca[] => [
  create(CaSchema, {
    id: 'c1',
    kind: 'user',
    name: 'people',
    publicKey: USER_KEY,
    fingerprint: 'SHA256:3n4KvZqk8cXo9wTt1bYpLr5mQeJd2u',
    state: 'signing',
    held: 'keychain',
  }),
  create(CaSchema, {
    id: 'c2',
    kind: 'host',
    name: 'guests',
    fingerprint: HOST_CA,
    state: 'signing',
    held: 'keychain',
  }),
]

export const someTemplates = (): Template[] => [
  create(TemplateSchema, {
    id: 't1',
    name: 'web',
    description: 'nginx behind the shop',
    image: 'debian-12',
    vcpus: 2,
    memMb: 2048,
    diskGb: 20,
    cloudInitBytes: 812,
  }),
]

/** The command line of a QEMU whose memory was changed since it started. */
export function aCommand(vm: Vm): GetVmCommandResponse {
  const both = (args: string[], why = '') => ({ args, why, where: 'both' })
  return create(GetVmCommandResponseSchema, {
    backend: 'qemu',
    cwd: `/var/lib/eitri/vms/${vm.id}`,
    ...(vm.power === 'running' ? { pid: 48_211 } : {}),
    runsKnown: vm.power === 'running',
    parts: [
      both(['/usr/bin/qemu-system-x86_64'], 'The hypervisor of this host'),
      both(['-name', `guest=${vm.name},debug-threads=on`], 'How the host lists it'),
      both(['-machine', 'q35,accel=kvm,usb=off'], 'A PC with PCI Express, run by the processor itself'),
      both(['-smp', `${vm.vcpus}`], 'Its processors'),
      { args: ['-m', '2048'], why: 'Its memory, MiB', where: vm.power === 'running' ? 'running' : 'both' },
      ...(vm.power === 'running' ? [{ args: ['-m', '4096'], why: 'Its memory, MiB', where: 'next' }] : []),
      both(['-drive', 'file=disk.qcow2,if=virtio,discard=unmap,cache=none'], 'Its disk'),
      both(['-drive', 'file=seed.iso,if=virtio,readonly=on'], 'What cloud-init reads at the first boot'),
      both(
        ['-netdev', 'tap,id=nat,ifname=eitri7,script=no', '-device', 'virtio-net-pci,netdev=nat,mac=52:54:00:8c:11:0a'],
        'Its card on the NAT of the host',
      ),
      both(
        ['-chardev', 'socket,id=serial0,path=serial.sock,server=on,wait=off', '-serial', 'chardev:serial0'],
        'Its console',
      ),
    ],
  })
}

/** The busy fleet with everything a VM can have: certificates, addresses on two networks, labels, guests in trouble. */
export function vmScene(now: number, fleet = portScene(now)): FleetState {
  const vm = (name: string) => fleet.vms.find((v) => v.name === name)!
  const certificate = (days: number) =>
    create(HostCertificateSchema, {
      serial: '7214406339158203412',
      caFingerprint: HOST_CA,
      validBefore: at(now + days * DAY),
    })
  Object.assign(vm('web-12'), {
    ...{ clockPolicy: 'auto', clock: aGuestClock(0.3, now), sshName: 'default.web-12', protected: true },
    ...{ hostCertificate: certificate(310), network: 'lab', networkIp: '192.168.40.12' },
    trustedCas: create(TrustedCasSchema, { publicKeys: [USER_KEY, OLD_KEY] }),
    trust: create(GuestTrustSchema, { revocations: 'current', detail: '', asOf: at(now - 40_000) }),
  })
  Object.assign(vm('web-13'), {
    cloudInitBytes: 812,
    ...{
      clockPolicy: 'auto',
      clock: aGuestClock(-320, now),
      hostCertificate: certificate(5),
      sshName: 'default.web-13',
    },
    trustedCas: create(TrustedCasSchema, { publicKeys: [] }),
    trust: create(GuestTrustSchema, {
      revocations: 'failed',
      detail: 'The guest has no sshd that reads a list.',
      asOf: at(now - 400_000),
    }),
    guest: create(GuestStateSchema, {
      ...{ guestAgent: 'answering', guestAgentVersion: '7.2.22', cloudInit: 'error', fleetPayload: 'not_applied' },
      ...{ asOf: at(now - 4000), fleetPayloadDetail: 'user-data switches vendor data off' },
      modules: [
        {
          name: 'runcmd',
          stage: 'modules-final',
          result: 'failed',
          detail: 'curl -u ops:hunter2secret https://repo.test: exit code 127',
        },
        { name: 'package-update-upgrade-install', stage: 'modules-final', result: 'failed' },
        { name: 'ssh', stage: 'init', result: 'warned', detail: 'unsupported host key type: dsa' },
      ],
    }),
  })
  Object.assign(vm('db-3'), {
    labels: { app: 'shop', tier: 'data' },
    needsRestart: ['mem_mb'],
    sshName: 'default.db-3',
  })
  Object.assign(vm('mail-1'), { cloneOf: vm('web-12').id, sshName: 'default.mail-1' })
  return fleet
}

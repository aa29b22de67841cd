import { type ClockPolicy, isWindowsPolicy } from '../../../ipc/clock-policy.ts'
import type { BootImage } from '../../images/image-cache.ts'
import type { Nic } from '../../network/vm-network.ts'
import type { CommandPart } from '../backend.ts'
import { guestUuid } from '../guest-uuid.ts'

export interface QemuMachine {
  vmId: string
  /** Versioned, e.g. "pc-q35-7.2". */
  machine: string
  acceleration: 'kvm' | 'tcg'
  vcpus: number
  memMb: number
  clockPolicy: ClockPolicy
  nics: readonly Nic[]
  image: BootImage
}

/** Names relative to the VM's directory, which is QEMU's working directory. */
export interface QemuFiles {
  pidfile: string
  qmpSocketName: string
  serialSocketName: string
  guestSocketName: string
  serialLog: string
  disk: string
  seed: string
}

/** Hyper-V's own clock and what it needs: Windows has no driver for KVM's. */
const HYPERV = 'hv_time,hv_relaxed,hv_vapic,hv_spinlocks=0x1fff,hv_synic,hv_stimer'

const part = (why: string, ...args: string[]): CommandPart => ({ args, why })

/** Netdev of the NIC on the fleet's own network. */
export const OWN_NETDEV = 'net0'

/** The guest's first drive. */
export const DISK = 'vda'

function nicParts({ mac, tap }: Nic, n: number): CommandPart[] {
  const netdev = tap === undefined ? `user,id=net${n}` : `tap,id=net${n},ifname=${tap},script=no,downscript=no`
  const why =
    tap === undefined
      ? 'network by user-mode translation: needs no rights, reaches out'
      : "network by the host's bridge: the tap is made and removed by the agent"
  return [
    part(why, '-netdev', netdev),
    part(
      'network card; its address comes from the VM id; no boot from the network',
      '-device',
      `virtio-net-pci,netdev=net${n},mac=${mac},romfile=`,
    ),
  ]
}

/**
 * QEMU's options, each with what it is for. The guest may reboot as it likes: without -no-reboot the process, its
 * console socket and its log stay; a kernel that panics and resets for ever shows as resets.
 */
export function qemuOptions(vm: QemuMachine, files: QemuFiles): CommandPart[] {
  const kvm = vm.acceleration === 'kvm'
  return [
    part('names the VM in process lists', '-name', `guest=${vm.vmId}`),
    part('the VM id as the machine id the guest sees', '-uuid', guestUuid(vm.vmId)),
    part('only the devices named here', '-nodefaults'),
    part('no configuration of this host changes it', '-no-user-config'),
    part('no window; the serial console is the screen', '-display', 'none'),
    part('machine type, pinned at the first boot so that the guest keeps its hardware', '-machine', vm.machine),
    part(
      kvm ? 'runs the guest on the CPU itself' : 'emulates the CPU: slow; 32 MiB of translated code',
      '-accel',
      kvm ? 'kvm' : 'tcg,tb-size=32',
    ),
    cpuPart(kvm, isWindowsPolicy(vm.clockPolicy)),
    part('vCPUs', '-smp', String(vm.vcpus)),
    part('memory, MiB', '-m', String(vm.memMb)),
    rtcPart(isWindowsPolicy(vm.clockPolicy)),
    part('a guest whose kernel panicked ends, with that as its reason', '-action', 'panic=shutdown'),
    part('where the agent finds the process again', '-pidfile', files.pidfile),
    part('the control socket of the agent', '-chardev', `socket,id=qmp,path=${files.qmpSocketName},server=on,wait=off`),
    part('QMP on that socket', '-mon', 'chardev=qmp,mode=control'),
    part(
      'the serial console: a socket to type into, and a log of all the guest wrote',
      '-chardev',
      `socket,id=serial0,path=${files.serialSocketName},server=on,wait=off,logfile=${files.serialLog},logappend=on`,
    ),
    part('first serial port of the guest', '-serial', 'chardev:serial0'),
    part('how the guest tells of a kernel panic', '-device', 'pvpanic-pci'),
    part('random numbers of the host for the guest', '-device', 'virtio-rng-pci'),
    ...vm.nics.flatMap(nicParts),
    part(
      'the disk; what the guest discards is freed; a full host pauses the guest',
      '-drive',
      `if=none,id=${DISK},file=${files.disk},format=qcow2,discard=unmap,werror=enospc`,
    ),
    part('that disk as /dev/vda, first to boot from', '-device', `virtio-blk-pci,drive=${DISK},bootindex=1`),
    part(
      'the seed for cloud-init: name, keys, user-data',
      '-drive',
      `if=none,id=vdb,file=${files.seed},format=raw,readonly=on`,
    ),
    part('the seed as /dev/vdb', '-device', 'virtio-blk-pci,drive=vdb'),
    part('the bus of the next device', '-device', 'virtio-serial-pci'),
    part(
      'a channel to the guest agent, if the guest has one',
      '-chardev',
      `socket,id=guest0,path=${files.guestSocketName},server=on,wait=off`,
    ),
    part(
      'that channel in the guest, by the name guest agents look for',
      '-device',
      'virtserialport,chardev=guest0,name=org.qemu.guest_agent.0',
    ),
    ...(vm.image.kind === 'kernel'
      ? [
          part("the image's kernel, booted directly", '-kernel', vm.image.kernel),
          part("the image's first root", '-initrd', vm.image.initrd),
          part("the image's kernel command line", '-append', vm.image.cmdline),
        ]
      : []),
  ]
}

function cpuPart(kvm: boolean, windows: boolean): CommandPart {
  if (!kvm) return part('all that emulation offers', '-cpu', 'max')
  if (!windows) return part('the CPU of this host', '-cpu', 'host')
  return part(
    "the CPU of this host, with the clock Windows reads on Hyper-V and that clock's needs",
    '-cpu',
    `host,${HYPERV}`,
  )
}

/** Its clock is the host's, always: clock=vm would stand still with the guest and leave nothing to be set right by. */
const rtcPart = (windows: boolean): CommandPart =>
  windows
    ? part(
        'a hardware clock in local time, as Windows reads it; it goes on while the guest is paused',
        '-rtc',
        'base=localtime',
      )
    : part('a hardware clock in UTC that goes on while the guest is paused', '-rtc', 'base=utc')

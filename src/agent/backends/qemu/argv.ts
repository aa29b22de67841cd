import type { BootImage } from '../../images/image-cache.ts'

export interface QemuMachine {
  vmId: string
  /** Versioned, e.g. "pc-q35-7.2". */
  machine: string
  acceleration: 'kvm' | 'tcg'
  vcpus: number
  memMb: number
  mac: string
  image: BootImage
}

/** Names relative to the VM's directory, which is QEMU's working directory. */
export interface QemuFiles {
  pidfile: string
  qmpSocketName: string
  serialSocketName: string
  serialLog: string
  disk: string
  seed: string
}

/**
 * QEMU's command line. The guest may reboot as it likes: without -no-reboot the process, its console socket and its
 * log stay; a kernel that panics and resets for ever shows as resets, one that loads pvpanic ends the process.
 */
export function qemuArgv(vm: QemuMachine, files: QemuFiles): string[] {
  return [
    ['-name', `guest=${vm.vmId}`],
    ['-uuid', uuidOf(vm.vmId)],
    ['-nodefaults', '-no-user-config', '-display', 'none'],
    ['-machine', vm.machine],
    ['-accel', vm.acceleration === 'kvm' ? 'kvm' : 'tcg,tb-size=32'],
    ['-cpu', vm.acceleration === 'kvm' ? 'host' : 'max'],
    ['-smp', String(vm.vcpus)],
    ['-m', String(vm.memMb)],
    ['-rtc', 'base=utc'],
    ['-pidfile', files.pidfile],
    ['-chardev', `socket,id=qmp,path=${files.qmpSocketName},server=on,wait=off`],
    ['-mon', 'chardev=qmp,mode=control'],
    [
      '-chardev',
      `socket,id=serial0,path=${files.serialSocketName},server=on,wait=off,logfile=${files.serialLog},logappend=on`,
    ],
    ['-serial', 'chardev:serial0'],
    ['-device', 'pvpanic-pci'],
    ['-device', 'virtio-rng-pci'],
    ['-netdev', 'user,id=net0'],
    ['-device', `virtio-net-pci,netdev=net0,mac=${vm.mac},romfile=`],
    ['-drive', `if=none,id=vda,file=${files.disk},format=qcow2,discard=unmap`],
    ['-device', 'virtio-blk-pci,drive=vda,bootindex=1'],
    ['-drive', `if=none,id=vdb,file=${files.seed},format=raw,readonly=on`],
    ['-device', 'virtio-blk-pci,drive=vdb'],
    vm.image.kind === 'kernel'
      ? ['-kernel', vm.image.kernel, '-initrd', vm.image.initrd, '-append', vm.image.cmdline]
      : [],
  ].flat()
}

/** The VM id as the guest's DMI UUID. */
export const uuidOf = (id: string): string =>
  [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-')

/** The versioned name behind "q35" in the output of `-machine help`; undefined when it offers none. */
export function resolveMachine(help: string): string | undefined {
  return /^(\S+)\s.*\(alias of q35\)/m.exec(help)?.[1] ?? /^q35\s.*\(alias of (\S+)\)/m.exec(help)?.[1]
}

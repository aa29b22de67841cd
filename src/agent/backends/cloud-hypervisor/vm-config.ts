import { MiB } from '../../../ipc/units.ts'
import type { BootImage } from '../../images/image-cache.ts'
import { guestUuid } from '../guest-uuid.ts'
import type { ChFiles } from './argv.ts'

export interface ChMachine {
  vmId: string
  vcpus: number
  memMb: number
  net: readonly { mac: string; tap: string }[]
  image: BootImage
  /** Absolute path of the UEFI firmware a disk image starts with. */
  firmware: string
}

/** Body of vm.create, as far as it is used. Memory is not `shared`: only a vhost-user device needs that, and none is here. */
export interface VmConfig {
  cpus: { boot_vcpus: number; max_vcpus: number }
  memory: { size: number }
  payload: { firmware: string } | { kernel: string; initramfs: string; cmdline: string }
  disks: { id: string; path: string; image_type: 'Raw'; readonly: boolean }[]
  net: { id: string; tap: string; mac: string }[]
  serial: { mode: 'Socket'; socket: string }
  console: { mode: 'Off' }
  pvpanic: boolean
  platform: { system_uuid: string }
}

/** The VM as cloud-hypervisor is told to make it; the root disk is the guest's first drive, the seed its second. */
export function vmConfig(vm: ChMachine, files: Omit<ChFiles, 'apiSocketName' | 'events'>): VmConfig {
  const { image } = vm
  return {
    cpus: { boot_vcpus: vm.vcpus, max_vcpus: vm.vcpus },
    memory: { size: vm.memMb * MiB },
    payload:
      image.kind === 'kernel'
        ? { kernel: image.kernel, initramfs: image.initrd, cmdline: image.cmdline }
        : { firmware: vm.firmware },
    disks: [
      { id: 'root', path: files.disk, image_type: 'Raw', readonly: false },
      { id: 'seed', path: files.seed, image_type: 'Raw', readonly: true },
    ],
    net: vm.net.map(({ tap, mac }, n) => ({ id: `net${n}`, tap, mac })),
    serial: { mode: 'Socket', socket: files.serialSocketName },
    console: { mode: 'Off' },
    pvpanic: true,
    platform: { system_uuid: guestUuid(vm.vmId) },
  }
}

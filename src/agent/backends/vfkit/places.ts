import { dirname, join } from 'node:path'
import { macOf } from '../../network/mac.ts'
import type { VmLayout } from '../../records/layout.ts'
import type { VmmFiles } from '../vmm-process.ts'
import { networkOption, type VfkitFiles } from './argv.ts'

export interface VfkitPlaces extends VmmFiles, VfkitFiles {
  pidfile: string
  /** What vfkit printed since its last start. */
  log: string
  /** Of all VMs. */
  socketDir: string
}

/**
 * Where the things of one VM are that other backends name otherwise; all absolute. Its REST socket lies beside the VMs,
 * not among its files: macOS takes 103 bytes for a socket's path, and vfkit takes only an absolute one.
 */
export function vfkitPlaces(vm: VmLayout): VfkitPlaces {
  const socketDir = join(dirname(dirname(vm.dir)), 'sockets')
  return {
    dir: vm.dir,
    hypervisor: join(vm.dir, 'vfkit.json'),
    pidfile: join(vm.dir, 'vfkit.pid'),
    argument: networkOption(macOf(vm.id)),
    log: join(vm.dir, 'vfkit.log'),
    disk: vm.rawDisk,
    seed: vm.seed,
    variableStore: join(vm.dir, 'efi-variables'),
    socketDir,
    restSocket: join(socketDir, vm.id),
  }
}

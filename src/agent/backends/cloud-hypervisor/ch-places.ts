import { basename, join } from 'node:path'
import type { VmLayout } from '../../records/layout.ts'
import type { VmmFiles } from '../vmm-process.ts'
import type { ChFiles } from './argv.ts'

export interface ChPlaces extends VmmFiles, ChFiles {
  /** What the hypervisor printed since its last start; absolute. */
  log: string
}

const API_SOCKET = 'api.sock'

/** Where the things of one VM are that other backends name otherwise. Pure. */
export function chPlaces(vm: VmLayout): ChPlaces {
  return {
    dir: vm.dir,
    hypervisor: join(vm.dir, 'cloud-hypervisor.json'),
    pidfile: join(vm.dir, 'cloud-hypervisor.pid'),
    log: join(vm.dir, 'cloud-hypervisor.log'),
    argument: `path=${API_SOCKET}`,
    apiSocketName: API_SOCKET,
    serialSocketName: vm.serialSocketName,
    events: 'events.log',
    disk: basename(vm.rawDisk),
    seed: basename(vm.seed),
  }
}

import { Fault } from '../../../ipc/faults.ts'
import type { BootImage } from '../../images/image-cache.ts'
import type { CommandPart } from '../backend.ts'

/** Longest path of a unix socket on macOS, bytes; one more would be its NUL. */
export const SOCKET_PATH_LIMIT = 103

export interface VfkitMachine {
  vcpus: number
  memMb: number
  mac: string
  image: BootImage
  /** Only while there is no variable store: vfkit empties the one it is told to create. */
  createVariableStore: boolean
}

/** All absolute: vfkit knows no other paths in its REST address. */
export interface VfkitFiles {
  disk: string
  seed: string
  variableStore: string
  restSocket: string
  pidfile: string
}

export const networkOption = (mac: string): string => `virtio-net,nat,mac=${mac}`

/** vfkit's command line. Raises `vmm/failed` (permanent) for what its option syntax cannot carry. */
export function vfkitArgv(program: string, vm: VfkitMachine, files: VfkitFiles): CommandPart[] {
  return [
    { args: [program], why: "Apple's Virtualization framework, one process per VM" },
    { args: ['--cpus', String(vm.vcpus)], why: 'virtual CPUs' },
    { args: ['--memory', String(vm.memMb)], why: 'memory in MiB' },
    bootloader(vm, files),
    disk(files.disk, 'root disk, raw'),
    disk(files.seed, 'cloud-init seed'),
    { args: ['--device', networkOption(vm.mac)], why: "macOS's own NAT and DHCP; the MAC finds the lease" },
    { args: ['--device', 'virtio-serial,pty'], why: 'console hvc0, which the agent records' },
    { args: ['--device', 'virtio-rng'], why: 'entropy' },
    { args: ['--restful-uri', restUri(files.restSocket)], why: 'how the agent asks and stops it' },
    { args: ['--pidfile', files.pidfile], why: 'finds it again when the agent died right after its start' },
  ]
}

function bootloader(vm: VfkitMachine, files: VfkitFiles): CommandPart {
  if (vm.image.kind === 'disk') {
    const create = vm.createVariableStore ? ',create' : ''
    return {
      args: ['--bootloader', `efi,variable-store=${option(files.variableStore)}${create}`],
      why: 'EFI; its variables are made at the first start and kept',
    }
  }
  const { kernel, initrd, cmdline } = vm.image
  return {
    args: ['--bootloader', `linux,kernel=${option(kernel)},initrd=${option(initrd)},cmdline="${cmdlineOf(cmdline)}"`],
    why: "the image's kernel and command line; its console is hvc0",
  }
}

const disk = (path: string, why: string): CommandPart => ({
  args: ['--device', `virtio-blk,path=${option(path)}`],
  why,
})

/** vfkit takes the command line between quotes and knows no escape for one inside. */
function cmdlineOf(cmdline: string): string {
  if (cmdline.includes('"')) throw refuse("the image's kernel command line holds a quote, which vfkit cannot take")
  return /(^|\s)console=hvc0(\s|,|$)/.test(cmdline) ? cmdline : `${cmdline} console=hvc0`.trim()
}

/** Commas separate options, quotes group them; there is no escape for either. */
function option(path: string): string {
  if (/[,"]/.test(path)) throw refuse(`vfkit cannot take a path with a comma or a quote: ${path}`)
  return path
}

function restUri(path: string): string {
  const bytes = Buffer.byteLength(path)
  if (bytes > SOCKET_PATH_LIMIT)
    throw refuse(
      `${path} is ${bytes} bytes long, a socket's path holds ${SOCKET_PATH_LIMIT}: use a shorter --state-dir`,
    )
  return `unix://${path.split('/').map(encodeURIComponent).join('/')}`
}

const refuse = (detail: string) => new Fault('vmm/failed', 'permanent', { detail })

import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { guestCidrProblem } from '../ipc/base/cidr.ts'
import { isName } from '../ipc/names.ts'
import type { CapacityCaps } from './facts/host-facts.ts'
import { GUEST_BRIDGE } from './network/guest-network.ts'
import type { HostNetwork } from './network/host-bridges.ts'

/** How guests get their network: by a bridge of this host where that can be, or by translation in each hypervisor. */
export type GuestNetworkWay = 'auto' | 'user'

/** `serve` as typed. A flag that means nothing on this platform is there all the same. */
export interface ServeFlags {
  stateDir: string
  socket: string
  /** '' = the platform's own. */
  backend: string
  /** Path or name of vfkit, macOS only; '' = the one on PATH. */
  vfkit: string
  hostNetwork: HostNetwork[]
  /** Network of the guests where none is settled yet; '' = whatever the control plane suggests. */
  bridgeCidr: string
  guestNetwork: GuestNetworkWay
  maxVcpus?: number
  maxMemMb?: number
  maxDiskGb?: number
}

/** Adds the flags of `serve`. Every platform parses all of them; one that macOS cannot honour is refused there. */
export function addServeFlags(
  command: Command,
  platform: NodeJS.Platform,
  places: { stateDir: string; socket: string },
): Command {
  return command
    .option('--state-dir <dir>', 'where VMs, images and the identity are kept', places.stateDir)
    .option('--socket <path>', 'unix socket to listen on', places.socket)
    .option('--backend <name>', 'hypervisor backend', '')
    .option('--vfkit <program>', 'path or name of vfkit (macOS)', program, '')
    .option(
      '--host-network <NAME=BRIDGE>',
      "offer VMs this host's bridge as a network of that name; may be repeated (Linux)",
      (text: string, all: HostNetwork[]) => [...all, hostNetwork(text, all, platform)],
      [],
    )
    .option('--bridge-cidr <network>', 'network of the VMs unless one is settled already (Linux)', bridgeCidr, '')
    .addOption(
      new Option('--guest-network <way>', 'user: leave the network of this host alone; guests reach out all the same')
        .choices(['auto', 'user'])
        .env('EITRI_GUEST_NETWORK')
        .default('auto'),
    )
    .option('--max-vcpus <n>', 'vCPUs for all VMs together', count)
    .option('--max-mem-mb <n>', 'MiB of memory for all VMs together', count)
    .option('--max-disk-gb <n>', 'GiB of disk for all VMs together', count)
}

/** Bounds for all VMs together; what was not typed is absent. */
export function capsOf({ maxVcpus, maxMemMb, maxDiskGb }: ServeFlags): CapacityCaps {
  return {
    ...(maxVcpus === undefined ? {} : { vcpus: maxVcpus }),
    ...(maxMemMb === undefined ? {} : { memMb: maxMemMb }),
    ...(maxDiskGb === undefined ? {} : { diskGb: maxDiskGb }),
  }
}

/** What the fleet's own network is called beside those of the operator. */
const GUESTS = 'guests'

/** A Linux interface name: at most 15 bytes, and no way out of a folder. */
const INTERFACE = /^(?!\.{1,2}$)[^\s/:]{1,15}$/

function hostNetwork(text: string, known: readonly HostNetwork[], platform: NodeJS.Platform): HostNetwork {
  if (platform === 'darwin')
    throw new InvalidArgumentError('macOS owns the network of its VMs, there are no named ones: leave this flag out.')
  const [, name = '', bridge = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
  if (!isName(name) || !INTERFACE.test(bridge)) throw new InvalidArgumentError('use NAME=BRIDGE, e.g. lan=br0.')
  if (known.some((network) => network.name === name))
    throw new InvalidArgumentError(`the name ${name} is there already.`)
  if (name === GUESTS || bridge === GUEST_BRIDGE)
    throw new InvalidArgumentError(`the network ${GUESTS} on ${GUEST_BRIDGE} is the one that every VM is on anyway.`)
  return { name, bridge }
}

function bridgeCidr(text: string): string {
  const problem = guestCidrProblem(text)
  if (problem !== '') throw new InvalidArgumentError(`${problem}.`)
  return text
}

function count(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('use a whole number of at least 1')
  return value
}

/** A path as absolute, since programs are started elsewhere; a bare name as it is. */
const program = (text: string): string => (text.includes('/') ? resolve(text) : text)

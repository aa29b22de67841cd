import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'

/** Where the kernel shows the interfaces of this network namespace. */
export const SYS_CLASS_NET = '/sys/class/net'

/** A network of the operator: what VMs call it, and the bridge that is it on this host. */
export interface HostNetwork {
  name: string
  bridge: string
}

/** False for an interface that is no bridge, and where there is none. */
export function isBridge(name: string, sysClassNet = SYS_CLASS_NET): boolean {
  return statSync(join(sysClassNet, name, 'bridge'), { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Raises `input/invalid` (permanent) naming the first network that cannot be served, and why. */
export function requireBridges(
  networks: readonly HostNetwork[],
  { sysClassNet = SYS_CLASS_NET, uid = process.getuid?.() }: { sysClassNet?: string; uid?: number | undefined } = {},
): void {
  for (const { name, bridge } of networks) {
    const problem =
      uid === 0 ? problemOf(bridge, sysClassNet) : 'only an agent that runs as root can put VMs on a bridge'
    if (problem !== '')
      throw new Fault('input/invalid', 'permanent', { field: '--host-network', value: `${name}=${bridge}`, problem })
  }
}

function problemOf(bridge: string, sysClassNet: string): string {
  if (isBridge(bridge, sysClassNet)) return ''
  const there = statSync(join(sysClassNet, bridge), { throwIfNoEntry: false }) !== undefined
  return there ? `${bridge} is no bridge` : `this host has no bridge ${bridge}, and the agent makes none of that kind`
}

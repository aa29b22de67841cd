import { stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Lives as long as the devices and rules it describes: until the host boots anew. */
const RUN_DIR = '/run/eitri-network'

/** What the owner of one network namespace keeps beside its bridge. All absolute; dnsmasq, which is not root, reads some. */
export interface NetworkPlace {
  dir: string
  /** Of the one agent that owns the guests' network here. */
  lock: string
  /** Whose network it is, and what it was like before. */
  note: string
  rules: string
  guard: string
  config: string
  hosts: string
  leases: string
  pidfile: string
  log: string
}

/** Pure; `netns` tells the network namespaces of one boot apart. */
export function networkPlace(netns: number, runDir = RUN_DIR): NetworkPlace {
  const dir = join(runDir, String(netns))
  return {
    dir,
    lock: join(dir, 'lock'),
    note: join(dir, 'network.json'),
    rules: join(dir, 'nat.nft'),
    guard: join(dir, 'guard.nft'),
    config: join(dir, 'dnsmasq.conf'),
    hosts: join(dir, 'dnsmasq.hosts'),
    leases: join(dir, 'dnsmasq.leases'),
    pidfile: join(dir, 'dnsmasq.pid'),
    log: join(dir, 'dnsmasq.log'),
  }
}

/** Of the network namespace this process is in. */
export async function ownNetworkPlace(runDir?: string): Promise<NetworkPlace> {
  const { ino } = await stat('/proc/self/ns/net')
  return networkPlace(ino, runDir)
}

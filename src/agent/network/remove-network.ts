import { z } from 'zod'
import { type Clock, systemClock } from '../../ipc/base/clock.ts'
import type { Run } from '../os/exec.ts'
import { removeTree } from '../os/files.ts'
import { linuxProcesses, type Processes } from '../os/process.ts'
import { ask, must } from './command.ts'
import { endDnsmasq } from './dnsmasq.ts'
import { GUARD_TABLE } from './guest-guard.ts'
import { GUEST_BRIDGE } from './guest-network.ts'
import { FORWARDING } from './managed-network.ts'
import { NAT_TABLE } from './nat-ruleset.ts'
import { readNote } from './network-note.ts'
import { type NetworkPlace, ownNetworkPlace } from './network-place.ts'
import { kernelSysctl, type Sysctl } from './sysctl.ts'
import { isTapName } from './tap.ts'

export interface RemoveNetworkDeps {
  place: NetworkPlace
  run: Run
  processes: Processes
  sysctl: Sysctl
  clock: Clock
}

const Ports = z.array(z.looseObject({ ifname: z.string() }))

/**
 * Takes away all that the agent of this state directory made of the network of its guests, and gives the host back the
 * setting it had. What is gone, for people; nothing when the network is nobody's, or another's. Idempotent; raises
 * `vmm/failed` and then may be repeated. No guest may run on it.
 */
export async function removeNetwork(deps: RemoveNetworkDeps, stateDir: string): Promise<string[]> {
  const { place, run, sysctl } = deps
  const note = await readNote(place)
  if (note?.stateDir !== stateDir) return []
  const removed: string[] = []
  if (await endDnsmasq(deps)) removed.push('dnsmasq of the guests')
  for (const table of [NAT_TABLE, GUARD_TABLE]) {
    const listed = await ask(run, 'network.ask-table', ['nft', 'list', 'table', ...table])
    if (listed.code !== 0) continue
    await must(run, 'network.unload', ['nft', 'delete', 'table', ...table])
    removed.push(`nft table ${table.join(' ')}`)
  }
  removed.push(...(await removeBridge(run)))
  if (note.ipForward !== '') {
    await sysctl.write(FORWARDING, note.ipForward)
    removed.push(`${FORWARDING}=1`)
  }
  await removeTree('network.forget', place.dir)
  return removed
}

/** With the taps of guests on it; ports of anybody else stay as interfaces. */
async function removeBridge(run: Run): Promise<string[]> {
  const shown = await ask(run, 'network.ask-ports', ['ip', '-json', 'link', 'show', 'master', GUEST_BRIDGE])
  if (shown.code !== 0) return []
  const taps = Ports.parse(JSON.parse(shown.stdout || '[]')).filter(({ ifname }) => isTapName(ifname))
  for (const { ifname } of taps) await must(run, 'network.drop-tap', ['ip', 'link', 'delete', 'dev', ifname])
  await must(run, 'network.drop-bridge', ['ip', 'link', 'delete', 'dev', GUEST_BRIDGE])
  return [`bridge ${GUEST_BRIDGE}`]
}

/** For uninstall, of the network namespace this process is in: as `removeNetwork`, unless guests still run on it. */
export async function removeOwnNetwork(
  run: Run,
  stateDir: string,
  inUse: boolean,
): Promise<{ removed: string[]; left: string[] }> {
  const place = process.platform === 'linux' ? await ownNetworkPlace() : undefined
  if (!place || (await readNote(place))?.stateDir !== stateDir) return { removed: [], left: [] }
  if (inUse) return { removed: [], left: [`the network of VMs that run: ${GUEST_BRIDGE}, its rules and dnsmasq`] }
  const deps = { place, run, processes: linuxProcesses(), sysctl: kernelSysctl, clock: systemClock }
  return { removed: await removeNetwork(deps, stateDir), left: [] }
}

import { existsSync } from 'node:fs'
import type { Log } from '../../ipc/base/log.ts'
import { findProgram } from '../facts/system.ts'
import type { Detach, Run } from '../os/exec.ts'
import type { Processes } from '../os/process.ts'
import type { VmRecords } from '../records/vm-records.ts'
import { GUEST_BRIDGE } from './guest-network.ts'
import { HostNetworks, type HostNetworksDeps, type OperatorNets } from './host-networks.ts'
import { macOf } from './mac.ts'
import { readNote } from './network-note.ts'
import { type Ownership, ownNetwork } from './network-owner.ts'
import { ownNetworkPlace } from './network-place.ts'
import { kernelSysctl } from './sysctl.ts'
import { IpTaps, type Taps, tapName } from './tap.ts'
import type { KnownVm, NetworkedVm, Nic } from './vm-network.ts'

export interface OpenNetworksOptions
  extends Pick<HostNetworksDeps, 'platform' | 'stateDir' | 'cidr' | 'clock' | 'log'> {
  way: 'auto' | 'user'
  run: Run
  detach: Detach
  processes: Processes
  /** Made only when this agent owns the network of its namespace; raises what keeps the agent from starting. */
  operator?(taps: Taps, ownership: Ownership): OperatorNets | undefined
}

/** The networks of this host with the rights this agent has. `close` gives the host's network up for others. */
export async function openNetworks(options: OpenNetworksOptions): Promise<HostNetworks> {
  const { platform, way, run, processes, operator } = options
  const root = process.getuid?.() === 0
  const ownership = await ownNetwork({ platform, asked: way, root, find: findProgram, processes })
  const taps = new IpTaps(run)
  try {
    const operatorNets = operator?.(taps, ownership)
    return new HostNetworks({ ...options, ownership, taps, operator: operatorNets, sysctl: kernelSysctl, hasDevice })
  } catch (error) {
    await ownership.release()
    throw error
  }
}

const hasDevice = (name: string): boolean => existsSync(`/sys/class/net/${name}`)

/** What the records say of the VMs here. One that cannot be read says nothing: its VM is known by its id alone. */
export async function knownVms(records: Pick<VmRecords, 'list' | 'read'>, log: Log): Promise<KnownVm[]> {
  const known: KnownVm[] = []
  const ids = await records.list().catch((error: unknown) => {
    log.warn('network.records-unlisted', { error: String(error) })
    return []
  })
  for (const vmId of ids) {
    const read = await records.read(vmId)
    if (read.kind === 'record') {
      const { spec, ip, networkIp } = read.record
      known.push({ vmId, name: spec.name, network: spec.network, ip, networkIp })
    } else if (read.kind === 'unreadable') {
      log.warn('network.record-unreadable', { vm: vmId, problem: read.problem })
      known.push({ vmId, name: '', network: '', ip: '', networkIp: '' })
    }
  }
  return known
}

/** The NICs a start of the VM would give it, from what lies on this host: changes nothing, and no agent need run. */
export async function peekNics(stateDir: string, { vmId, network }: NetworkedVm): Promise<Nic[]> {
  const place = process.platform === 'linux' ? await ownNetworkPlace() : undefined
  const isBridged = place !== undefined && (await readNote(place))?.stateDir === stateDir && hasDevice(GUEST_BRIDGE)
  const own = { mac: macOf(vmId), ...(isBridged ? { tap: tapName(vmId) } : {}) }
  return network === '' ? [own] : [own, { mac: macOf(vmId, 1), tap: tapName(vmId, 1) }]
}

import { macOf } from '../../src/agent/network/mac.ts'
import type { NetworkedVm, VmNetwork } from '../../src/agent/network/vm-network.ts'
import { Fault } from '../../src/ipc/faults.ts'

const unknown = (network: string) =>
  new Fault('vm/network-unknown', 'permanent', { host: 'This host', network: network.slice(0, 80) })

/** NICs by user-mode translation, and no network of an operator. `addresses` are what it answers; `detached` who left. */
export class UserNetwork implements VmNetwork {
  readonly addresses = new Map<string, string>()
  readonly detached: string[] = []
  /** Throws for a VM whose network cannot be taken away. */
  onDetach: (vmId: string) => void = () => {}

  async start(): Promise<void> {}
  async attach(vm: NetworkedVm) {
    return this.look(vm)
  }
  look({ vmId, network }: NetworkedVm) {
    if (network !== '') throw unknown(network)
    return [{ mac: macOf(vmId) }]
  }
  async detach(vmId: string): Promise<void> {
    this.onDetach(vmId)
    this.detached.push(vmId)
  }
  address(vmId: string): string {
    return this.addresses.get(vmId) ?? ''
  }
  networkAddress(): string {
    return ''
  }
  notices(): string[] {
    return []
  }
  async close(): Promise<void> {}
}

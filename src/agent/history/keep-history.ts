import { Fault } from '../../ipc/faults.ts'
import type { GuestClock, HostClock } from '../../ipc/gen/eitri/agent/v1/clock_pb.js'
import type { Metrics } from '../facts/metrics.ts'
import type { MeteredVm } from '../facts/vm-meter.ts'
import type { AgentLayout } from '../records/layout.ts'
import { History, type HistoryDeps, HOST } from './history.ts'
import { hostLook, vmLook } from './looks.ts'

export interface KeepHistoryDeps extends Omit<HistoryDeps, 'pathOf'> {
  layout: Pick<AgentLayout, 'history' | 'vmDir'>
  metrics(): Pick<Metrics, 'host' | 'vm'>
  clocks(): { hostClock(): HostClock | undefined; clock(vmId: string): GuestClock | undefined }
  /** Something of the VM is on this host. */
  has(vmId: string): boolean
}

/** The history of this host, fed with what its meters say. */
export function keepHistory({ layout, metrics, clocks, has, ...rest }: KeepHistoryDeps) {
  const pathOf = (subject: string) => (subject === HOST ? layout.history : layout.vmDir(subject).history)
  const history = new History({ ...rest, pathOf })
  return {
    /** After each look at everything. */
    measured(vms: readonly MeteredVm[]): void {
      const now = rest.now()
      const host = metrics().host()
      const looks = vms.flatMap(({ id }) => vmLook(id, metrics().vm(id), clocks().clock(id), now) ?? [])
      if (host) looks.push(hostLook(host, clocks().hostClock(), now))
      history.record(looks, new Set([HOST, ...vms.map(({ id }) => id)]))
    },
    async ask(vmId: string, spanMs: number, samples: number) {
      if (vmId !== HOST && !has(vmId)) throw new Fault('vm/not-found', 'permanent', { vm: vmId.slice(0, 80) })
      return await history.ask(vmId, spanMs, samples)
    },
    stop: () => history.stop(),
  }
}

import { create } from '@bufbuild/protobuf'
import { type FleetState, FleetStateSchema } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { FakeFleet } from './fake-fleet.ts'
import { aHost, at, aVm } from './rows.ts'

const NOUNS = ['web', 'db', 'cache', 'queue', 'ci', 'edge', 'mail', 'logs']
const MEM_MB = [512, 1024, 2048, 4096]
const HOUR = 3_600_000

/** A fleet of that many hosts with that many VMs each, most of them running. */
export function bigScene({ hosts, vms }: { hosts: number; vms: number }, now: number): FleetState {
  const all = Array.from({ length: hosts }, (_, h) =>
    aHost({ id: `host-${h}`, name: `rack${1 + Math.floor(h / 20)}-${String(h % 20).padStart(2, '0')}`, vms }),
  )
  return create(FleetStateSchema, {
    hosts: all,
    vms: all.flatMap((host, h) =>
      Array.from({ length: vms }, (_, v) => {
        const n = h * vms + v
        const power = n % 9 === 0 ? 'stopped' : 'running'
        return aVm({
          ...{ id: `vm-${n}`, name: `${NOUNS[n % NOUNS.length]}-${n}`, hostId: host.id, hostName: host.name },
          ...{ power, desiredPower: power, ip: `10.${h}.0.${2 + v}`, vcpus: 1 + (n % 4), memMb: MEM_MB[n % 4]! },
          ...{ labels: { app: NOUNS[n % 3]! }, startedAt: at(now - (n % 500) * HOUR) },
          metrics: { cpuBusyPermille: n % 1000, rssBytes: BigInt(n % 512) << 20n },
        })
      }),
    ),
  })
}

/** Changes of a big fleet, one after the other: nine of ten are what a VM uses now, one is its power. */
export function* bigChanges(fleet: FakeFleet): Generator<void> {
  const { vms } = fleet.state
  for (let n = 0; ; n = (n + 1) % 1_000_003) {
    const vm = vms[(n * 7919) % vms.length]!
    if (n % 10 === 0) {
      const power = vm.power === 'running' ? 'stopped' : 'running'
      fleet.tell({ vms: [Object.assign(vm, { power, desiredPower: power })] })
    } else
      fleet.tell({
        vmMetrics: [{ vmId: vm.id, metrics: { cpuBusyPermille: (n * 31) % 1000, rssBytes: BigInt(n % 512) << 20n } }],
      })
    yield
  }
}

import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import {
  type Port,
  type PortProbeSchema,
  PortSchema,
  PortSessionsSchema,
} from '../../../src/ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Vm } from '../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import {
  loopbackNotTried,
  probeFromHereWords,
  probeFromHostWords,
  UDP_NOT_TESTABLE,
} from '../../../src/ipc/port-words.ts'
import { busyScene } from './scenes.ts'

let serial = 0

/** A port of a VM that listens, as its host says. */
export function aPort(vm: Vm, change: MessageInitShape<typeof PortSchema> = {}): Port {
  const port = create(PortSchema, {
    id: (++serial).toString(16).padStart(32, 'e'),
    vmId: vm.id,
    vmName: vm.name,
    hostId: vm.hostId,
    hostName: vm.hostName,
    guestPort: 443,
    hostPort: 8443,
    protocol: 'tcp',
    scope: 'lan',
    hostAddress: '10.0.2.7',
    state: 'listening',
    ...change,
  })
  port.sessions ??= create(PortSessionsSchema)
  return port
}

/** The busy fleet with a port in every state. */
export function portScene(now: number, fleet = busyScene(now)): FleetState {
  const vm = (name: string) => fleet.vms.find((v) => v.name === name) ?? fleet.vms[0]!
  const web = vm('web-12')
  const rest = [
    aPort(web, { sessions: { active: 12n, refused: 3n, dropped: 1n } }),
    aPort(web, {
      hostPort: 8080,
      guestPort: 80,
      state: 'failed',
      reason: 'Port 8080 is used by nginx (pid 812).',
    }),
    aPort(web, {
      hostPort: 24_000,
      guestPort: 53,
      protocol: 'udp',
      sessions: { active: 2n, refused: 0n, dropped: 0n },
    }),
    aPort(vm('web-13'), { hostPort: 5432, guestPort: 5432, scope: 'loopback' }),
    aPort(vm('db-3'), { hostPort: 24_001, guestPort: 22, state: 'waiting', reason: 'The VM is not running.' }),
  ]
  const far = aPort(vm('sensor-hub'), { hostPort: 1883, guestPort: 1883, hostUnknown: true, hostAddress: '' })
  const old = aPort(vm('cache-1'), { hostPort: 6379, guestPort: 6379 })
  delete old.state
  delete old.sessions
  fleet.ports = [...rest, far, old]
  return fleet
}

/** What trying a port finds: what its state makes likely. */
export function fakeProbes(port: Port | undefined): MessageInitShape<typeof PortProbeSchema>[] {
  if (!port) return []
  const here = { from: 'this computer', to: `${port.hostAddress}:${port.hostPort}` }
  const there = { from: 'host', to: `${port.vmName}:${port.guestPort}` }
  const { hostName: host, vmName: vm, hostPort, guestPort } = port
  const names = { host, vm, hostPort, guestPort }
  if (port.protocol === 'udp')
    return [here, there].map((one) => ({ ...one, state: 'not-tried', detail: UDP_NOT_TESTABLE }))
  if (port.scope === 'loopback')
    return [
      { ...here, state: 'not-tried', detail: loopbackNotTried(port.hostName) },
      { ...there, state: 'open', tookMs: 3 },
    ]
  if (port.state === 'listening' && !port.hostUnknown)
    return [
      { ...here, state: 'open', tookMs: 12 },
      { ...there, state: 'open', tookMs: 4 },
    ]
  return [
    {
      ...here,
      state: port.hostUnknown ? 'silent' : 'refused',
      detail: probeFromHereWords(port.hostUnknown ? 'silent' : 'refused', names),
    },
    { ...there, state: 'refused', detail: probeFromHostWords('refused', names) },
  ]
}

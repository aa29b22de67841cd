import { create } from '@bufbuild/protobuf'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { NetworkFindingSchema, NetworkSchema } from '../../../src/ipc/gen/eitri/fleet/v1/network_pb.js'
import { at } from './rows.ts'
import { busyScene } from './scenes.ts'

const MIN = 60_000

const DROP = create(NetworkFindingSchema, {
  ...{ id: 'forward-drop', severity: 'blocks' },
  what: 'Chain FORWARD of table ip filter drops, unless told otherwise, what the host forwards for guests.',
  effect: 'Guests reach the host, and nothing beyond it.',
  rule: 'chain FORWARD { type filter hook forward priority filter; policy drop; }',
  mend: 'Lets guests through by accepting at the head of DOCKER-USER what comes in from eitri0 or goes out to eitri0; undo removes just that.',
})

/** The busy fleet with every kind of network, and findings of each sort. */
export function networkScene(now: number, fleet = busyScene(now)): FleetState {
  const [rack, local, edge] = fleet.hosts
  const addressesOf = (hostId: string, base: string) =>
    fleet.vms
      .filter((vm) => vm.hostId === hostId)
      .slice(0, 4)
      .map((vm, i) => ({
        ...{ vmId: vm.id, vmName: vm.name, mac: `52:54:00:1a:2b:0${i}`, ip: i === 3 ? '' : `${base}.${20 + i}` },
        source: i === 3 ? '' : 'reservation',
      }))
  if (rack) {
    rack.hostNetworks = ['office']
    const of = { hostId: rack.id, hostName: rack.name }
    const [first] = addressesOf(rack.id, '10.77.3')
    const onOffice = fleet.vms.find((vm) => vm.id === first?.vmId)
    if (onOffice) Object.assign(onOffice, { network: 'office', networkIp: '192.168.1.57' })
    rack.networks = [
      create(NetworkSchema, {
        ...{ ...of, name: 'guests', kind: 'nat', bridge: 'eitri0', cidr: '10.77.3.0/24', gateway: '10.77.3.1' },
        ...{ state: 'ready', addresses: addressesOf(rack.id, '10.77.3') },
      }),
      create(NetworkSchema, {
        ...{ ...of, name: 'office', kind: 'operator', bridge: 'br0', state: 'ready' },
        addresses: first ? [{ ...first, ip: '192.168.1.57', source: 'dhcp', seenAt: at(now - 3 * MIN) }] : [],
      }),
    ]
    rack.networkFindings = [
      create(NetworkFindingSchema, {
        ...{ id: 'mtu', severity: 'warns', rule: 'wg0 mtu 1420, eitri0 mtu 1500' },
        what: 'Guests send packets of up to 1500 bytes, and the uplink wg0 takes 1420.',
        effect:
          'Connections to places that filter ICMP may hang once much is sent; a smaller MTU inside the guests helps.',
      }),
      DROP,
      create(NetworkFindingSchema, {
        ...{ id: 'forwarding-off', severity: 'blocks', mended: true, rule: 'net.ipv4.conf.eth0.forwarding = 0' },
        ...{
          what: 'The host does not forward what comes in by eth0.',
          effect: 'Guests reach nothing beyond the host.',
        },
        mend: 'Turns forwarding on for eth0; undo turns it off again.',
      }),
    ]
  }
  if (local)
    local.networks = [
      create(NetworkSchema, {
        ...{ hostId: local.id, hostName: local.name, name: 'guests', kind: 'user', state: 'ready' },
        detail:
          'The agent does not run as root, and only root can make a bridge. Guests reach out through their hypervisor: none reaches another, none has an address this host can reach, and a published port is forwarded by the hypervisor.',
        addresses: addressesOf(local.id, '').map((one) => ({ ...one, ip: '', source: '' })),
      }),
    ]
  if (edge)
    edge.networks = [
      create(NetworkSchema, {
        ...{ hostId: edge.id, hostName: edge.name, name: 'guests', kind: 'nat', bridge: 'eitri0', state: 'down' },
        detail: 'The network of the guests is not whole (dnsmasq: it does not start); it is tried again.',
      }),
    ]
  return fleet
}

import { isIP } from 'node:net'
import { create } from '@bufbuild/protobuf'
import { networkOf } from '../../../ipc/base/cidr.ts'
import type * as agent from '../../../ipc/gen/eitri/agent/v1/network_pb.js'
import {
  type Network,
  type NetworkFinding,
  NetworkFindingSchema,
  NetworkSchema,
} from '../../../ipc/gen/eitri/fleet/v1/network_pb.js'
import { heardOf, inOurTime } from '../clock/clock-view.ts'
import type { HostLive } from '../sync/registry.ts'

/** Bounds of what a host may make every window show, characters and entries. */
const WORD_CHARS = 64
const SENTENCE_CHARS = 500
const MAX_NETWORKS = 32
const MAX_ADDRESSES = 4_096
const MAX_FINDINGS = 20

const KINDS = ['nat', 'user', 'system', 'operator']
const STATES = ['ready', 'degraded', 'down']
const SOURCES = ['reservation', 'dhcp', 'leases']

const oneLine = (text: string, max: number) => text.slice(0, max).replaceAll(/\p{Cc}/gu, ' ')
const word = (text: string) => oneLine(text, WORD_CHARS)
const sentence = (text: string) => oneLine(text, SENTENCE_CHARS)
const oneOf = (text: string, words: readonly string[]) => (words.includes(text) ? text : '')
const address = (text: string) => (isIP(text) ? text : '')
const MAC = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/

export interface NetworksOf {
  id: string
  name: string
  /** Of a VM of this host; '' = it has none of this id. */
  vmName(vmId: string): string
}

/** The networks a host last told of, as far as they make sense; names are unique, and `guests` comes first. */
export function networkViews(host: NetworksOf, live: HostLive, monotonicNow: number): Network[] {
  const told = live.report?.networks ?? []
  const named = new Map(told.filter(({ name }) => name !== '').map((one) => [word(one.name), one]))
  const all = [...named].sort(([a], [b]) => Number(b === 'guests') - Number(a === 'guests')).slice(0, MAX_NETWORKS)
  let left = MAX_ADDRESSES
  return all.map(([name, network]) => {
    const shown = network.addresses.slice(0, left)
    left -= shown.length
    return create(NetworkSchema, {
      hostId: host.id,
      hostName: host.name,
      name,
      kind: oneOf(network.kind, KINDS),
      bridge: word(network.bridge),
      cidr: networkOf(network.cidr) ? network.cidr : '',
      gateway: address(network.gateway),
      state: oneOf(network.state, STATES),
      detail: sentence(network.detail),
      addresses: shown.map((one) => addressView(one, host, live, monotonicNow)),
    })
  })
}

function addressView(told: agent.NetworkAddress, host: NetworksOf, live: HostLive, monotonicNow: number) {
  const heard = heardOf(live, monotonicNow)
  const vmId = word(told.vmId)
  return {
    vmId,
    vmName: host.vmName(vmId),
    mac: MAC.test(told.mac) ? told.mac : '',
    ip: address(told.ip),
    source: address(told.ip) === '' ? '' : oneOf(told.source, SOURCES),
    ...(told.seenAt && heard ? { seenAt: inOurTime(told.seenAt, heard) } : {}),
  }
}

/** What a host found on itself; one without an id nobody could mend. */
export function findingViews(told: readonly agent.NetworkFinding[]): NetworkFinding[] {
  const named = new Map(told.filter(({ id }) => id !== '').map((one) => [word(one.id), one]))
  return [...named].slice(0, MAX_FINDINGS).map(([id, one]) =>
    create(NetworkFindingSchema, {
      id,
      severity: one.severity === 'blocks' ? 'blocks' : 'warns',
      what: sentence(one.what),
      effect: sentence(one.effect),
      rule: sentence(one.rule),
      mend: sentence(one.mend),
      mended: one.mended,
    }),
  )
}

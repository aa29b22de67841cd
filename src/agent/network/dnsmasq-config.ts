import { netmaskOf } from './guest-addresses.ts'
import type { NetworkPlace } from './network-place.ts'

/** Names of guests end in it; `.internal` is nobody's in the public DNS. */
export const GUEST_DOMAIN = 'eitri.internal'
/** Most leases kept: a guest network holds at most 65,533 guests. */
const MOST_LEASES = 65_533

/** What dnsmasq answers one guest. */
export interface Reservation {
  mac: string
  ip: string
  /** '' = it is not known, and is not answered for. */
  name: string
}

/**
 * Serves the reservations of one bridge and nothing else: the range is `static`, so that an unknown MAC gets no answer.
 * Other servers of the host keep their ports. Upstream are the host's own resolvers.
 */
export function dnsmasqConfig(bridge: string, cidr: string, place: NetworkPlace): string {
  const [network] = cidr.split('/')
  return `${[
    `interface=${bridge}`,
    'except-interface=lo',
    'bind-dynamic',
    'no-hosts',
    'domain-needed',
    `domain=${GUEST_DOMAIN}`,
    `local=/${GUEST_DOMAIN}/`,
    `dhcp-range=${network},static,${netmaskOf(cidr)},1h`,
    'dhcp-authoritative',
    `dhcp-lease-max=${MOST_LEASES}`,
    `dhcp-hostsfile=${place.hosts}`,
    `dhcp-leasefile=${place.leases}`,
    `pid-file=${place.pidfile}`,
    'quiet-dhcp',
  ].join('\n')}\n`
}

/**
 * Sorted, so that the same reservations are the same text. Names stand with their domain: alone, `ignore` would be an
 * order to dnsmasq, and `10m` or `7` the time of a lease.
 */
export const hostsText = (reservations: Iterable<Reservation>): string =>
  [...reservations]
    .map(({ mac, ip, name }) => `${[mac, ip, ...(name === '' ? [] : [`${name}.${GUEST_DOMAIN}`])].join(',')}\n`)
    .sort()
    .join('')

/** What an earlier life wrote; lines that are none of its are passed over. */
export function parseHosts(text: string): Reservation[] {
  return text.split('\n').flatMap((line) => {
    const [, mac, ip, name = ''] = /^((?:[\da-f]{2}:){5}[\da-f]{2}),([\d.]+)(?:,([^,]+))?$/.exec(line) ?? []
    return mac === undefined || ip === undefined ? [] : [{ mac, ip, name: name.replace(`.${GUEST_DOMAIN}`, '') }]
  })
}

/**
 * The leases that match a reservation. dnsmasq would keep an address from its new owner for as long as the old one's
 * lease lasts.
 */
export function keptLeases(leases: string, reservations: Iterable<Reservation>): string {
  const reserved = new Set([...reservations].map(({ mac, ip }) => `${mac} ${ip}`))
  const lines = leases.split('\n').filter((line) => line !== '')
  return lines
    .filter((line) => {
      const [, mac = '', ip = ''] = line.split(' ')
      return reserved.has(`${mac} ${ip}`)
    })
    .map((line) => `${line}\n`)
    .join('')
}

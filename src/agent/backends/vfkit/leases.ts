import { isIP } from 'node:net'

/** Most of the lease file read; a lease is about 150 bytes and macOS hands out at most some hundred. */
export const LEASE_FILE_LIMIT = 1024 * 1024

export interface Lease {
  /** Six padded lower-case octets; never empty. */
  mac: string
  ip: string
  /** Seconds since the epoch; 0 = it does not say. */
  expires: number
}

/**
 * What macOS's DHCP server (bootpd) handed out, in the order of its file. A stanza without a parsable MAC or address
 * is no lease: a guest that sends a DUID leaves one without its MAC.
 */
export function parseLeases(text: string): Lease[] {
  return text.split('}').flatMap((stanza) => {
    const open = stanza.lastIndexOf('{')
    if (open < 0) return []
    const fields = fieldsOf(stanza.slice(open + 1))
    const mac = normalizeMac(fields.get('hw_address') ?? '')
    const ip = fields.get('ip_address') ?? ''
    if (mac === '' || isIP(ip) === 0) return []
    return [{ mac, ip, expires: secondsOf(fields.get('lease') ?? '') }]
  })
}

/**
 * The address last leased to a MAC; '' = none. Of several leases the one that runs out last wins, the first of equals:
 * bootpd moves a lease it renews to the head of its file. One that ran out counts too: nobody else has this MAC.
 */
export function leasedAddress(leases: readonly Lease[], mac: string): string {
  const wanted = normalizeMac(mac)
  let newest: Lease | undefined
  for (const lease of leases)
    if (lease.mac === wanted && (newest === undefined || lease.expires > newest.expires)) newest = lease
  return newest?.ip ?? ''
}

/** Six padded octets from "1,52:54:0:a:b:c" or "52:54:00:0A:0b:0c"; '' for anything else, which matches nothing. */
export function normalizeMac(text: string): string {
  const octets = text.trim().replace(/^1,/, '').split(':')
  if (octets.length !== 6 || !octets.every((octet) => /^[0-9a-f]{1,2}$/i.test(octet))) return ''
  return octets.map((octet) => octet.toLowerCase().padStart(2, '0')).join(':')
}

function fieldsOf(stanza: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of stanza.split('\n')) {
    const [, key, value] = /^\s*([a-z_]+)=(.*?)\s*$/.exec(line) ?? []
    if (key !== undefined && value !== undefined) fields.set(key, value)
  }
  return fields
}

const secondsOf = (text: string): number => (/^0x[0-9a-f]{1,12}$/i.test(text) ? Number(text) : 0)

/** Table of what guests may not send on their own bridge; all in it is the agent's own. */
export const GUARD_TABLE = ['bridge', 'eitri_guests'] as const

export interface GuardedGuest {
  tap: string
  mac: string
  ip: string
}

/**
 * One transaction for `nft -f` that ends in the same rules whatever was there. A guest is no DHCP server and no router,
 * and takes neither card nor address of another guest or of the host; any that nobody has it may use. Behind a tag of
 * VLAN 0, which receivers take off, rules would not see the packet: nothing passes with a tag.
 */
export function guestGuardRuleset(host: { mac: string; ip: string }, guests: readonly GuardedGuest[]): string {
  const table = GUARD_TABLE.join(' ')
  const set = (name: string, type: string, elements: readonly string[]) =>
    `  set ${name} { type ${type};${elements.length === 0 ? '' : ` elements = { ${elements.join(', ')} };`} }`
  return `table ${table}
delete table ${table}
table ${table} {
${set(
  'cards',
  'ether_addr',
  [host, ...guests].map(({ mac }) => mac),
)}
${set(
  'addresses',
  'ipv4_addr',
  [host, ...guests].map(({ ip }) => ip),
)}
${set(
  'own_cards',
  'ifname . ether_addr',
  guests.map(({ tap, mac }) => `"${tap}" . ${mac}`),
)}
${set(
  'own_addresses',
  'ifname . ipv4_addr',
  guests.map(({ tap, ip }) => `"${tap}" . ${ip}`),
)}
  chain prerouting {
    type filter hook prerouting priority -200; policy accept;
    iifname "eitri-*" jump guest
  }
  chain guest {
    ether type { 8021q, 8021ad } drop
    meta protocol { 8021q, 8021ad } drop
    udp sport { 67, 547 } drop
    icmpv6 type nd-router-advert drop
    ether saddr @cards iifname . ether saddr != @own_cards drop
    arp saddr ip @addresses iifname . arp saddr ip != @own_addresses drop
    ip saddr @addresses iifname . ip saddr != @own_addresses drop
  }
}
`
}

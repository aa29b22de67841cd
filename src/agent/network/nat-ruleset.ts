/** Table of the guests' NAT; all in it is the agent's own. */
export const NAT_TABLE = ['ip', 'eitri'] as const

export interface NatPlan {
  bridge: string
  cidr: string
  gateway: string
}

/**
 * One transaction for `nft -f` that ends in the same rules whatever was there. Guests reach out as the host, keep their
 * own address among themselves, and whoever they ask for names, the bridge answers.
 */
export function natRuleset({ bridge, cidr, gateway }: NatPlan): string {
  const table = NAT_TABLE.join(' ')
  return `table ${table}
delete table ${table}
table ${table} {
  chain prerouting {
    type nat hook prerouting priority -100; policy accept;
    iifname "${bridge}" udp dport 53 ip daddr != ${gateway} dnat to ${gateway}
    iifname "${bridge}" tcp dport 53 ip daddr != ${gateway} dnat to ${gateway}
  }
  chain postrouting {
    type nat hook postrouting priority 100; policy accept;
    ip saddr ${cidr} ip daddr != ${cidr} oifname != "${bridge}" masquerade
  }
}
`
}

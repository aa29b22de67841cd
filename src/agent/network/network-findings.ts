import { overlaps, parseCidr } from '../../ipc/base/cidr.ts'
import { bridgeFilter, firewalld, forwardDrop } from './filter-findings.ts'
import { distinct, finding, type Judged, type NetworkLook, uplinkOf } from './network-look.ts'

const MAX_FINDINGS = 20
const MAX_TEXT = 500

/** Everything that keeps guests from their network, as if no mend were in force; pure. */
export function judgeNetwork(look: NetworkLook): Judged[] {
  const found = [
    ...look.missing.map(missingProgram),
    ...forwardDrop(look),
    ...firewalld(look),
    ...bridgeFilter(look),
    ...forwardingOff(look),
    ...overlapping(look),
    ...reversePath(look),
    ...largerThanUplink(look),
  ]
  return found
    .slice(0, MAX_FINDINGS)
    .map((one) => ({ ...one, what: cut(one.what), effect: cut(one.effect), rule: cut(one.rule) }))
}

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text)

const PACKAGES: Record<string, string> = { nft: 'nftables', ip: 'iproute2', dnsmasq: 'dnsmasq-base' }
const missingProgram = (program: string): Judged =>
  finding({
    id: `missing-${program}`,
    severity: 'warns',
    what: `The program ${program} is not installed.`,
    effect: `Guests have no bridge, and none reaches another, until the package ${PACKAGES[program] ?? program} is installed.`,
  })

function forwardingOff(look: NetworkLook): Judged[] {
  const uplink = uplinkOf(look)
  const off = [look.bridge, uplink].filter((device) => look.forwarding.get(device) === false)
  if (off.length === 0) return []
  return [
    finding({
      id: 'forwarding-off',
      severity: 'blocks',
      what: `The host does not forward what comes in by ${off.join(' and ')}.`,
      effect: 'Guests reach the host, and nothing beyond it.',
      rule: off.map((device) => `net.ipv4.conf.${device}.forwarding = 0`).join('; '),
      mend: `Turns forwarding on for ${off.join(' and ')}; undo turns it off again.`,
      settings: off,
    }),
  ]
}

function overlapping(look: NetworkLook): Judged[] {
  const guests = parseCidr(look.guestCidr)
  if (!guests) return []
  const others = look.routes.filter(
    ({ network, device }) => device !== look.bridge && network !== undefined && overlaps(network, guests),
  )
  const [first] = others
  if (!first) return []
  const inside = others.some(({ network }) => network!.prefix >= guests.prefix)
  return [
    finding({
      id: 'overlapping-route',
      severity: inside ? 'blocks' : 'warns',
      what: `The host has another way to addresses of the guests' network ${look.guestCidr}, by ${first.device}.`,
      effect: inside
        ? `What is meant for guests goes by ${first.device}: take that route away, or move the guests with bridge_cidr in the agent's identity.json.`
        : `The host and its guests do not reach the part of ${first.device}'s network that guests have: harmless unless something is there.`,
      rule: others.map(({ text }) => text).join('; '),
    }),
  ]
}

function reversePath(look: NetworkLook): Judged[] {
  const ways = distinct(
    look.routes
      .filter(({ network, device }) => network === undefined && device !== look.bridge)
      .map(({ device }) => device),
  )
  const strict = ways.filter((device) => look.strictReversePath.has(device))
  if (ways.length < 2 || strict.length === 0) return []
  return [
    finding({
      id: 'strict-reverse-path',
      severity: 'warns',
      what: `The host has ${ways.length} default routes (${ways.join(', ')}) and strict reverse path filtering on ${strict.join(', ')}.`,
      effect: 'Answers to guests that come back another way than they went are dropped; value 2 (loose) lets them in.',
      rule: strict.map((device) => `net.ipv4.conf.${device}.rp_filter = 1`).join('; '),
    }),
  ]
}

function largerThanUplink(look: NetworkLook): Judged[] {
  const uplink = uplinkOf(look)
  const [ours, theirs] = [look.mtu.get(look.bridge), look.mtu.get(uplink)]
  if (ours === undefined || theirs === undefined || ours <= theirs) return []
  return [
    finding({
      id: 'mtu',
      severity: 'warns',
      what: `Guests send packets of up to ${ours} bytes, and the uplink ${uplink} takes ${theirs}.`,
      effect:
        'Connections to places that filter ICMP may hang once much is sent; a smaller MTU inside the guests helps.',
      rule: `${uplink} mtu ${theirs}, ${look.bridge} mtu ${ours}`,
    }),
  ]
}

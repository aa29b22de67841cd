import { parseCidr } from '../../ipc/base/cidr.ts'
import { type Drop, dropsOf, type Packet } from './forward-verdict.ts'
import { distinct, finding, type Judged, type MendRule, type NetworkLook, uplinkOf } from './network-look.ts'
import type { Chain, Ruleset } from './nft-ruleset.ts'

/** Comments of all rules a mend adds begin with this. */
export const MEND_COMMENT = 'eitri-agent mend'
/** Where container engines leave room for rules of others. */
const USER_CHAIN = 'DOCKER-USER'

/** What still drops guests' packets although the rules of a mend are there. */
export const stillDropped = (look: NetworkLook, id: string): boolean =>
  'ruleset' in look.filters &&
  (id === 'forward-drop' ? forwardDrops(look, look.filters.ruleset) : bridgeDrops(look, look.filters.ruleset)).length >
    0

const chainText = ({ family, table, name }: Chain): string =>
  family === 'iptables' ? `chain ${name} of the older iptables` : `chain ${name} of table ${family} ${table}`

const ruleText = ({ chain, rule }: Drop): string => {
  if (rule) return rule.text || `a rule of ${chain.name}`
  return chain.family === 'iptables' ? chain.text : `chain ${chain.name} { ${chain.text || 'policy drop;'} }`
}

function packets(look: NetworkLook): { way: MendRule['way']; packet: Packet }[] {
  const { bridge, guestCidr } = look
  const guests = parseCidr(guestCidr)
  const uplink = uplinkOf(look)
  return [
    { way: 'from', packet: { iif: bridge, oif: uplink, source: guests, state: 'new' } },
    { way: 'to', packet: { iif: uplink, oif: bridge, destination: guests, state: 'established' } },
  ]
}

type WayDrop = Drop & Pick<MendRule, 'way' | 'bridge'>

const isFirewalld = ({ base }: Drop): boolean => base.table === 'firewalld'

function forwardDrops(look: NetworkLook, ruleset: Ruleset): WayDrop[] {
  return packets(look)
    .flatMap(({ way, packet }) => dropsOf(ruleset, packet).map((drop) => ({ ...drop, way, bridge: look.bridge })))
    .filter((drop) => !isFirewalld(drop))
}

/** Without what mends added. */
export const withoutMends = ({ chains }: Ruleset): Ruleset => ({
  chains: chains.map((chain) => ({
    ...chain,
    rules: chain.rules.filter(({ comment }) => !comment.startsWith(MEND_COMMENT)),
  })),
})

/** The host's filters drop what guests send, or its answers; or cannot be read. */
export function forwardDrop(look: NetworkLook): Judged[] {
  if ('problem' in look.filters) {
    const { problem, command } = look.filters
    return [
      finding({
        id: 'filters-unreadable',
        severity: 'warns',
        what: `The host's packet filters could not be read: ${problem}.`,
        effect: `Whether they let guests out is not known; see what "${command}" says on the host.`,
      }),
    ]
  }
  const ruleset = withoutMends(look.filters.ruleset)
  const drops = forwardDrops(look, ruleset)
  const [first] = drops
  if (!first) return []
  const rules = mendRules(ruleset, drops)
  const places = distinct(drops.map(({ chain }) => chainText(chain)))
  const how = first.rule ? 'has a rule that drops' : 'drops, unless told otherwise,'
  return [
    finding({
      id: 'forward-drop',
      severity: drops.every(({ unsure }) => unsure) ? 'warns' : 'blocks',
      what: `${capital(places.join(', '))} ${how} what the host forwards for guests.`,
      effect: drops.some(({ way }) => way === 'from')
        ? 'Guests reach the host, and nothing beyond it.'
        : 'Nothing that guests ask for outside comes back to them.',
      rule: distinct(drops.map(ruleText)).join('; '),
      mend: rules.length === 0 ? '' : `Lets guests through by ${said(rules)}; undo removes just that.`,
      rules,
    }),
  ]
}

/** What nft takes as a name without quotes; others are left to a person. */
const PLAIN = /^[A-Za-z_][\w.-]*$/

/** Where the host's own engine has a chain for others, there; else at the head of the chain that drops. */
function mendRules(ruleset: Ruleset, drops: readonly WayDrop[]): MendRule[] {
  const rules = drops.map(({ base, way, bridge }) => {
    const { family, table } = base
    const jumps = base.rules.some(({ expr }) => expr.some((one) => isJumpTo(one, USER_CHAIN)))
    const there = ruleset.chains.some((one) => one.family === family && one.table === table && one.name === USER_CHAIN)
    return { family, table, chain: jumps && there ? USER_CHAIN : base.name, bridge, way }
  })
  if (!rules.every(({ table, chain, bridge }) => [table, chain, bridge].every((name) => PLAIN.test(name)))) return []
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()]
}

const isJumpTo = (one: unknown, name: string): boolean =>
  (one as { jump?: { target?: unknown } } | null)?.jump?.target === name

const WAYS = { from: 'in from', to: 'out to', within: 'between ports of' }
const said = (rules: readonly MendRule[]): string =>
  distinct(rules.map(({ chain }) => chain))
    .map((name) => {
      const ways = rules.filter(({ chain }) => chain === name).map(({ way, bridge }) => `${WAYS[way]} ${bridge}`)
      return `accepting at the head of ${name} what comes ${ways.join(' or goes ')}`
    })
    .join(', ')

/** firewalld rejects what belongs to none of its zones. */
export function firewalld({ bridge, filters }: NetworkLook): Judged[] {
  if ('problem' in filters) return []
  const own = filters.ruleset.chains.filter(({ table }) => table === 'firewalld')
  if (own.length === 0) return []
  const rules = own.flatMap((chain) => chain.rules)
  if (rules.some(({ expr }) => JSON.stringify(expr).includes(`"${bridge}"`))) return []
  const last = own.find(({ name }) => name === 'filter_FORWARD')?.rules.at(-1)
  const command = `firewall-cmd --zone=trusted --add-interface=${bridge}`
  return [
    finding({
      id: 'firewalld-zone',
      severity: 'blocks',
      what: `firewalld runs and ${bridge} is in none of its zones.`,
      effect: `Guests get no address and reach nothing beyond the host until "${command}" is run on it, once more with --permanent.`,
      rule: last?.text ?? '',
    }),
  ]
}

function bridgeDrops({ operatorBridges, bridge, bridgeNfCall }: NetworkLook, ruleset: Ruleset): WayDrop[] {
  if (!bridgeNfCall) return []
  return operatorBridges
    .filter((name) => name !== bridge)
    .flatMap((name) =>
      dropsOf(ruleset, { iif: name, oif: name, state: 'new' }).map((drop) => ({
        ...drop,
        way: 'within' as const,
        bridge: name,
      })),
    )
}

/** Frames between ports of a bridge are dropped as if they were forwarded. */
export function bridgeFilter(look: NetworkLook): Judged[] {
  if (!look.bridgeNfCall || 'problem' in look.filters) return []
  const ruleset = withoutMends(look.filters.ruleset)
  const rule = 'net.bridge.bridge-nf-call-iptables = 1'
  const drops = bridgeDrops(look, ruleset)
  const within = dropsOf(ruleset, { iif: look.bridge, oif: look.bridge, state: 'new' })
  if (drops.length > 0) {
    const rules = mendRules(ruleset, drops)
    const bridges = distinct(drops.map(({ bridge }) => bridge)).join(', ')
    return [
      finding({
        id: 'bridge-nf-call',
        severity: 'blocks',
        what: `What passes the bridge ${bridges} goes through the host's IP filter, and ${chainText(drops[0]!.chain)} drops it.`,
        effect: `VMs on ${bridges} reach nothing on that network.`,
        rule: `${rule}; ${ruleText(drops[0]!)}`,
        mend: rules.length === 0 ? '' : `Lets it pass by ${said(rules)}; undo removes just that.`,
        rules,
      }),
    ]
  }
  if (within.length === 0) return []
  return [
    finding({
      id: 'bridge-nf-call',
      severity: 'warns',
      what: `What guests send each other goes through the host's IP filter, and ${chainText(within[0]!.chain)} drops it.`,
      effect: 'Guests of this host do not reach each other. The mend of forward-drop lets that through too.',
      rule: `${rule}; ${ruleText(within[0]!)}`,
    }),
  ]
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

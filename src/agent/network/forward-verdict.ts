import { type Cidr, networkOf, overlaps, parseCidr } from '../../ipc/base/cidr.ts'
import type { Chain, Rule, Ruleset } from './nft-ruleset.ts'

/** A forwarded packet as filters see it; what is absent nobody knows. */
export interface Packet {
  iif: string
  oif: string
  source?: Cidr | undefined
  destination?: Cidr | undefined
  state: 'new' | 'established'
}

/** What ends a packet in one base chain. */
export interface Drop {
  base: Chain
  chain: Chain
  /** Undefined = the chain's policy. */
  rule: Rule | undefined
  /** An earlier rule may accept it, under a condition nobody can weigh from outside. */
  unsure: boolean
}

/** The base chains at `forward` that drop the packet. Each must let it pass: an accept in one says nothing for another. */
export function dropsOf(ruleset: Ruleset, packet: Packet): Drop[] {
  return ruleset.chains.flatMap((base): Drop[] => {
    if (base.hook !== 'forward' || !FAMILIES.has(base.family)) return []
    const walk = new Walk(ruleset, packet, base)
    const end = walk.through(base)
    if (end?.kind === 'drop') return [{ base, chain: end.chain, rule: end.rule, unsure: walk.unsure }]
    if (end?.kind === 'accept' || !base.drops) return []
    return [{ base, chain: base, rule: undefined, unsure: walk.unsure }]
  })
}

/** Families an IPv4 packet passes on its way between interfaces. */
const FAMILIES = new Set(['ip', 'inet', 'iptables'])

type End = { kind: 'accept' } | { kind: 'drop'; chain: Chain; rule: Rule }

class Walk {
  readonly #chains: ReadonlyMap<string, Chain>
  readonly #packet: Packet
  readonly #said = new Map<Chain, End | undefined>()
  unsure = false

  constructor({ chains }: Ruleset, packet: Packet, { family, table }: Chain) {
    this.#packet = packet
    this.#chains = new Map(
      chains.filter((chain) => chain.family === family && chain.table === table).map((chain) => [chain.name, chain]),
    )
  }

  /** Undefined = it comes out at the end. A chain says the same however the packet came to it, and is gone through once. */
  through(chain: Chain): End | undefined {
    if (!this.#said.has(chain)) {
      // nft has no circles; in what only looks like one nothing is decided.
      this.#said.set(chain, undefined)
      this.#said.set(chain, this.#rules(chain))
    }
    return this.#said.get(chain)
  }

  #rules(chain: Chain): End | undefined {
    for (const rule of chain.rules) {
      const said = this.#verdict(rule)
      if (said === undefined) continue
      const { word, target, sure } = said
      const next = this.#chains.get(target)
      if (!sure) {
        if (word === 'accept' || next) this.unsure = true
        continue
      }
      if (word === 'accept') return { kind: 'accept' }
      if (word === 'drop' || word === 'reject') return { kind: 'drop', chain, rule }
      if (word === 'return') return undefined
      const end = next && this.through(next)
      if (end || word === 'goto') return end
    }
    return undefined
  }

  /** What a rule does to this packet; undefined = nothing. */
  #verdict({ expr }: Rule): { word: string; target: string; sure: boolean } | undefined {
    let sure = true
    for (const one of expr) {
      if (!isObject(one)) continue
      const verdict = verdictOf(one)
      if (verdict) return { ...verdict, sure }
      if ('vmap' in one) {
        const mapped = this.#mapped(one['vmap'])
        if (mapped) return { ...mapped, sure: sure && mapped.sure }
        continue
      }
      const holds =
        'match' in one ? matches(one['match'], this.#packet) : 'xt' in one ? xt(one['xt'], this.#packet) : true
      if (holds === false) return undefined
      if (holds === undefined) sure = false
    }
    return undefined
  }

  #mapped(vmap: unknown): { word: string; target: string; sure: boolean } | undefined {
    if (!isObject(vmap) || !isObject(vmap['data']) || !Array.isArray(vmap['data']['set'])) return undefined
    for (const pair of vmap['data']['set'] as unknown[]) {
      if (!Array.isArray(pair) || !isObject(pair[1])) continue
      const verdict = verdictOf(pair[1])
      const holds = matches({ op: '==', left: vmap['key'], right: pair[0] }, this.#packet)
      if (verdict && holds === true) return { ...verdict, sure: true }
      if (verdict && holds === undefined && verdict.word === 'accept') this.unsure = true
    }
    return undefined
  }
}

const WORDS = ['accept', 'drop', 'reject', 'return', 'jump', 'goto'] as const

function verdictOf(one: Record<string, unknown>): { word: string; target: string } | undefined {
  const word = WORDS.find((known) => known in one)
  if (word === undefined) return undefined
  const detail = one[word]
  return { word, target: isObject(detail) && typeof detail['target'] === 'string' ? detail['target'] : '' }
}

/** iptables accepts by connection state only what is established already, on every host seen so far. */
const xt = (match: unknown, { state }: Packet): boolean | undefined =>
  isObject(match) && (match['name'] === 'conntrack' || match['name'] === 'state')
    ? state === 'established'
      ? undefined
      : false
    : isObject(match) && match['name'] === 'comment'
      ? true
      : undefined

/** Whether a condition holds for the packet; undefined = nobody can tell. */
function matches(match: unknown, packet: Packet): boolean | undefined {
  if (!isObject(match)) return undefined
  const held = oneOf(match['right'], (value) => equals(match['left'], value, packet))
  return match['op'] === '!=' ? (held === undefined ? undefined : !held) : held
}

function oneOf(right: unknown, holds: (value: unknown) => boolean | undefined): boolean | undefined {
  const values = isObject(right) && Array.isArray(right['set']) ? (right['set'] as unknown[]) : right
  if (!Array.isArray(values)) return holds(values)
  const all = values.map(holds)
  return all.includes(true) ? true : all.includes(undefined) ? undefined : false
}

function equals(left: unknown, value: unknown, packet: Packet): boolean | undefined {
  if (!isObject(left)) return undefined
  const { meta, ct, payload } = left
  if (isObject(meta) && typeof value === 'string') {
    if (meta['key'] === 'iifname' || meta['key'] === 'iif') return isNamed(packet.iif, value)
    if (meta['key'] === 'oifname' || meta['key'] === 'oif') return isNamed(packet.oif, value)
  }
  if (isObject(ct) && ct['key'] === 'state' && typeof value === 'string') return value === packet.state
  if (isObject(payload) && payload['protocol'] === 'ip') {
    if (payload['field'] === 'saddr') return within(packet.source, value)
    if (payload['field'] === 'daddr') return within(packet.destination, value)
  }
  return undefined
}

const isNamed = (name: string, pattern: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern

function within(network: Cidr | undefined, value: unknown): boolean | undefined {
  const range =
    typeof value === 'string'
      ? networkOf(`${value}/32`)
      : isObject(value) && isObject(value['prefix'])
        ? parseCidr(`${String(value['prefix']['addr'])}/${String(value['prefix']['len'])}`)
        : undefined
  if (!network || !range) return undefined
  if (!overlaps(network, range)) return false
  return range.prefix <= network.prefix ? true : undefined
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

import { z } from 'zod'

/** What of a host's filters decides about a packet: nftables, or the older iptables in the same shape. */
export interface Ruleset {
  chains: Chain[]
}

export interface Chain {
  /** Of nft; `iptables` = the older iptables, which nft does not show. */
  family: string
  table: string
  name: string
  /** Empty = only other chains lead here. */
  hook: string
  drops: boolean
  /** As its own tool prints its hook and policy. */
  text: string
  rules: Rule[]
}

export interface Rule {
  /** Undefined = it has none. */
  handle: number | undefined
  comment: string
  /** Statements in nft's JSON. */
  expr: readonly unknown[]
  /** As its own tool prints it. */
  text: string
}

const Listing = z.object({ nftables: z.array(z.unknown()) })
const ChainEntry = z.object({
  chain: z.object({
    family: z.string(),
    table: z.string(),
    name: z.string(),
    hook: z.string().default(''),
    policy: z.string().default('accept'),
  }),
})
const RuleEntry = z.object({
  rule: z.object({
    family: z.string(),
    table: z.string(),
    chain: z.string(),
    handle: z.number().optional(),
    comment: z.string().default(''),
    expr: z.array(z.unknown()).default([]),
  }),
})

/** Of `nft -j list ruleset`, with the words of `nft -a list ruleset`. Throws for text that is no such listing. */
export function parseNft(json: string, listing: string): Ruleset {
  const chains = new Map<string, Chain>()
  const words = wordsOf(listing)
  for (const entry of Listing.parse(JSON.parse(json)).nftables) {
    const chain = ChainEntry.safeParse(entry)
    if (chain.success) {
      const { family, table, name, hook, policy } = chain.data.chain
      const key = `${family} ${table} ${name}`
      const text = words.get(key) ?? ''
      chains.set(key, { family, table, name, hook, drops: policy === 'drop', text, rules: [] })
      continue
    }
    const rule = RuleEntry.safeParse(entry)
    if (!rule.success) continue
    const { family, table, chain: name, handle, comment, expr } = rule.data.rule
    const key = `${family} ${table} ${name}`
    chains.get(key)?.rules.push({ handle, comment, expr, text: words.get(`${key} ${handle}`) ?? '' })
  }
  return { chains: [...chains.values()] }
}

/** The line of each chain's policy by `family table chain`, and of each rule by that and its handle. */
function wordsOf(listing: string): Map<string, string> {
  const words = new Map<string, string>()
  let table = ''
  let chain = ''
  let pending = ''
  for (const line of listing.split('\n').map((text) => text.trim())) {
    const [, openedTable] = /^table (\S+ \S+) \{/.exec(line) ?? []
    const [, openedChain] = /^chain (\S+) \{/.exec(line) ?? []
    if (openedTable !== undefined) table = openedTable
    else if (openedChain !== undefined) chain = `${table} ${openedChain}`
    else if (line === '}') chain = ''
    else if (chain !== '' && line.startsWith('type ')) words.set(chain, line)
    else if (chain !== '') {
      const [, text, handle] = /^(.*?) ?# handle (\d+)$/.exec(line) ?? []
      pending = `${pending} ${text ?? line}`.trim()
      if (handle === undefined) continue
      words.set(`${chain} ${handle}`, pending)
    }
    pending = ''
  }
  return words
}

/** Of `iptables-legacy -S`: its filter table. What it cannot say in nft's terms is a condition nobody can weigh. */
export function parseIptables(listing: string): Ruleset {
  const chains = new Map<string, Chain>()
  const chainOf = (name: string, policy = '', text = '') => {
    const known = chains.get(name)
    if (known) return known
    const hook = { FORWARD: 'forward', INPUT: 'input', OUTPUT: 'output' }[name] ?? ''
    const made = { family: 'iptables', table: 'filter', name, hook, drops: policy === 'DROP', text, rules: [] }
    chains.set(name, made)
    return made as Chain
  }
  for (const line of listing.split('\n').map((text) => text.trim())) {
    const [, policyOf, policy] = /^-P (\S+) (\S+)/.exec(line) ?? []
    const [, made] = /^-N (\S+)/.exec(line) ?? []
    const [, name, rest] = /^-A (\S+)\s?(.*)$/.exec(line) ?? []
    if (policyOf !== undefined) chainOf(policyOf, policy, line)
    else if (made !== undefined) chainOf(made)
    else if (name !== undefined) chainOf(name).rules.push(iptablesRule(rest ?? '', line))
  }
  return { chains: [...chains.values()] }
}

const VERDICTS: Record<string, object> = {
  ACCEPT: { accept: null },
  DROP: { drop: null },
  REJECT: { reject: null },
  RETURN: { return: null },
}

function iptablesRule(options: string, text: string): Rule {
  const expr: unknown[] = []
  let comment = ''
  let not = false
  const words = [...options.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
  const interfaceIs = (key: string, name: string) => ({
    match: { op: not ? '!=' : '==', left: { meta: { key } }, right: name.replace(/\+$/, '*') },
  })
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    const value = words[i + 1] ?? ''
    if (word === '!') {
      not = true
      continue
    }
    if (word === '-i') expr.push(interfaceIs('iifname', value))
    else if (word === '-o') expr.push(interfaceIs('oifname', value))
    else if (word === '-s' || word === '-d') expr.push(networkIs(word === '-s' ? 'saddr' : 'daddr', value, not))
    else if (word === '--comment') comment = value
    else if (word === '-j') expr.push(VERDICTS[value] ?? { jump: { target: value } })
    else if (word === '-g') expr.push({ goto: { target: value } })
    else if (word === '-m') expr.push({ xt: { type: 'match', name: value } })
    // What follows with two hyphens says more of a match or a verdict that is there already.
    else if (!word.startsWith('--')) expr.push({ xt: { type: 'match', name: word } })
    if (word.startsWith('-')) i++
    not = false
  }
  return { handle: undefined, comment, expr: verdictLast(expr), text }
}

function networkIs(field: string, value: string, not: boolean) {
  const [addr, len = '32'] = value.split('/')
  const left = { payload: { protocol: 'ip', field } }
  return { match: { op: not ? '!=' : '==', left, right: { prefix: { addr, len: Number(len) } } } }
}

/** Options come in any order; what decides stands behind all conditions. */
const verdictLast = (expr: readonly unknown[]): unknown[] => {
  const isMatch = (one: unknown) => typeof one === 'object' && one !== null && ('match' in one || 'xt' in one)
  return [...expr.filter(isMatch), ...expr.filter((one) => !isMatch(one))]
}

import { describe, expect, it } from 'vitest'
import { judgeNetwork } from '../../../../src/agent/network/network-findings.ts'
import type { NetworkLook } from '../../../../src/agent/network/network-look.ts'
import { iptablesArgvs, nftCommands } from '../../../../src/agent/network/network-mend.ts'
import { type Chain, parseIptables, parseNft, type Ruleset } from '../../../../src/agent/network/nft-ruleset.ts'
import { parseRoutes } from '../../../../src/agent/network/preflight.ts'

const accept = { accept: null }
const drop = { drop: null }
const is = (key: string, right: unknown, op = '==') => ({ match: { op, left: { meta: { key } }, right } })
const jump = (target: string) => ({ jump: { target } })
const state = (...right: string[]) => ({ match: { op: 'in', left: { ct: { key: 'state' } }, right } })
const from = (addr: string, len: number) => ({
  match: { op: '==', left: { payload: { protocol: 'ip', field: 'saddr' } }, right: { prefix: { addr, len } } },
})

function chain(name: string, exprs: unknown[][], change: Partial<Chain> = {}): Chain {
  const rules = exprs.map((expr, i) => ({ handle: i + 1, comment: '', expr, text: `rule ${i + 1}` }))
  return { family: 'ip', table: 'filter', name, hook: '', drops: false, text: '', rules, ...change }
}
const forward = (exprs: unknown[][], change: Partial<Chain> = {}) =>
  chain('FORWARD', exprs, { hook: 'forward', drops: true, text: 'policy', ...change })

const look = (ruleset: Chain[] | Ruleset, change: Partial<NetworkLook> = {}): NetworkLook => ({
  bridge: 'eitri0',
  guestCidr: '10.77.1.0/24',
  operatorBridges: [],
  missing: [],
  filters: { ruleset: Array.isArray(ruleset) ? { chains: ruleset } : ruleset },
  routes: parseRoutes('default via 192.168.1.1 dev eth0\n192.168.1.0/24 dev eth0 proto kernel'),
  forwarding: new Map([
    ['eitri0', true],
    ['eth0', true],
  ]),
  strictReversePath: new Set(),
  mtu: new Map([
    ['eitri0', 1500],
    ['eth0', 1500],
  ]),
  bridgeNfCall: false,
  ...change,
})
const ids = (...args: Parameters<typeof look>) => judgeNetwork(look(...args)).map(({ id }) => id)
const only = (...args: Parameters<typeof look>) => judgeNetwork(look(...args))[0]!

describe('what keeps guests from their network', () => {
  it('is nothing on a host with no filters, and none where every filter lets guests through', () => {
    expect(ids([])).toEqual([])
    expect(ids([forward([[accept]])])).toEqual([])
    expect(
      ids([
        forward([
          [is('iifname', 'eitri*'), accept],
          [is('oifname', 'eitri0'), accept],
        ]),
      ]),
    ).toEqual([])
    expect(ids([forward([[is('iifname', { set: ['docker0', 'wlan0'] }), drop]], { drops: false })])).toEqual([])
  })

  it('is a policy that drops, told with the chain, and mended in both directions', () => {
    const found = only([forward([])])
    expect(found).toMatchObject({
      id: 'forward-drop',
      severity: 'blocks',
      what: expect.stringContaining('Chain FORWARD of table ip filter'),
      rules: [
        { chain: 'FORWARD', way: 'from', bridge: 'eitri0' },
        { chain: 'FORWARD', way: 'to', bridge: 'eitri0' },
      ],
    })
  })

  it('is mended in one direction only where answers come back already', () => {
    expect(only([forward([[state('established', 'related'), accept]])]).rules).toMatchObject([{ way: 'from' }])
  })

  it('is a rule that drops, which is told word for word, though another chain accepts', () => {
    const engine = forward([[accept]], { table: 'other', drops: false })
    const found = only([engine, forward([[is('iifname', 'docker0'), accept], [{ reject: null }]], { drops: false })])
    expect(found).toMatchObject({ id: 'forward-drop', rule: 'rule 2' })
  })

  it('is looked for in each chain once, however many jumps lead there', () => {
    let reads = 0
    const counted = (name: string, expr: unknown[]): Chain => {
      const rule = {
        ...{ handle: 1, comment: '', text: 'rule 1' },
        get expr() {
          reads++
          return expr
        },
      }
      return { ...chain(name, []), rules: [rule, rule, rule, rule] }
    }
    const levels = Array.from({ length: 8 }, (_, i) => counted(`L${i}`, [jump(`L${i + 1}`)]))
    expect(ids([forward([[jump('L0')]]), ...levels])).toEqual(['forward-drop'])
    expect(reads).toBeLessThan(500)
  })

  it('is found behind jumps, and a return leads back', () => {
    const chains = [chain('A', [[{ return: null }], [drop]]), chain('B', [[jump('A')], [from('10.0.0.0', 8), drop]])]
    const found = only([forward([[jump('B')], [accept]]), ...chains])
    expect(found).toMatchObject({ what: expect.stringContaining('Chain B of table ip filter') })
    expect(ids([forward([[jump('A')], [accept]]), chains[0]!])).toEqual([])
  })

  it('is weighed by a verdict map', () => {
    const map = (...pairs: unknown[]) => ({ vmap: { key: { meta: { key: 'iifname' } }, data: { set: pairs } } })
    expect(ids([forward([[map(['eitri0', accept], ['eth0', accept])]])])).toEqual([])
    expect(ids([forward([[map(['eitri0', drop])]], { drops: false })])).toEqual(['forward-drop'])
  })

  it('only warns where a rule nobody can weigh may let guests through, and drops nothing by such a rule', () => {
    const mark = { match: { op: '==', left: { meta: { key: 'mark' } }, right: 1 } }
    expect(only([forward([[mark, accept]])])).toMatchObject({ id: 'forward-drop', severity: 'warns' })
    expect(ids([forward([[mark, drop], [accept]])])).toEqual([])
  })

  it('ends with chains that call each other', () => {
    expect(ids([forward([[jump('A')]]), chain('A', [[jump('A')]])])).toEqual(['forward-drop'])
  })

  it('is mended where an engine leaves room for it, and else at the head of the chain', () => {
    const engine = [forward([[jump('DOCKER-USER')]]), chain('DOCKER-USER', [[{ return: null }]])]
    expect(only(engine).rules.map((rule) => rule.chain)).toEqual(['DOCKER-USER', 'DOCKER-USER'])
    expect(only([forward([]), engine[1]!]).rules.map((rule) => rule.chain)).toEqual(['FORWARD', 'FORWARD'])
  })

  it('offers no mend where a name could be read as more than a name', () => {
    expect(only([forward([], { table: 'a; flush ruleset' })])).toMatchObject({
      id: 'forward-drop',
      mend: '',
      rules: [],
    })
  })

  it('is a firewalld that does not know the bridge; one that does is none', () => {
    const table = { family: 'inet', table: 'firewalld', drops: false }
    const rejects = forward([[is('iifname', 'lo'), accept], [{ reject: null }]], { ...table, name: 'filter_FORWARD' })
    expect(only([rejects])).toMatchObject({
      id: 'firewalld-zone',
      severity: 'blocks',
      rule: 'rule 2',
      mend: '',
      effect: expect.stringContaining('firewall-cmd --zone=trusted --add-interface=eitri0'),
    })
    expect(ids([rejects, chain('filter_FORWARD_ZONES', [[is('iifname', 'eitri0'), accept]], table)])).toEqual([])
  })

  it('is a filter between the ports of a bridge: of guests a warning, of an operator network a block with a mend', () => {
    const chains = [
      forward([
        [is('iifname', 'eitri0'), is('oifname', 'eth0'), accept],
        [is('oifname', 'eitri0'), is('iifname', 'eth0'), accept],
      ]),
    ]
    expect(ids(chains)).toEqual([])
    expect(only(chains, { bridgeNfCall: true })).toMatchObject({ id: 'bridge-nf-call', severity: 'warns', mend: '' })
    expect(only(chains, { bridgeNfCall: true, operatorBridges: ['br0'] })).toMatchObject({
      id: 'bridge-nf-call',
      severity: 'blocks',
      rule: expect.stringContaining('net.bridge.bridge-nf-call-iptables = 1'),
      rules: [{ bridge: 'br0', way: 'within' }],
    })
  })

  it('is forwarding turned off on either side', () => {
    const off = (device: string) =>
      new Map([
        ['eitri0', true],
        ['eth0', true],
        [device, false],
      ] as const)
    expect(only([], { forwarding: off('eth0') })).toMatchObject({
      id: 'forwarding-off',
      rule: 'net.ipv4.conf.eth0.forwarding = 0',
      settings: ['eth0'],
    })
    expect(ids([], { forwarding: off('wlan0') })).toEqual([])
  })

  it('is another way to addresses of guests: a narrower one blocks, a wider one warns, its own bridge is none', () => {
    const routes = (line: string) => ({ routes: parseRoutes(`default via 192.168.1.1 dev eth0\n${line}`) })
    expect(only([], routes('10.77.1.128/25 dev wg0 scope link'))).toMatchObject({
      id: 'overlapping-route',
      severity: 'blocks',
      rule: '10.77.1.128/25 dev wg0 scope link',
    })
    expect(only([], routes('10.0.0.0/8 via 172.16.0.1 dev tun0 table 51820'))).toMatchObject({ severity: 'warns' })
    expect(ids([], routes('10.77.1.0/24 dev eitri0 proto kernel'))).toEqual([])
    expect(ids([], routes('local 10.77.1.1 dev eitri0 table local'))).toEqual([])
  })

  it('is a strict reverse path filter only where there are several ways out', () => {
    const two = parseRoutes('default via 192.168.1.1 dev eth0\ndefault via 10.0.0.1 dev wwan0 metric 700')
    const strictReversePath = new Set(['eth0'])
    expect(ids([], { strictReversePath })).toEqual([])
    expect(ids([], { strictReversePath, routes: two })).toEqual(['strict-reverse-path'])
  })

  it('is an uplink that takes smaller packets than guests send', () => {
    const mtu = new Map([
      ['eitri0', 1500],
      ['eth0', 1420],
    ] as const)
    expect(only([], { mtu })).toMatchObject({ id: 'mtu', severity: 'warns', rule: 'eth0 mtu 1420, eitri0 mtu 1500' })
  })

  it('is a program that is missing, and a listing that cannot be read; never a crash', () => {
    expect(ids([], { missing: ['nft', 'dnsmasq'] })).toEqual(['missing-nft', 'missing-dnsmasq'])
    const filters = { problem: 'Operation not permitted', command: 'nft list ruleset' }
    expect(only([], { filters })).toMatchObject({ id: 'filters-unreadable', severity: 'warns' })
  })

  it('is told in bounded words', () => {
    const long = forward([[drop]])
    long.rules[0]!.text = 'x'.repeat(10_000)
    const many = Array.from({ length: 40 }, (_, i) => `p${i}`)
    expect(only([long]).rule.length).toBeLessThanOrEqual(500)
    expect(judgeNetwork(look([], { missing: many }))).toHaveLength(20)
  })
})

describe('a mend', () => {
  it('replaces its own rules in one transaction, and touches nobody else’s', () => {
    const chains = [forward([[drop], [accept]])]
    chains[0]!.rules[0]!.comment = 'eitri-agent mend forward-drop'
    expect(nftCommands({ chains }, 'forward-drop', []).split('; ')).toEqual(['delete rule ip filter FORWARD handle 1'])
    expect(nftCommands({ chains: [forward([])] }, 'forward-drop', only([forward([])]).rules).split('; ')).toEqual([
      'insert rule ip filter FORWARD iifname "eitri0" counter accept comment "eitri-agent mend forward-drop"',
      'insert rule ip filter FORWARD oifname "eitri0" counter accept comment "eitri-agent mend forward-drop"',
    ])
    expect(nftCommands({ chains }, 'bridge-nf-call', [])).toBe('')
  })
})

describe('the older iptables', () => {
  const LISTING = `-P INPUT ACCEPT
-P FORWARD DROP
-N DOCKER-USER
-A FORWARD -j DOCKER-USER
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -i docker0 ! -o docker0 -j ACCEPT
-A FORWARD -s 10.77.1.0/24 -p tcp -m tcp --dport 25 -j REJECT --reject-with icmp-port-unreachable
-A DOCKER-USER -j RETURN`

  it('is judged as nftables is, and mended by its own program', () => {
    const found = only(parseIptables(LISTING))
    expect(found).toMatchObject({
      id: 'forward-drop',
      severity: 'blocks',
      what: expect.stringContaining('Chain FORWARD of the older iptables'),
      rule: '-P FORWARD DROP',
      rules: [
        { family: 'iptables', chain: 'DOCKER-USER', way: 'from' },
        { family: 'iptables', chain: 'DOCKER-USER', way: 'to' },
      ],
    })
    expect(iptablesArgvs(parseIptables(LISTING), 'forward-drop', found.rules)[0]!.join(' ')).toBe(
      '-I DOCKER-USER -i eitri0 -m comment --comment eitri-agent mend forward-drop -j ACCEPT',
    )
  })

  it('has its mend taken back by the words it shows it with', () => {
    const mended = `${LISTING}
-A DOCKER-USER -i eitri0 -m comment --comment "eitri-agent mend forward-drop" -j ACCEPT`
    expect(iptablesArgvs(parseIptables(mended), 'forward-drop', [])).toEqual([
      [
        '-D',
        'DOCKER-USER',
        '-i',
        'eitri0',
        '-m',
        'comment',
        '--comment',
        'eitri-agent mend forward-drop',
        '-j',
        'ACCEPT',
      ],
    ])
  })
})

describe('a listing of nftables', () => {
  it('is read with the words of each rule, sets over several lines too', () => {
    const json = JSON.stringify({
      nftables: [
        { metainfo: {} },
        { chain: { family: 'ip', table: 'f', name: 'c', hook: 'forward', policy: 'drop' } },
        { rule: { family: 'ip', table: 'f', chain: 'c', handle: 4, comment: 'x', expr: [drop] } },
        { rule: { family: 'ip', table: 'f', chain: 'gone', handle: 5, expr: [] } },
        { unknown: 1 },
        7,
      ],
    })
    const text = `table ip f { # handle 1
	chain c { # handle 3
		type filter hook forward priority filter; policy drop;
		iifname { "a",
			 "b" } drop # handle 4
	}
}`
    expect(parseNft(json, text).chains).toEqual([
      {
        family: 'ip',
        table: 'f',
        name: 'c',
        hook: 'forward',
        drops: true,
        text: 'type filter hook forward priority filter; policy drop;',
        rules: [{ handle: 4, comment: 'x', expr: [drop], text: 'iifname { "a", "b" } drop' }],
      },
    ])
  })

  it('is refused when it is none', () => {
    expect(() => parseNft('{"nftables": 7}', '')).toThrow()
    expect(() => parseNft('{', '')).toThrow()
  })
})

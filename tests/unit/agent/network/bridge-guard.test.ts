import { describe, expect, it } from 'vitest'
import { BridgeGuard, guardRules, type LanNic, readGuard } from '../../../../src/agent/network/bridge-guard.ts'
import type { Run, RunResult } from '../../../../src/agent/os/exec.ts'

const WEB: LanNic = { tap: 'eil-0123456789a', mac: '52:54:00:11:22:33' }
const DB: LanNic = { tap: 'eil-abcdefabcde', mac: '52:54:00:aa:bb:cc' }

/** As nft 1.0.6 prints it. */
const listing = (over: { rules?: object[]; nics?: unknown[]; acks?: unknown[]; rogues?: unknown[] } = {}) => {
  const of = (name: string, elem: unknown[]) => ({
    set: { name, table: 'eitri', ...(elem.length > 0 ? { elem } : {}) },
  })
  const rule = (chain: string, comment: string) => ({ rule: { family: 'bridge', chain, comment, expr: [] } })
  return JSON.stringify({
    nftables: [
      { metainfo: { version: '1.0.6' } },
      { table: { family: 'bridge', name: 'eitri' } },
      { counter: { name: 'dropped', packets: 7, bytes: 2000 } },
      of('nics', over.nics ?? [{ concat: [WEB.tap, 0x525400112233] }]),
      of('acks', over.acks ?? []),
      of('rogues', over.rogues ?? []),
      { chain: { name: 'prerouting' } },
      ...(over.rules ?? [
        rule('tags', 'eitri: nothing behind an empty tag'),
        rule('prerouting', 'eitri: no DHCP servers in guests'),
        rule('forward', 'eitri: LAN'),
        rule('output', 'eitri: LAN of host'),
      ]),
    ],
  })
}
const ack = ({ tap, mac }: LanNic, ip: number, expires: number) => ({
  elem: { val: { concat: [tap, Number(`0x${mac.replaceAll(':', '')}`), ip] }, expires },
})

describe('the rules of the bridge guard', () => {
  it('drop what guests answer as DHCP servers before the bridge chooses a port', () => {
    const lines = guardRules([]).split('\n')
    expect(lines).toContain(
      'add chain bridge eitri prerouting { type filter hook prerouting priority -200; policy accept; }',
    )
    expect(lines.filter((line) => line.includes('drop') && line.startsWith('add rule'))).toEqual([
      'add rule bridge eitri tags iifname "eil-*" meta protocol { 8021q, 8021ad } @ll,116,12 0 drop comment "eitri: nothing behind an empty tag"',
      'add rule bridge eitri prerouting iifname "eil-*" udp sport 67 update @rogues { iifname } counter name dropped drop comment "eitri: no DHCP servers in guests"',
    ])
  })

  it('filter neither DHCPv6 nor router advertisements', () => {
    expect(guardRules([WEB])).not.toMatch(/547|icmp/)
  })

  it('empty each chain before they fill it, so that a second run adds nothing', () => {
    const lines = guardRules([WEB]).split('\n')
    for (const chain of ['tags', 'prerouting', 'forward', 'output'])
      expect(lines.indexOf(`flush chain bridge eitri ${chain}`)).toBe(
        lines.findIndex((line) => line.startsWith(`add rule bridge eitri ${chain} `)) - 1,
      )
    expect(lines.at(-1)).toBe('add element bridge eitri nics { "eil-0123456789a" . 0x525400112233 }')
    expect(lines.at(-2)).toBe('flush set bridge eitri nics')
  })

  it('learn an acknowledged IPv4 address for known NICs alone, and from no guest', () => {
    const learning = guardRules([WEB]).match(/add rule bridge eitri (forward|output) .*/g)!
    expect(learning).toHaveLength(2)
    for (const rule of learning)
      expect(rule).toMatch(/oifname "eil-\*" udp sport 67 udp dport 68 .*0x350105 .* @nics update @acks/)
    expect(learning[0]).toContain('iifname != "eil-*"')
  })

  it('remember no more than they may, and for no longer', () => {
    expect(guardRules([]).match(/size \d+/g)).toEqual(['size 1024', 'size 1024', 'size 256'])
    expect(guardRules([]).match(/timeout \d+s/g)).toEqual(['timeout 600s', 'timeout 600s'])
  })
})

describe('what nft shows of the bridge guard', () => {
  it('is read as NICs, addresses and ages', () => {
    const json = listing({
      acks: [ack(WEB, 0x0a090032, 599), ack(DB, 0xc0a80101, 10)],
      rogues: [{ elem: { val: DB.tap, expires: 300 } }],
    })
    expect(readGuard(json, [WEB])).toEqual({
      whole: true,
      acks: [
        { ...WEB, ip: '10.9.0.50', ageS: 1 },
        { ...DB, ip: '192.168.1.1', ageS: 590 },
      ],
      rogues: [DB.tap],
      dropped: 7,
    })
  })

  it.each([
    ['another NIC', {}, [DB]],
    ['one NIC more', {}, [WEB, DB]],
    ['one NIC less', {}, []],
    ['no rule', { rules: [] }, [WEB]],
    ['a rule of somebody else', { rules: [{ rule: { chain: 'prerouting' } }] }, [WEB]],
  ] as const)('is not whole with %s', (_what, over, nics) => {
    expect(readGuard(listing(over as Parameters<typeof listing>[0]), nics).whole).toBe(false)
  })

  it('is no listing when it is cut short', () => {
    expect(() => readGuard(listing().slice(0, -5), [])).toThrow()
  })
})

describe('the bridge guard at nft', () => {
  const nft = (answer: Partial<RunResult> | Error) => {
    const asked: (readonly string[])[] = []
    const run: Run = async (_point, command, args) => {
      asked.push([command, ...args])
      if (answer instanceof Error) throw answer
      return { code: 0, stdout: '', stderr: '', timedOut: false, ...answer }
    }
    return { guard: new BridgeGuard(run), asked }
  }
  const missing = { code: 1, stderr: 'Error: No such file or directory\nlist table bridge eitri\n' }
  const absent = Object.assign(new Error('spawn nft ENOENT'), { code: 'ENOENT' })

  it('is programmed by one transaction', async () => {
    const { guard, asked } = nft({})
    await guard.program([WEB])
    expect(asked).toEqual([['nft', guardRules([WEB])]])
  })

  it('is not there where nft knows no such table, and then there is nothing to remove', async () => {
    await expect(nft(missing).guard.look([])).resolves.toBeUndefined()
    await nft(missing).guard.remove()
  })

  it('names nft where it is not installed, and needs none to remove nothing', async () => {
    await expect(nft(absent).guard.program([])).rejects.toMatchObject({
      code: 'vm/network-failed',
      disposition: 'permanent',
      params: { detail: 'nft is not installed (nftables)' },
    })
    await nft(absent).guard.remove()
  })

  it('says in the words of nft why it cannot be', async () => {
    const refused = { code: 1, stderr: 'Error: Could not process rule: Device or resource busy\nadd table\n' }
    for (const call of ['program', 'look', 'remove'] as const)
      await expect(nft(refused).guard[call]([])).rejects.toMatchObject({
        disposition: 'transient',
        params: { detail: 'nft Error: Could not process rule: Device or resource busy' },
      })
    const forbidden = { code: 1, stderr: 'Operation not permitted (you must be root)\n' }
    await expect(nft(forbidden).guard.program([])).rejects.toMatchObject({ disposition: 'permanent' })
    await expect(nft({ code: null, timedOut: true }).guard.program([])).rejects.toMatchObject({
      params: { detail: 'nft did not end' },
    })
  })
})

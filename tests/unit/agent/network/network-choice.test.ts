import { describe, expect, it } from 'vitest'
import { natRuleset } from '../../../../src/agent/network/nat-ruleset.ts'
import { userModeBecause } from '../../../../src/agent/network/network-choice.ts'

const able = { asked: 'auto', root: true, holder: '', missing: [], cidr: '10.77.0.0/24' } as const

describe('guests are in user mode', () => {
  it.each([
    [{ asked: 'user' } as const, '--guest-network user'],
    [{ root: false }, 'does not run as root'],
    [{ holder: '4711' }, 'Another agent of this host (process 4711)'],
    [{ missing: ['ip', 'nft', 'dnsmasq'] }, 'lacks ip'],
    [{ missing: ['dnsmasq'] }, 'lacks dnsmasq: install it'],
    [{ missing: ['nft', 'dnsmasq'] }, 'lacks nft and dnsmasq: install them'],
    [{ cidr: '' }, 'No network for guests is settled'],
    [{ cidr: 'fd00:9::/64' }, 'is IPv6'],
  ])('with %j, and it is said why', (change, why) => {
    expect(userModeBecause({ ...able, ...change })).toContain(why)
  })

  it('nowhere else', () => {
    expect(userModeBecause(able)).toBe('')
  })
})

describe('the NAT of guests', () => {
  it('is one transaction that replaces its own table whole, leaves traffic among guests alone and catches name servers', () => {
    const text = natRuleset({ bridge: 'eitri0', cidr: '10.77.0.0/24', gateway: '10.77.0.1' })
    expect(text.split('\n').slice(0, 3)).toEqual(['table ip eitri', 'delete table ip eitri', 'table ip eitri {'])
    expect(text).toContain('    ip saddr 10.77.0.0/24 ip daddr != 10.77.0.0/24 oifname != "eitri0" masquerade\n')
    for (const protocol of ['udp', 'tcp'])
      expect(text).toContain(`    iifname "eitri0" ${protocol} dport 53 ip daddr != 10.77.0.1 dnat to 10.77.0.1\n`)
  })
})

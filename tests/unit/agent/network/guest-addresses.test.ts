import { describe, expect, it } from 'vitest'
import { freeAddress, gatewayOf, isGuestAddress, netmaskOf } from '../../../../src/agent/network/guest-addresses.ts'

describe('addresses of a guest network', () => {
  it.each([
    ['10.77.0.0/24', '10.77.0.1', '255.255.255.0'],
    ['192.168.4.16/28', '192.168.4.17', '255.255.255.240'],
    ['172.20.0.0/16', '172.20.0.1', '255.255.0.0'],
  ])('of %s: the host has %s, the mask is %s', (cidr, gateway, mask) => {
    expect([gatewayOf(cidr), netmaskOf(cidr)]).toEqual([gateway, mask])
  })

  it('are none where there is no IPv4 network', () => {
    for (const cidr of ['', 'fd00:9::/64', '10.0.0.0/31', '10.0.0.1/24'])
      expect([gatewayOf(cidr), freeAddress(cidr, new Set()), isGuestAddress(cidr, '10.0.0.2')]).toEqual(['', '', false])
  })

  it('are given out from the lowest that nobody has, until the network is full', () => {
    const taken = new Set<string>()
    for (let ip = freeAddress('10.1.2.0/28', taken); ip !== ''; ip = freeAddress('10.1.2.0/28', taken)) taken.add(ip)
    expect([...taken]).toEqual(Array.from({ length: 13 }, (_, n) => `10.1.2.${n + 2}`))
    taken.delete('10.1.2.5')
    expect(freeAddress('10.1.2.0/28', taken)).toBe('10.1.2.5')
  })

  it('are neither the network, nor its broadcast, nor the host', () => {
    const all = ['10.1.2.0', '10.1.2.1', '10.1.2.2', '10.1.2.14', '10.1.2.15', '10.1.3.2', '10.1.2', 'x']
    expect(all.filter((ip) => isGuestAddress('10.1.2.0/28', ip))).toEqual(['10.1.2.2', '10.1.2.14'])
  })
})

import { describe, expect, it } from 'vitest'
import { leasedAddress, normalizeMac, parseLeases } from '../../../../../src/agent/backends/vfkit/leases.ts'

const stanza = (fields: Record<string, string>) =>
  `{\n${Object.entries(fields)
    .map(([key, value]) => `\t${key}=${value}`)
    .join('\n')}\n}\n`
const lease = (change: Record<string, string> = {}) =>
  stanza({
    name: 'web',
    ip_address: '192.168.64.3',
    hw_address: '1,52:54:0:a:b:c',
    identifier: '1,52:54:0:a:b:c',
    lease: '0x6782bf9a',
    ...change,
  })
const MAC = '52:54:00:0a:0b:0c'
const addressIn = (text: string, mac = MAC) => leasedAddress(parseLeases(text), mac)

describe('the leases of macOS', () => {
  it('match an unpadded address with the hardware type in front', () => {
    expect(parseLeases(lease())).toEqual([{ mac: MAC, ip: '192.168.64.3', expires: 0x6782bf9a }])
    expect(addressIn(lease())).toBe('192.168.64.3')
  })

  it('say nothing of a MAC that is not in them', () => {
    expect(addressIn(lease(), '52:54:00:0a:0b:0d')).toBe('')
    expect(addressIn('')).toBe('')
  })

  it.each(['', 'not-an-ip', '192.168.64.300', '192.168.64.3/24'])('take %j for no address', (ip) => {
    expect(addressIn(lease({ ip_address: ip }))).toBe('')
  })

  it('never match a junk MAC, not even with another junk MAC', () => {
    const duid = 'ff,f1:f5:dd:7f:0:2:0:0:ab:11:b5:40:7c:3:e2:a9:8c:b3'
    for (const junk of ['', '1,', duid, '52:54:00', '52:54:00:zz:0b:0c', '152:54:00:0a:0b:0c', '1,1,2:3:4:5:6'])
      for (const wanted of [junk, MAC]) expect(addressIn(lease({ hw_address: junk }), wanted), junk).toBe('')
    expect(normalizeMac(' 52:54:0:A:B:C ')).toBe(MAC)
  })

  it('of several for one MAC count the one that runs out last, wherever it stands', () => {
    const old = lease({ ip_address: '192.168.64.2', lease: '0x1' })
    const fresh = lease({ ip_address: '192.168.64.9', lease: '0x10' })
    expect([addressIn(old + fresh), addressIn(fresh + old)]).toEqual(['192.168.64.9', '192.168.64.9'])
  })

  it('of equally long ones count the first, where bootpd puts what it renewed', () => {
    const [first, second] = [lease({ ip_address: '192.168.64.7' }), lease({ ip_address: '192.168.64.8' })]
    expect(addressIn(first + second)).toBe('192.168.64.7')
  })

  it('with an end nobody can read count behind all others', () => {
    const junk = lease({ ip_address: '192.168.64.2', lease: 'soon' })
    expect(addressIn(junk + lease({ ip_address: '192.168.64.9', lease: '0x1' }))).toBe('192.168.64.9')
    expect(addressIn(junk)).toBe('192.168.64.2')
  })

  it('survive a cut-off file, stray braces and bytes that are no text', () => {
    const noise = Buffer.from([0, 255, 123, 10, 61, 125, 0xc3, 0x28]).toString('latin1')
    const torn = lease({ ip_address: '192.168.64.5' }).slice(0, -20)
    expect(addressIn(`${noise}{{{${lease()}${noise}${torn}`)).toBe('192.168.64.3')
    expect(parseLeases(noise.repeat(1000))).toEqual([])
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guestCidrProblem, networkOf, overlaps, parseCidr } from '../../../../src/ipc/base/cidr.ts'

const net = (text: string) => parseCidr(text)!

describe('a network', () => {
  it('is an address and the bits that count', () => {
    expect(parseCidr('10.77.0.0/24')).toEqual({ version: 4, base: 0x0a4d0000n, prefix: 24 })
    expect(parseCidr('fd00:1::/64')).toEqual({ version: 6, base: 0xfd000001n << 96n, prefix: 64 })
    expect(parseCidr('::ffff:10.0.0.0/104')).toEqual({ version: 6, base: 0xffff0a000000n, prefix: 104 })
    expect(parseCidr('1:2:3:4:5:6:7:8/128')?.base).toBe(0x00010002000300040005000600070008n)
    expect(parseCidr('0.0.0.0/0')).toEqual({ version: 4, base: 0n, prefix: 0 })
  })

  it.each([
    '',
    '10.77.0.0',
    '10.77.0.1/24',
    '10.77.0.0/33',
    '10.77.0/24',
    '010.0.0.0/8',
    'fd00::1/64',
    '::/129',
    'x/8',
  ])('is not guessed from "%s"', (text) => expect(parseCidr(text)).toBeUndefined())

  it('is found around the address of an interface', () => {
    expect(networkOf('192.168.7.9/24')).toEqual(net('192.168.7.0/24'))
    expect(networkOf('fd00:9::2/64')).toEqual(net('fd00:9::/64'))
    expect([networkOf('192.168.7.9'), networkOf('192.168.7.9/99'), networkOf('')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('overlaps what it holds and what holds it, and no neighbour or other version', () => {
    expect(overlaps(net('10.0.0.0/8'), net('10.77.3.0/24'))).toBe(true)
    expect(overlaps(net('10.77.3.0/24'), net('10.0.0.0/8'))).toBe(true)
    expect(overlaps(net('10.77.3.0/24'), net('10.77.4.0/24'))).toBe(false)
    expect(overlaps(net('0.0.0.0/0'), net('fd00::/64'))).toBe(false)
  })

  it('overlaps another exactly when the two share an address', () => {
    const small = fc.tuple(fc.nat(255), fc.integer({ min: 24, max: 32 })).map(([last, prefix]) => {
      const size = 2 ** (32 - prefix)
      return { first: Math.floor(last / size) * size, size, prefix }
    })
    fc.assert(
      fc.property(small, small, (a, b) => {
        const shares = a.first < b.first + b.size && b.first < a.first + a.size
        const text = ({ first, prefix }: typeof a) => net(`10.0.0.${first}/${prefix}`)
        expect(overlaps(text(a), text(b))).toBe(shares)
      }),
    )
  })
})

describe('a network for guests', () => {
  it.each(['10.77.0.0/24', '172.16.0.0/16', '192.168.128.0/28', 'fd12:3456::/64'])('may be %s', (text) =>
    expect(guestCidrProblem(text)).toBe(''),
  )

  it.each([
    ['198.51.100.0/24', 'it is not a private network'],
    ['172.32.0.0/16', 'it is not a private network'],
    ['100.64.0.0/24', 'it is not a private network'],
    ['2001:db8::/64', 'it is not a private network'],
    ['0.0.0.0/0', 'it is not a private network'],
    ['10.0.0.0/8', 'its size must be from /16 to /28'],
    ['10.0.0.0/29', 'its size must be from /16 to /28'],
    ['fd00::/96', 'its size must be from /48 to /64'],
    ['10.77.0.1/24', 'it is no network; write it like 10.77.0.0/24'],
  ])('is not %s: %s', (text, problem) => expect(guestCidrProblem(text)).toBe(problem))
})

import { describe, expect, it } from 'vitest'
import { networkOf, overlaps, parseCidr } from '../../../../../src/ipc/base/cidr.ts'
import { freeGuestCidrs } from '../../../../../src/main/control/sync/guest-cidr.ts'
import { aHost, anId } from '../a-store.ts'

const host = (guestCidr = '', runsAs = 'root') => ({
  ...aHost(),
  guestCidr,
  uplinkAddress: '',
  agent: { ...aHost().agent, runsAs },
})
const best = (...args: Parameters<typeof freeGuestCidrs>) => freeGuestCidrs(...args)[0] ?? ''
const isIn = (cidr: string, range: string) => overlaps(networkOf(cidr)!, networkOf(range)!)

/** Networks that container engines, hypervisors, clusters and VPN clients take by themselves. */
const USUAL = [
  ...Array.from({ length: 15 }, (_, i) => `172.${17 + i}.0.0/16`),
  ...['10.88.0.0/16', '10.89.0.0/16', '10.42.0.0/15', '10.96.0.0/12', '10.244.0.0/16', '10.0.0.0/16', '10.0.2.0/24'],
  ...['10.5.0.0/16', '10.6.0.0/16', '10.8.0.0/16', '10.9.0.0/16', '10.13.13.0/24', '10.66.0.0/16', '100.64.0.0/10'],
  ...['192.168.122.0/24', '192.168.56.0/24', '192.168.49.0/24', '192.168.0.0/23', '192.168.178.0/24'],
]

describe('the network for guests that is suggested to a host', () => {
  it('is one that no host of the fleet has', () => {
    const fleet: ReturnType<typeof host>[] = []
    for (let n = 0; n < 256; n++) {
      const next = host()
      next.guestCidr = best(next, fleet)
      expect(next.guestCidr).toMatch(/^10\.77\.\d+\.0\/24$/)
      fleet.push(next)
    }
    expect(new Set(fleet.map(({ guestCidr }) => guestCidr)).size).toBe(256)
    expect(best(host(), fleet)).toMatch(/^10\.213\./)
  })

  it('keeps clear of larger networks that hosts have got otherwise', () => {
    expect(freeGuestCidrs(host(), [host('10.0.0.0/9')]).some((cidr) => isIn(cidr, '10.0.0.0/9'))).toBe(false)
    const half = best(host(), [host('10.77.0.0/17')])
    expect(Number(half.split('.')[2])).toBeGreaterThanOrEqual(128)
  })

  it('is the one it had, so that an agent installed anew gets it back', () => {
    expect(best(host('192.168.50.0/24'), [host('192.168.50.0/24')])).toBe('192.168.50.0/24')
  })

  it('is the same at every attach, and seldom that of a host which attaches at the same time', () => {
    const hosts = Array.from({ length: 12 }, () => ({ ...host(), id: anId().repeat(2) }))
    const first = hosts.map((one) => best(one, []))
    expect(hosts.map((one) => best(one, []))).toEqual(first)
    expect(new Set(first).size).toBeGreaterThan(8)
  })

  it('is none for an agent that cannot build a network', () => {
    expect(freeGuestCidrs(host('', 'ada'), [])).toEqual([])
    const facts = { platform: 'darwin' } as NonNullable<ReturnType<typeof aHost>['facts']>
    expect(freeGuestCidrs({ ...host(), facts }, [])).toEqual([])
  })

  it('has others beside it, of all private ranges, none of them what engines and VPNs take by themselves', () => {
    for (let n = 0; n < 50; n++) {
      const all = freeGuestCidrs(host(), [])
      expect([all.length, new Set(all).size]).toEqual([9, 9])
      for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'])
        expect(all.some((cidr) => isIn(cidr, range))).toBe(true)
      for (const cidr of all) {
        expect(parseCidr(cidr)).toBeDefined()
        expect(USUAL.filter((range) => isIn(cidr, range))).toEqual([])
      }
    }
  })

  it('is not near the address a host is reached at, nor what an operator network of it has', () => {
    const near = { ...host(), uplinkAddress: '10.77.200.7' }
    expect(freeGuestCidrs(near, []).some((cidr) => isIn(cidr, '10.77.0.0/16'))).toBe(false)
    const ssh = { ...aHost().ssh!, host: '10.213.1.2' }
    expect(freeGuestCidrs({ ...host(), ssh }, []).some((cidr) => isIn(cidr, '10.213.0.0/16'))).toBe(false)
    const networks = [{ kind: 'operator', cidr: '172.16.0.0/12' }]
    expect(freeGuestCidrs(host(), [], networks).some((cidr) => isIn(cidr, '172.16.0.0/12'))).toBe(false)
  })
})

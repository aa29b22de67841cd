import { describe, expect, it } from 'vitest'
import { freeGuestCidr } from '../../../../../src/main/control/sync/guest-cidr.ts'
import { aHost, anId } from '../a-store.ts'

const host = (guestCidr = '', runsAs = 'root') => ({ ...aHost(), guestCidr, agent: { ...aHost().agent, runsAs } })

describe('the network for guests that is suggested to a host', () => {
  it('is one that no host of the fleet has', () => {
    const fleet: ReturnType<typeof host>[] = []
    for (let n = 0; n < 256; n++) {
      const next = host()
      next.guestCidr = freeGuestCidr(next, fleet)
      expect(next.guestCidr).toMatch(/^10\.77\.\d+\.0\/24$/)
      fleet.push(next)
    }
    expect(new Set(fleet.map(({ guestCidr }) => guestCidr)).size).toBe(256)
    expect(freeGuestCidr(host(), fleet)).toBe('')
  })

  it('keeps clear of larger networks that hosts have got otherwise', () => {
    expect(freeGuestCidr(host(), [host('10.0.0.0/9')])).toBe('')
    const half = freeGuestCidr(host(), [host('10.77.0.0/17')])
    expect(Number(half.split('.')[2])).toBeGreaterThanOrEqual(128)
  })

  it('is the one it had, so that an agent installed anew gets it back', () => {
    expect(freeGuestCidr(host('192.168.50.0/24'), [host('192.168.50.0/24')])).toBe('192.168.50.0/24')
  })

  it('is the same at every attach, and seldom that of a host which attaches at the same time', () => {
    const hosts = Array.from({ length: 12 }, () => ({ ...host(), id: anId().repeat(2) }))
    const first = hosts.map((one) => freeGuestCidr(one, []))
    expect(hosts.map((one) => freeGuestCidr(one, []))).toEqual(first)
    expect(new Set(first).size).toBeGreaterThan(8)
  })

  it('is none for an agent that cannot build a network', () => {
    expect(freeGuestCidr(host('', 'ada'), [])).toBe('')
  })
})

import { describe, expect, it } from 'vitest'
import { guestCidr } from '../../../../src/agent/network/guest-cidr.ts'
import { GuestNetwork, type GuestNetworkDeps } from '../../../../src/agent/network/guest-network.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

const A = '10.77.1.0/24'
const B = '10.77.2.0/24'
const C = '10.77.3.0/24'
const NOBODY = { persisted: '', flag: '', suggestions: [] as string[] }

describe('the network of guests', () => {
  it('is what identity.json says, before the flag, before what the control plane suggests', () => {
    const cidr = (claims: Partial<typeof NOBODY>) => guestCidr('linux', { ...NOBODY, ...claims }, []).cidr
    expect(cidr({ persisted: A, flag: B, suggestions: [C] })).toBe(A)
    expect(cidr({ flag: B, suggestions: [C] })).toBe(B)
    expect(cidr({ suggestions: [C] })).toBe(C)
    expect(guestCidr('linux', NOBODY, [])).toEqual({ cidr: '', problem: '' })
  })

  it('is nobody else’s to choose on macOS', () => {
    expect(guestCidr('darwin', { persisted: A, flag: B, suggestions: [C] }, [])).toEqual({ cidr: '', problem: '' })
  })

  it.each(['10.77.1.9/16', '10.77.1.128/25', '10.77.1.4/32'])(
    'is none, and that is said, where it would overlap %s of the host itself',
    (own) => {
      expect(guestCidr('linux', { ...NOBODY, flag: A, suggestions: [B] }, ['192.168.0.3/24', own])).toEqual({
        cidr: '',
        problem: `There is no network for guests: --bridge-cidr says ${A}, but this host reaches ${own} by another way.`,
      })
      expect(guestCidr('linux', { ...NOBODY, suggestions: [A] }, [own]).problem).toContain('the control plane says')
    },
  )

  it('is the first suggestion that overlaps nothing of the host, and none only when all of them do', () => {
    const claims = { ...NOBODY, suggestions: [A, B, '8.8.8.0/24', C] }
    expect(guestCidr('linux', claims, ['10.77.1.9/24']).cidr).toBe(B)
    expect(guestCidr('linux', claims, ['10.77.1.9/24', '10.77.2.0/23']).cidr).toBe('')
    expect(guestCidr('linux', claims, ['10.77.1.9/24', '10.77.2.0/24']).cidr).toBe(C)
    expect(guestCidr('linux', claims, ['10.0.0.0/8'])).toEqual({
      cidr: '',
      problem: `There is no network for guests: the control plane says ${A}, but this host reaches 10.0.0.0/8 by another way.`,
    })
  })

  it('stays where guests live already, even when the host has got a network there since', () => {
    expect(guestCidr('linux', { ...NOBODY, persisted: A }, ['10.77.1.9/16'])).toEqual({ cidr: A, problem: '' })
  })

  it('is none where a claim is no private network of a sensible size: a weaker claim does not stand in', () => {
    const { cidr, problem } = guestCidr('linux', { persisted: '8.8.8.0/24', flag: B, suggestions: [C] }, [])
    expect(cidr).toBe('')
    expect(problem).toBe(
      'There is no network for guests: identity.json says 8.8.8.0/24, but it is not a private network.',
    )
  })
})

describe('settling the network of guests', () => {
  function aNetwork(change: Partial<GuestNetworkDeps> = {}, bridgeCidr = '') {
    const kept: string[] = []
    const identity = {
      bridgeCidr,
      takeBridgeCidr: async (cidr: string) => {
        kept.push(cidr)
        identity.bridgeCidr = cidr
      },
    }
    const deps = { platform: 'linux' as const, flag: '', identity, ownNetworks: async () => [], log: silentLog }
    return { network: new GuestNetwork({ ...deps, ...change }), identity, kept }
  }

  it('keeps the first answer in identity.json, once, and no later suggestion moves it', async () => {
    const { network, kept } = aNetwork()
    await network.resolve()
    expect([network.cidr, kept]).toEqual(['', []])
    await network.resolve([A])
    await network.resolve([B])
    expect([network.cidr, kept]).toEqual([A, [A]])
  })

  it('keeps the flag the first time, and the next start without it finds the same network', async () => {
    const first = aNetwork({ flag: A })
    await first.network.resolve()
    expect(first.kept).toEqual([A])
    const next = aNetwork({ flag: B }, first.identity.bridgeCidr)
    await next.network.resolve([C])
    expect([next.network.cidr, next.kept]).toEqual([A, []])
  })

  it('goes on with an answer that could not be kept, and tries to keep it again', async () => {
    const { network, identity, kept } = aNetwork()
    const keep = identity.takeBridgeCidr
    identity.takeBridgeCidr = () => Promise.reject(new Error('ENOSPC'))
    await network.resolve([A])
    expect([network.cidr, kept]).toEqual([A, []])
    identity.takeBridgeCidr = keep
    await network.resolve([B])
    expect([network.cidr, kept]).toEqual([A, [A]])
  })

  it('says why there is none until there is one', async () => {
    const { network, kept } = aNetwork({ ownNetworks: async () => ['10.77.1.1/24'] })
    await network.resolve([A])
    expect(network.notices()).toEqual([expect.stringContaining('this host reaches 10.77.1.1/24')])
    await network.resolve([B])
    expect([network.cidr, network.notices(), kept]).toEqual([B, [], [B]])
  })
})

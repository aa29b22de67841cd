import { describe, expect, it } from 'vitest'
import { onTheWay, readChain } from '../../../../../src/main/control/hosts/jump-chain.ts'
import { SAYS_NOTHING, type SshTarget, targetWithoutConfig } from '../../../../../src/main/control/hosts/ssh/config.ts'
import type { Destination } from '../../../../../src/main/control/hosts/ssh/destination.ts'
import { parseJump } from '../../../../../src/main/control/hosts/ssh/jump-spec.ts'

const context = { home: '/home/ops', sshDir: '/home/ops/.ssh', env: {} }
const targetOf = (destination: Destination): SshTarget => targetWithoutConfig(destination, 'ops', context)
const rack1 = targetOf({ host: 'rack1' })

/** A configuration that gives hosts a ProxyJump. */
const configured = (jumps: Record<string, string>) => async (destination: Destination) => ({
  target: targetOf(destination),
  says: { ...SAYS_NOTHING, proxyJump: jumps[destination.host] ?? '' },
})
const chain = async (jump: string, jumps: Record<string, string> = {}) =>
  (await readChain(rack1, jump, configured(jumps))).map(({ target }) => target.address)

describe('a list of jump hosts', () => {
  it.each([
    ['bastion', [{ host: 'bastion' }]],
    [
      'a, ops@b:2222 ,[2001:db8::1]:22',
      [{ host: 'a' }, { host: 'b', user: 'ops', port: 2222 }, { host: '2001:db8::1', port: 22 }],
    ],
    ['ssh://ops@a:22', [{ host: 'a', user: 'ops', port: 22 }]],
    ['none', []],
    ['NONE', []],
    ['host$@a', [{ host: 'a', user: 'host$' }]],
    ['', []],
  ])('%s is read as ssh -J reads it', (written, read) => expect(parseJump(written)).toEqual(read))

  it.each(['a,,b', '-oProxyCommand=x', 'a b', 'a:0', 'x$IFS-A@a', '$HOME@a', 'ops\\@a', Array(9).fill('a').join(',')])(
    '%s is refused',
    (written) =>
      expect(() => parseJump(written)).toThrow(
        expect.objectContaining({ code: 'input/invalid', params: expect.objectContaining({ field: 'jump' }) }),
      ),
  )
})

describe('the way to a host through others', () => {
  it('is dialled in the order written', async () => expect(await chain('a,b')).toEqual(['a', 'b']))

  it('begins with the way to its first host, which may have one of its own; the others have none', async () => {
    expect(await chain('a,b', { a: 'outer', outer: 'gate', b: 'not-used' })).toEqual(['gate', 'outer', 'a', 'b'])
  })

  it('says of each host where it leads', async () => {
    const [hop] = await readChain(rack1, 'ops@a', configured({}))
    expect(onTheWay(hop!.target, 'rack1')).toMatchObject({ host: 'a (on the way to rack1)', user: 'ops', address: 'a' })
  })

  it.each([
    ['a circle', 'a', { a: 'b', b: 'a' }, 'in circles at a'],
    ['the host itself', 'rack1', {}, 'in circles at rack1'],
    ['too many', 'a1', Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((n) => [`a${n}`, `a${n + 1}`])), 'more than 8'],
  ])('is refused with %s', async (_, jump, jumps, says) => {
    await expect(chain(jump, jumps)).rejects.toMatchObject({
      code: 'ssh/config-invalid',
      params: { host: 'rack1', detail: expect.stringContaining(says) },
    })
  })
})

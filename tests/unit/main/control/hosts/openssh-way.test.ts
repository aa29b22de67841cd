import { describe, expect, it } from 'vitest'
import { ownerOf } from '../../../../../src/main/control/hosts/openssh-way.ts'
import { SAYS_NOTHING, targetWithoutConfig } from '../../../../../src/main/control/hosts/ssh/config.ts'
import { parseDestination } from '../../../../../src/main/control/hosts/ssh/destination.ts'

const configured = (typed: string) => ({
  target: targetWithoutConfig(parseDestination(typed), 'ops', { home: '/h', sshDir: '/h/.ssh', env: {} }),
  says: SAYS_NOTHING,
})
const owner = (typed: string, jumps: string[], login: string) =>
  ownerOf({ host: configured(typed), hops: jumps.map(configured) }, login)

describe('a password that ssh asks for', () => {
  it('is of the host, or of a login on the way', () => {
    expect(owner('rack1', ['gate'], 'ops@RACK1')).toBe('host')
    expect(owner('rack1', ['gate'], 'ops@gate')).toBe('way')
    expect(owner('rack1', [], 'ops@elsewhere')).toBe('way')
    expect(owner('root@rack1', ['rack1:2222'], 'root@rack1')).toBe('host')
  })

  it('is nobody’s where a host on the way would ask in the same words: the password behind it is not for that', () => {
    expect(owner('10.0.0.1', ['10.0.0.1:2222'], 'ops@10.0.0.1')).toBe('unclear')
    expect(owner('rack1', ['10.0.0.1', '10.0.0.1:2222'], 'ops@10.0.0.1')).toBe('unclear')
  })
})

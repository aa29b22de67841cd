import { execFileSync } from 'node:child_process'
import os from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { uplinkAddress } from '../../src/agent/facts/uplink.ts'
import { ROOT } from '../arch/source-files.ts'

/** What the script prints in a network namespace of its own, after these `ip` commands. */
function printedAfter(commands: readonly string[], script: string): string {
  const program = `import { execFileSync } from 'node:child_process'
for (const command of ${JSON.stringify(commands)}) execFileSync('ip', command.split(' '))
${script}`
  const args = ['-n', process.execPath, '--input-type=module-typescript', '-e', program]
  return execFileSync('unshare', args).toString()
}

const bridge = (name: string) => [`link add ${name} type bridge`, `link set ${name} up`]

describe('the address of a host towards the outside', () => {
  const uplinkAfter = (...commands: string[]) =>
    printedAfter(
      [...bridge('up0'), ...commands],
      `import { uplinkAddress } from '${join(ROOT, 'src/agent/facts/uplink.ts')}'
process.stdout.write(await uplinkAddress())`,
    )

  it('is one of its own here, or none', async () => {
    const own = Object.values(os.networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
    expect([...own, '']).toContain(await uplinkAddress())
  })

  it('is none without a default route', () => {
    expect(uplinkAfter()).toBe('')
    expect(uplinkAfter('addr add 10.9.0.2/24 dev up0')).toBe('')
  })

  it('is the source the default route prefers', () => {
    const addresses = ['addr add 10.9.0.2/24 dev up0', 'addr add 10.9.0.3/24 dev up0']
    expect(uplinkAfter(...addresses, 'route add default via 10.9.0.1')).toBe('10.9.0.2')
    expect(uplinkAfter(...addresses, 'route add default via 10.9.0.1 src 10.9.0.3')).toBe('10.9.0.3')
  })

  it('is its IPv6 address where there is nothing else', () => {
    const address = 'addr add fd00:9::2/64 dev up0 nodad'
    expect(uplinkAfter(address, '-6 route add default via fd00:9::1')).toBe('fd00:9::2')
  })
})

describe('a network for guests on a host with networks of its own', () => {
  const settledAfter = (flag: string, ...commands: string[]) =>
    printedAfter(
      commands,
      `import { GuestNetwork } from '${join(ROOT, 'src/agent/network/guest-network.ts')}'
const log = { info() {}, warn() {}, error() {} }
const identity = { bridgeCidr: '', takeBridgeCidr: async () => {} }
const network = new GuestNetwork({ platform: 'linux', flag: '${flag}', identity, log })
await network.resolve()
process.stdout.write(network.cidr + network.notices().join())`,
    )

  it('is none where an interface or a route is there already', () => {
    const there = [...bridge('up0'), 'addr add 10.9.0.2/24 dev up0', 'route add 10.10.0.0/16 via 10.9.0.1']
    expect(settledAfter('10.9.0.0/16', ...there)).toContain('this host reaches 10.9.0.2/24 by another way')
    expect(settledAfter('10.10.3.0/24', ...there)).toContain('this host reaches 10.10.0.0/16 by another way')
    expect(settledAfter('10.11.0.0/24', ...there, 'route add default via 10.9.0.1')).toBe('10.11.0.0/24')
  })

  it('may be the one of the bridge its own guests are on', () => {
    expect(settledAfter('10.9.0.0/24', ...bridge('eitri0'), 'addr add 10.9.0.1/24 dev eitri0')).toBe('10.9.0.0/24')
  })
})

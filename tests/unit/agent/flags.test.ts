import { Command } from 'commander'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { addServeFlags, capsOf, type ServeFlags } from '../../../src/agent/flags.ts'

const places = { stateDir: '/state', socket: '/run/agent.sock' }
function parse(platform: NodeJS.Platform, ...args: string[]): ServeFlags {
  const command = addServeFlags(new Command('serve'), platform, places)
  command.exitOverride().configureOutput({ writeErr: () => {} })
  return command.parse(args, { from: 'user' }).opts<ServeFlags>()
}
afterEach(() => vi.unstubAllEnvs())
const PLATFORMS = ['linux', 'darwin'] as const

describe("the agent's flags", () => {
  it.each(PLATFORMS)('have defaults on %s', (platform) => {
    vi.stubEnv('EITRI_GUEST_NETWORK', undefined)
    const none = { backend: '', vfkit: '', hostNetwork: [], bridgeCidr: '', guestNetwork: 'auto' }
    expect(parse(platform)).toEqual({ ...places, ...none })
    expect(capsOf(parse(platform))).toEqual({})
  })

  it.each(PLATFORMS)('parse on %s, whatever platform they are for', (platform) => {
    const args = ['--state-dir', '/s', '--socket', '/a.sock', '--backend', 'x', '--vfkit', '/opt/vfkit']
    const flags = parse(platform, ...args, '--max-vcpus', '4', '--max-mem-mb', '1024', '--max-disk-gb', '9')
    expect(flags).toMatchObject({ stateDir: '/s', socket: '/a.sock', backend: 'x', vfkit: '/opt/vfkit' })
    expect(capsOf(flags)).toEqual({ vcpus: 4, memMb: 1024, diskGb: 9 })
  })

  it.each(PLATFORMS)('leave the network alone on %s when the flag says so, or else the environment', (platform) => {
    vi.stubEnv('EITRI_GUEST_NETWORK', 'user')
    expect(parse(platform).guestNetwork).toBe('user')
    expect(parse(platform, '--guest-network', 'auto').guestNetwork).toBe('auto')
    expect(() => parse(platform, '--guest-network', 'bridge')).toThrow('Allowed choices are auto, user.')
  })

  it('take a path of vfkit from here, and its name as it is', () => {
    expect(parse('darwin', '--vfkit', './vfkit').vfkit).toBe(`${process.cwd()}/vfkit`)
    expect(parse('darwin', '--vfkit', 'vfkit-dev').vfkit).toBe('vfkit-dev')
  })

  it.each(['0', '-1', '1.5', 'many', ''])('take %j for no number', (text) => {
    expect(() => parse('linux', '--max-vcpus', text)).toThrow('use a whole number of at least 1')
  })

  it.each(PLATFORMS)('take a private network for guests on %s, and no other', (platform) => {
    expect(parse(platform, '--bridge-cidr', '10.77.0.0/24').bridgeCidr).toBe('10.77.0.0/24')
    expect(() => parse(platform, '--bridge-cidr', '8.8.8.0/24')).toThrow('it is not a private network.')
    expect(() => parse(platform, '--bridge-cidr', '10.77.0.1')).toThrow('it is no network; write it like 10.77.0.0/24.')
  })

  it('name networks by NAME=BRIDGE, as often as there are networks', () => {
    expect(parse('linux', '--host-network', 'lan=br0', '--host-network', 'dmz=br-dmz.2').hostNetwork).toEqual([
      { name: 'lan', bridge: 'br0' },
      { name: 'dmz', bridge: 'br-dmz.2' },
    ])
  })

  it('refuse a named network on macOS, and say why', () => {
    expect(() => parse('darwin', '--host-network', 'lan=br0')).toThrow(
      'macOS owns the network of its VMs, there are no named ones: leave this flag out.',
    )
  })

  it.each(['lan', '=br0', 'lan=', 'Lan=br0', 'lan=../../etc', 'lan=..', 'lan=b r', 'lan=sixteen-letters!'])(
    'refuse %j as a network',
    (text) => {
      expect(() => parse('linux', '--host-network', text)).toThrow('use NAME=BRIDGE, e.g. lan=br0.')
    },
  )

  it('refuse two networks of one name', () => {
    expect(() => parse('linux', '--host-network', 'lan=br0', '--host-network', 'lan=br1')).toThrow(
      'the name lan is there already.',
    )
  })

  it.each(['guests=br0', 'lan=eitri0'])('refuse the network that all VMs are on anyway: %s', (text) => {
    expect(() => parse('linux', '--host-network', text)).toThrow('the network guests on eitri0 is the one')
  })
})

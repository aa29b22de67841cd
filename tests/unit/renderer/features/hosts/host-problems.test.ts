import { describe, expect, it } from 'vitest'
import { hostProblems, packagesCommand } from '../../../../../src/renderer/features/hosts/host-problems.ts'
import { aHost, aHostClock } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.UTC(2026, 10, 30)
const fault = (code: string, params: Record<string, string> = {}) => ({
  code,
  disposition: 'permanent',
  params,
  id: 'x',
})
const of = (change: Parameters<typeof aHost>[0], unknown = 0) => hostProblems(aHost(change), { unknown })
const moves = (change: Parameters<typeof aHost>[0]) => of(change).map(({ move }) => move)

describe('the problems of a host', () => {
  it('are none when nothing is wrong', () => expect(of({})).toEqual([]))

  it('say of VMs of a silent host that they are unknown, not stopped', () => {
    const [problem] = of({ link: 'unreachable', linkFault: fault('host/unreachable', { address: 'a:22' }) }, 14)
    expect(problem).toMatchObject({ tone: 'bad', effect: '14 VMs are unknown, not stopped.', move: 'try-now' })
  })

  it.each([
    ['sign-in', { link: 'sign_in_needed', linkFault: fault('ssh/auth-refused') }],
    ['compare-keys', { link: 'key_changed', linkFault: fault('ssh/host-key-changed', { fingerprint: 'SHA256:a' }) }],
    ['take-over', { link: 'held_by_other', linkFault: fault('agent/foreign-controller', { controller: 'desk' }) }],
    ['use-own-data', { newerData: { epoch: 6n, hostEpoch: 7n } }],
    ['update-agent', { upgradeAvailable: '0.2.0' }],
    ['undrain', { draining: 'leave' }],
    ['open-networks', { networkFindings: [{ id: 'f', severity: 'blocks', what: 'w' }] }],
    ['open-clock', { clock: aHostClock(NOW, { wrong: 'host' }) }],
  ] as const)('have %s for a next move', (move, change) =>
    expect(moves(change as Parameters<typeof aHost>[0])).toEqual([move]),
  )

  it('never offer to accept a revoked key', () => {
    expect(moves({ link: 'key_not_trusted', linkFault: fault('ssh/host-key-revoked') })).toEqual(['try-now'])
  })

  it('bring the one command for missing programs and for a device that cannot be read', () => {
    const [missing] = of({ missing: ['qemu-system-x86_64', 'qemu-img'] })
    expect(missing?.command).toBe(
      'sudo apt-get update && sudo apt-get install -y --no-install-recommends qemu-system-x86 qemu-utils',
    )
    const [slow] = of({ acceleration: 'tcg', accelerationDetail: '/dev/kvm: permission denied', runsAs: 'ops' })
    expect(slow?.command).toBe('sudo usermod -aG kvm ops')
    const agentSays = '/dev/kvm may not be opened by this user; adding it to the group kvm lets VMs run faster.'
    const [refused] = of({ acceleration: 'tcg', accelerationDetail: agentSays, runsAs: 'ops' })
    expect([refused?.command, refused?.effect]).toEqual([
      'sudo usermod -aG kvm ops',
      'They are several times slower than with KVM. Let ops use it, then sign out there, sign in again and restart its agent.',
    ])
    const none = 'There is no /dev/kvm: the CPU, the firmware or an outer hypervisor does not offer KVM.'
    const [absent] = of({ acceleration: 'tcg', accelerationDetail: none })
    expect(absent?.effect).toContain('Turn on Intel VT-x, or AMD-V (also named SVM), in its BIOS')
    expect(absent?.command).toContain('modprobe')
    expect(of({ acceleration: 'tcg', accelerationDetail: 'KVM did not run a guest: busy.' })[0]?.command).toContain(
      'dmesg',
    )
    const arm = of({ acceleration: 'tcg', accelerationDetail: 'KVM is not probed on this architecture.' })[0]
    expect(arm?.command).toBe('')
    expect(of({ acceleration: 'kvm' }).some(({ id }) => id === 'slow')).toBe(false)
  })
})

describe('the command for missing programs', () => {
  const host = { missing: ['qemu-img'], arch: 'x86_64', address: 'ops@a:22' }
  it.each([
    ['Ubuntu 24.04', 'sudo apt-get update && sudo apt-get install -y --no-install-recommends qemu-utils'],
    ['Rocky Linux 9', 'sudo dnf install -y qemu-img'],
    ['openSUSE Leap', 'sudo zypper --non-interactive install qemu-tools'],
    ['Alpine Linux', 'sudo apk add qemu-img'],
    ['Plan 9', ''],
  ])('on %s', (os, command) => expect(packagesCommand({ ...host, os })).toBe(command))

  it('needs no sudo for root, and is none for what no package brings', () => {
    expect(packagesCommand({ ...host, os: 'Fedora', address: 'root@a:22' })).toBe('dnf install -y qemu-img')
    expect(packagesCommand({ ...host, os: 'Fedora', missing: ['a thing'] })).toBe('')
  })
})

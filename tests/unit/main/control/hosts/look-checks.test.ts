import { describe, expect, it } from 'vitest'
import type { HostLook } from '../../../../../src/main/control/hosts/look.ts'
import { parseLook } from '../../../../../src/main/control/hosts/look.ts'
import { lookChecks } from '../../../../../src/main/control/hosts/look-checks.ts'

const GOOD = `platform=Linux
machine=x86_64
kernel=6.1.0
user=ops
uid=1000
home=/home/ops
os=Debian 12
init=systemd
kvm=usable
vmx=1
qemu=qemu-system-x86_64
qemu_img=yes
packages=apt-get
sudo=password
home_free=10000000000
system_free=10000000000
`
const look = (over: Partial<HostLook> = {}): HostLook => ({ ...parseLook(GOOD), ...over })
const line = (name: string, over: Partial<HostLook>, mode: 'user' | 'sudo' | 'root' = 'user') =>
  lookChecks(look(over), mode).find((check) => check.name === name)

describe('the lines of a look', () => {
  it('are all well on a host that lacks nothing', () => {
    const checks = lookChecks(look(), 'user')
    expect(checks.map(({ name }) => name)).toEqual(['System', 'Virtualisation', 'Programs', 'Disk', 'Service', 'Ports'])
    expect(checks.every(({ state, command }) => state === 'ok' && command === '')).toBe(true)
  })

  it('say who may not use KVM, and the command that lets them', () => {
    expect(line('Virtualisation', { kvm: 'denied' })).toMatchObject({
      state: 'note',
      detail: expect.stringContaining('not readable by ops'),
      command: 'sudo usermod -aG kvm ops',
    })
    expect(line('Virtualisation', { kvm: 'denied' }, 'sudo')).toMatchObject({ state: 'ok' })
  })

  it('tell a processor that cannot from a module that is not loaded', () => {
    expect(line('Virtualisation', { kvm: 'absent' })?.command).toContain('modprobe')
    expect(line('Virtualisation', { kvm: 'absent', virtualisation: false })).toMatchObject({
      state: 'note',
      command: '',
    })
  })

  it('name the missing programs with the one command of the package manager', () => {
    const check = line('Programs', { qemu: false })
    expect(check).toMatchObject({ state: 'failed', detail: 'qemu-system-x86_64 are missing' })
    expect(check?.command).toMatch(/^sudo sh -c '.*apt-get.*qemu/)
    expect(line('Programs', { qemu: false, isRoot: true })?.command).not.toContain('sudo')
    expect(line('Programs', { qemu: false, packageManager: '' })?.command).toBe('')
  })

  it('measure the disk where the agent goes, and take what cannot be seen for unknown', () => {
    expect(line('Disk', { homeFreeBytes: 1000 })).toMatchObject({ state: 'failed' })
    expect(line('Disk', { homeFreeBytes: 1000 }, 'sudo')).toMatchObject({ state: 'ok' })
    expect(line('Disk', { homeFreeBytes: undefined })).toMatchObject({ state: 'note' })
  })

  it('say what starts the agent again, what sudo is and that an agent is there', () => {
    expect(line('Service', { init: 'none' })).toMatchObject({ state: 'note' })
    expect(line('sudo', { sudo: 'none' }, 'sudo')).toMatchObject({ state: 'failed' })
    expect(line('sudo', {}, 'sudo')).toMatchObject({ detail: 'with the password' })
    expect(line('sudo', {})).toBeUndefined()
    const agent = { executable: '/usr/local/bin/eitri-agent', status: { running: true, agentVersion: '0.1.0' } }
    expect(line('Agent', { agent })?.detail).toBe('0.1.0 is installed there already')
  })
})

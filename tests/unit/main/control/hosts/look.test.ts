import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { PACKAGE_MANAGERS } from '../../../../../src/ipc/packages.ts'
import { installMode } from '../../../../../src/main/control/hosts/install.ts'
import { executableFor, type HostLook, lookWords, parseLook } from '../../../../../src/main/control/hosts/look.ts'
import { LOOK_SCRIPT } from '../../../../../src/main/control/hosts/look-script.ts'
import { missingPackages, qemuCommand } from '../../../../../src/main/control/hosts/packages.ts'

const DEBIAN = `platform=Linux
machine=x86_64
user=ops
uid=1000
home=/home/ops
groups=ops sudo eitri
os=Debian GNU/Linux 12 (bookworm)
os_id=debian
glibc=glibc 2.36
init=systemd
kvm=usable
vmx=1
qemu=qemu-system-x86_64
qemu_img=yes
packages=apt-get
has_gzip=yes
has_sha256sum=yes
sudo=password
home_free=1000
node=v20.19.2
`
const look = (over: Partial<HostLook> = {}): HostLook => ({ ...parseLook(DEBIAN), ...over })

describe('a look at a host', () => {
  it('reads what the script said', () => {
    expect(look()).toMatchObject({
      platform: 'Linux',
      isRoot: false,
      os: 'Debian GNU/Linux 12 (bookworm)',
      glibc: { major: 2, minor: 36 },
      init: 'systemd',
      kvm: 'usable',
      virtualisation: true,
      qemu: true,
      sudo: 'password',
      inGroup: true,
      homeFreeBytes: 1000,
      systemFreeBytes: undefined,
      nodeMajor: 20,
      agent: undefined,
    })
    expect(lookWords(look())).toBe('Debian GNU/Linux 12 (bookworm), x86_64, systemd, KVM')
  })

  it('a host that answers with a megabyte of digits holds nothing up', () => {
    const began = performance.now()
    expect(parseLook(`glibc=${'1'.repeat(1 << 20)}\n`).glibc).toBeUndefined()
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  it('takes a line that is missing or odd for unknown, never for a value', () => {
    expect(parseLook('noise\n=x\nuid=\nglibc=\nhome_free=lots\ninit=runit\nkvm=?\n')).toMatchObject({
      isRoot: false,
      glibc: undefined,
      init: 'none',
      kvm: 'absent',
      homeFreeBytes: undefined,
      qemu: false,
    })
  })

  it('reads what an installed agent says of itself', () => {
    const status = '{"running":true,"socket":"/run/eitri/agent.sock","agent_digest":"ab","fleet_id":""}'
    const { agent } = parseLook(`agent=/usr/local/bin/eitri-agent\nagent_status=${status}\n`)
    expect(agent).toEqual({
      executable: '/usr/local/bin/eitri-agent',
      status: { running: true, socket: '/run/eitri/agent.sock', agentDigest: 'ab', fleetId: '' },
    })
    expect(parseLook('agent=/x\nagent_status=segfault\n').agent).toEqual({ executable: '/x', status: undefined })
  })

  it('is made by a script this computer’s own sh understands', () => {
    const said = execFileSync('/bin/sh', ['-c', LOOK_SCRIPT], { encoding: 'utf8' })
    const here = parseLook(said)
    expect(here.platform).toBe('Linux')
    expect(here.home).toBe(process.env['HOME'])
    expect(here.homeFreeBytes).toBeGreaterThan(0)
  })
})

describe('the agent for a host', () => {
  it.each([
    ['glibc on x86_64', {}, 'executable'],
    ['a C library that does not say', { glibc: undefined }, 'executable'],
    ['musl with Node.js 24', { glibc: undefined, musl: true, nodeMajor: 24 }, 'bundle'],
    ['an old glibc with Node.js 24', { glibc: { major: 2, minor: 17 }, nodeMajor: 24 }, 'bundle'],
    ['another processor with Node.js 25', { machine: 'aarch64', nodeMajor: 25 }, 'bundle'],
  ])('on %s is found', (_, over, kind) => expect(executableFor(look(over), 'rack1', ['x86_64'])).toBe(kind))

  it.each([
    ['musl', { glibc: undefined, musl: true }, 'musl'],
    ['an old glibc', { glibc: { major: 2, minor: 17 } }, 'glibc is 2.17'],
    ['another processor', { machine: 'riscv64' }, 'riscv64'],
    ['another system', { platform: 'FreeBSD' }, 'FreeBSD'],
    ['no gunzip', { hasGunzip: false }, 'gunzip'],
  ])('does not exist for %s, which is named', (_, over, word) => {
    expect(() => executableFor(look(over), 'rack1', ['x86_64'])).toThrow(word)
    expect(() => executableFor(look(over), 'rack1', ['x86_64'])).toThrow(
      expect.objectContaining({ code: 'host/unsupported' }),
    )
  })

  it('is installed by root, by sudo where it is asked for, else for the login alone', () => {
    expect(installMode(look({ isRoot: true }), true, 'rack1')).toBe('root')
    expect(installMode(look(), true, 'rack1')).toBe('sudo')
    expect(installMode(look(), false, 'rack1')).toBe('user')
    expect(() => installMode(look({ sudo: 'none' }), true, 'rack1')).toThrow('there is no sudo"')
    expect(() => installMode(look({ sudo: 'none', doas: true }), true, 'rack1')).toThrow('its doas is not used')
  })
})

describe('missing packages', () => {
  it('are named with the one command of the host’s package manager', () => {
    expect(missingPackages(look())).toBeUndefined()
    const lacking = missingPackages(look({ qemu: false, qemuImg: false }))
    expect(lacking?.missing).toEqual(['qemu-system-x86_64', 'qemu-img'])
    expect(lacking?.command).toContain('apt-get install -y --no-install-recommends qemu-system-x86 qemu-utils')
  })

  it.each(PACKAGE_MANAGERS)('%s has a command for both processors', (manager) => {
    expect(qemuCommand(manager, 'x86_64')).toContain(manager)
    expect(qemuCommand(manager, 'aarch64')).toContain(manager)
  })

  it('have no command where no package manager is known', () => {
    expect(missingPackages(look({ qemu: false, packageManager: '' }))?.command).toBe('')
  })
})

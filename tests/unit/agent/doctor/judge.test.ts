import { describe, expect, it } from 'vitest'
import { doctorJson, doctorText } from '../../../../src/agent/doctor/doctor-text.ts'
import { type DoctorLook, exitCodeOf, judge } from '../../../../src/agent/doctor/judge.ts'
import { MiB } from '../../../../src/ipc/units.ts'

/** A root-owned Debian host where all is well; what differs is named. */
const aLook = (change: Partial<DoctorLook> = {}): DoctorLook => ({
  platform: 'linux',
  machine: 'x86_64',
  packageManager: 'apt-get',
  sudo: 'sudo ',
  login: 'ada',
  program: { version: '1.0.0', node: '24.1.0', command: '/usr/local/bin/eitri-agent', flags: '' },
  stateDir: { path: '/var/lib/eitri', exists: true, problem: '', freeBytes: 2 ** 40 },
  socket: {
    path: '/run/eitri/agent.sock',
    agent: { version: '1.0.0', pid: 7, stateDir: '/var/lib/eitri' },
    problem: '',
    denied: false,
  },
  others: [],
  lock: { pid: 7, alive: true },
  hypervisor: { name: 'qemu-system-x86_64', version: 'QEMU emulator version 9.0' },
  imageTool: 'qemu-img version 9.0',
  acceleration: { kind: 'kvm', detail: '' },
  kvm: { device: 'open', cpu: 'intel', module: true, insideVm: false },
  tools: { ip: '/sbin/ip', nft: '/sbin/nft', dnsmasq: '/sbin/dnsmasq', 'sftp-server': '/usr/lib/openssh/sftp-server' },
  modules: { tun: true, bridge: true },
  identity: { file: '/var/lib/eitri/identity.json', problem: '' },
  records: { count: 3, unreadable: [] },
  service: { startedBy: 'systemd', enabled: true, active: true, lingers: false },
  clockSynced: true,
  ...change,
})
const socket = { ...aLook().socket, agent: undefined, problem: 'No agent listens.' }
const tcg = { kind: 'tcg', detail: 'KVM did not run a guest.' } as const
const stateDir = aLook().stateDir
const userUnit = { startedBy: 'systemd-user', enabled: true, active: true, lingers: false }

describe('the doctor', () => {
  it('says ok of every part of a host where all is well, and ends with 0', () => {
    const findings = judge(aLook())
    expect(findings.filter(({ state }) => state !== 'ok')).toEqual([])
    expect(findings.length).toBeGreaterThan(12)
    expect(exitCodeOf(findings)).toBe(0)
    expect(doctorJson(findings)).toMatchObject({ ok: true, missing: [], warnings: [] })
  })

  it.each<[string, Partial<DoctorLook>, string, 'warning' | 'missing', string]>([
    [
      'no QEMU',
      { hypervisor: { name: 'qemu-system-x86_64', version: '' }, acceleration: { kind: '', detail: 'not installed' } },
      'hypervisor',
      'missing',
      'sudo apt-get update && sudo apt-get install -y --no-install-recommends qemu-system-x86',
    ],
    [
      'no qemu-img on Fedora',
      { imageTool: '', packageManager: 'dnf' },
      'qemu-img',
      'missing',
      'sudo dnf install -y qemu-img',
    ],
    [
      'no qemu-img on Alpine, as root',
      { imageTool: '', packageManager: 'apk', sudo: '' },
      'qemu-img',
      'missing',
      'apk add qemu-img',
    ],
    [
      'no vfkit on macOS, where brew refuses root',
      { platform: 'darwin', packageManager: 'brew', hypervisor: { name: 'vfkit', version: '' } },
      'hypervisor',
      'missing',
      'brew install vfkit',
    ],
    ['no package manager that is known', { imageTool: '', packageManager: '' }, 'qemu-img', 'missing', ''],
    [
      'a state directory of somebody else',
      { stateDir: { ...stateDir, problem: 'it may not be written by this user' } },
      'state directory',
      'missing',
      'sudo chown -R ada /var/lib/eitri',
    ],
    [
      'a full disk',
      { stateDir: { ...stateDir, freeBytes: 255 * MiB } },
      'disk space',
      'missing',
      'du -xh /var/lib/eitri | sort -h | tail',
    ],
    [
      'a disk that is nearly full',
      { stateDir: { ...stateDir, freeBytes: 1024 * MiB } },
      'disk space',
      'warning',
      'du -xh /var/lib/eitri | sort -h | tail',
    ],
    [
      'KVM that this user may not open',
      { acceleration: tcg, kvm: { device: 'refused', cpu: 'intel', module: true, insideVm: false } },
      'acceleration',
      'warning',
      'sudo usermod -aG kvm ada',
    ],
    [
      'a KVM module that is not loaded',
      { acceleration: tcg, kvm: { device: 'absent', cpu: 'amd', module: false, insideVm: false } },
      'acceleration',
      'warning',
      'sudo modprobe kvm_amd',
    ],
    [
      'a VM without nested virtualisation',
      { acceleration: tcg, kvm: { device: 'absent', cpu: '', module: false, insideVm: true } },
      'acceleration',
      'warning',
      '',
    ],
    [
      'virtualisation off in the firmware',
      { acceleration: tcg, kvm: { device: 'absent', cpu: '', module: false, insideVm: false } },
      'acceleration',
      'warning',
      '',
    ],
    ['a KVM that does not work', { acceleration: tcg }, 'acceleration', 'warning', ''],
    ['an agent that does not answer', { socket }, 'agent', 'warning', 'sudo systemctl restart eitri-agent'],
    [
      'an agent nothing supervises',
      { socket, service: undefined, program: { ...aLook().program, flags: ' --socket /x' } },
      'agent',
      'warning',
      '/usr/local/bin/eitri-agent start --socket /x',
    ],
    [
      'a socket of a group this user is not in',
      { socket: { ...socket, denied: true } },
      'agent',
      'warning',
      'sudo usermod -aG eitri ada',
    ],
    ['a lock whose holder says nothing', { socket, lock: { pid: 9, alive: true } }, 'lock', 'warning', 'ps -fp 9'],
    [
      'a damaged identity',
      { identity: { file: '/var/lib/eitri/identity.json', problem: 'cut off' } },
      'identity',
      'missing',
      '',
    ],
    [
      'a record that cannot be read',
      { records: { count: 3, unreadable: [{ file: '/v/1/record.json', problem: 'cut off' }] } },
      'VM records',
      'warning',
      'ls -l /v/1/record.json',
    ],
    [
      'an agent that was never installed',
      { service: undefined },
      'start after a reboot',
      'warning',
      'sudo /usr/local/bin/eitri-agent install --start',
    ],
    [
      'a login that does not linger',
      { service: userUnit },
      'start after a reboot',
      'warning',
      'loginctl enable-linger ada',
    ],
    [
      'a unit that is not enabled',
      { service: { ...userUnit, enabled: false, lingers: true } },
      'start after a reboot',
      'warning',
      'systemctl --user enable eitri-agent',
    ],
    ['a clock nobody keeps', { clockSynced: false }, 'clock', 'warning', 'sudo timedatectl set-ntp true'],
    [
      'a clock nobody knows of',
      { clockSynced: undefined, packageManager: 'zypper' },
      'clock',
      'warning',
      'sudo zypper --non-interactive install chrony',
    ],
    [
      'no dnsmasq',
      { tools: { ...aLook().tools, dnsmasq: '' }, packageManager: 'pacman' },
      'dnsmasq',
      'warning',
      'sudo pacman -S --noconfirm dnsmasq',
    ],
    ['no tun', { modules: { bridge: true } }, 'module tun', 'warning', 'sudo modprobe tun'],
    ['an old Node', { program: { ...aLook().program, node: '20.1.0' } }, 'agent program', 'missing', ''],
  ])('names %s, what breaks, and the exact command', (_why, change, part, state, mend) => {
    const findings = judge(aLook(change))
    const found = findings.find((one) => one.part === part)
    expect(found).toMatchObject({ state, mend })
    expect(found?.breaks).not.toBe('')
    expect(exitCodeOf(findings)).toBe(state === 'missing' ? 3 : 0)
  })

  it('takes neither a lock of the dead nor a host that was never used for trouble', () => {
    const fresh = aLook({
      lock: { pid: 9, alive: false },
      identity: undefined,
      records: { count: 0, unreadable: [] },
      stateDir: { ...stateDir, exists: false },
    })
    expect(judge(fresh).filter(({ state }) => state !== 'ok')).toEqual([])
  })

  it('names an agent that runs elsewhere, and never has a second one started beside it', () => {
    const others = [{ stateDir: '/root/app agent', socket: '/run/a.sock', pid: 99 }]
    const findings = judge(aLook({ socket, others, service: undefined, lock: undefined }))
    const of = (part: string) => findings.find((finding) => finding.part === part)
    expect(of('agent')).toMatchObject({
      detail: 'No agent listens. Another runs, pid 99, with --state-dir /root/app agent.',
      mend: "/usr/local/bin/eitri-agent doctor --state-dir '/root/app agent'",
    })
    expect(of('start after a reboot')).toMatchObject({ detail: expect.stringContaining('pid 99'), mend: '' })
    expect(findings.filter(({ mend }) => / (start|install)\b/.test(mend))).toEqual([])
  })

  it('asks nothing of Linux on a Mac', () => {
    const look = aLook({
      platform: 'darwin',
      imageTool: '',
      tools: {},
      modules: {},
      acceleration: { kind: 'vz', detail: '' },
    })
    expect(judge(look).filter(({ state }) => state !== 'ok')).toEqual([])
  })

  it('prints one line for each part, and under one that is not well what breaks and what mends it', () => {
    const text = doctorText(judge(aLook({ clockSynced: false })))
    expect(text).toMatch(/^ok {7}hypervisor {11}QEMU emulator version 9.0$/m)
    expect(text).toMatch(/^warning {2}clock .*\n {30}Certificates look .*\n {30}mend: sudo timedatectl set-ntp true$/m)
  })

  it('quotes what a shell would take apart', () => {
    const odd = { ...stateDir, path: "/srv/ada's vms", problem: 'it may not be written by this user' }
    const found = judge(aLook({ stateDir: odd })).find(({ part }) => part === 'state directory')
    expect(found?.mend).toBe("sudo chown -R ada '/srv/ada'\\''s vms'")
  })
})

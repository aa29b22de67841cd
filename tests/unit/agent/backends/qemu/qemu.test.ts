import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type BootRequest, noSerialPump } from '../../../../../src/agent/backends/backend.ts'
import { guestUuid } from '../../../../../src/agent/backends/guest-uuid.ts'
import { qemuOptions } from '../../../../../src/agent/backends/qemu/argv.ts'
import { failureReasonOf } from '../../../../../src/agent/backends/qemu/failure-reason.ts'
import { QemuBackend } from '../../../../../src/agent/backends/qemu/qemu-backend.ts'
import { diskArgv } from '../../../../../src/agent/backends/qemu/qemu-disk.ts'
import { QemuMachines, resolveMachine } from '../../../../../src/agent/backends/qemu/qemu-machines.ts'
import { findProcess, noteProcess, noteStart } from '../../../../../src/agent/backends/vmm-process.ts'
import { macOf } from '../../../../../src/agent/network/mac.ts'
import type { Run } from '../../../../../src/agent/os/exec.ts'
import type { Processes, ProcessIdentity } from '../../../../../src/agent/os/process.ts'
import { agentLayout } from '../../../../../src/agent/records/layout.ts'
import { systemClock } from '../../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { CLOCK_POLICIES } from '../../../../../src/ipc/clock-policy.ts'

const ID = '0123456789abcdef0123456789abcdef'
const files = {
  pidfile: 'qemu.pid',
  qmpSocketName: 'qmp.sock',
  serialSocketName: 'serial.sock',
  guestSocketName: 'guest.sock',
  serialLog: 'serial.log',
  disk: 'disk.qcow2',
  seed: 'seed.iso',
}
const disk = { kind: 'disk', file: '/images/x', format: 'raw', virtualBytes: 512 } as const
const kernel = { kind: 'kernel', kernel: '/k/kernel', initrd: '/k/initrd', cmdline: 'console=ttyS0 panic=1' } as const
const machine = (change = {}) => ({
  vmId: ID,
  machine: 'pc-q35-7.2',
  acceleration: 'tcg' as const,
  vcpus: 2,
  memMb: 96,
  clockPolicy: 'auto' as const,
  nics: [{ mac: '52:54:00:01:02:03' }],
  image: disk,
  ...change,
})

describe("QEMU's command line", () => {
  const options = (change = {}) => qemuOptions(machine(change), files)
  const argv = (change = {}) => options(change).flatMap(({ args }) => args)
  const flagValue = (args: string[], flag: string) => args[args.indexOf(flag) + 1]

  it('names a versioned machine and nothing QEMU would choose by itself', () => {
    const args = argv()
    expect(args).toEqual(expect.arrayContaining(['-nodefaults', '-no-user-config']))
    expect(flagValue(args, '-machine')).toBe('pc-q35-7.2')
    expect(flagValue(args, '-uuid')).toBe('01234567-89ab-cdef-0123-456789abcdef')
  })

  it('uses TCG with a small cache, or KVM with the CPU of the host', () => {
    expect([flagValue(argv(), '-accel'), flagValue(argv(), '-cpu')]).toEqual(['tcg,tb-size=32', 'max'])
    const kvm = argv({ acceleration: 'kvm' })
    expect([flagValue(kvm, '-accel'), flagValue(kvm, '-cpu')]).toEqual(['kvm', 'host'])
  })

  it('has a card for each NIC, on a tap of the host or translated', () => {
    const nics = [{ mac: '52:54:00:01:02:03', tap: 'eitri-012345678' }, { mac: '52:54:00:01:02:04' }]
    const args = argv({ nics })
    expect(args.filter((_, n) => args[n - 1] === '-netdev')).toEqual([
      'tap,id=net0,ifname=eitri-012345678,script=no,downscript=no',
      'user,id=net1',
    ])
    expect(args.filter((arg) => arg.startsWith('virtio-net-pci'))).toEqual([
      'virtio-net-pci,netdev=net0,mac=52:54:00:01:02:03,romfile=',
      'virtio-net-pci,netdev=net1,mac=52:54:00:01:02:04,romfile=',
    ])
  })

  it('the root disk is the first drive, the seed a read-only second', () => {
    const drives = argv().filter((arg) => arg.startsWith('if=none'))
    expect(drives).toEqual([
      'if=none,id=vda,file=disk.qcow2,format=qcow2,discard=unmap,werror=enospc',
      'if=none,id=vdb,file=seed.iso,format=raw,readonly=on',
    ])
  })

  it('records the serial port in a log that is appended to', () => {
    expect(argv()).toContain('socket,id=serial0,path=serial.sock,server=on,wait=off,logfile=serial.log,logappend=on')
  })

  it('has a channel for the guest agent, behind all other devices so that these keep their places', () => {
    const args = argv()
    expect(args).toContain('socket,id=guest0,path=guest.sock,server=on,wait=off')
    expect(args.slice(-6)).toEqual([
      ...['-device', 'virtio-serial-pci', '-chardev', 'socket,id=guest0,path=guest.sock,server=on,wait=off'],
      ...['-device', 'virtserialport,chardev=guest0,name=org.qemu.guest_agent.0'],
    ])
  })

  it("gives Windows Hyper-V's clock under KVM and a hardware clock in local time, and nobody else", () => {
    const windows = ['windows-standalone', 'windows-domain'] as const
    const hyperv = 'host,hv_time,hv_relaxed,hv_vapic,hv_spinlocks=0x1fff,hv_synic,hv_stimer'
    for (const clockPolicy of windows) {
      expect(flagValue(argv({ clockPolicy, acceleration: 'kvm' }), '-cpu')).toBe(hyperv)
      expect(flagValue(argv({ clockPolicy }), '-cpu')).toBe('max')
      expect(flagValue(argv({ clockPolicy }), '-rtc')).toBe('base=localtime')
    }
    for (const clockPolicy of CLOCK_POLICIES.filter((policy) => !windows.some((other) => other === policy))) {
      expect(flagValue(argv({ clockPolicy, acceleration: 'kvm' }), '-cpu')).toBe('host')
      expect(flagValue(argv({ clockPolicy }), '-rtc')).toBe('base=utc')
    }
  })

  it('never ties the hardware clock to the guest, which stands still with it', () => {
    for (const clockPolicy of CLOCK_POLICIES)
      for (const acceleration of ['kvm', 'tcg'])
        expect(argv({ clockPolicy, acceleration }).join(' ')).not.toContain('clock=')
  })

  it('boots a kernel image with its own command line, and lets the guest reboot', () => {
    const args = argv({ image: kernel })
    expect(flagValue(args, '-kernel')).toBe('/k/kernel')
    expect(flagValue(args, '-initrd')).toBe('/k/initrd')
    expect(flagValue(args, '-append')).toBe('console=ttyS0 panic=1')
    expect(args).not.toContain('-no-reboot')
    expect(argv()).not.toContain('-kernel')
  })

  it('says of every option what it is for', () => {
    for (const { args, why } of options({ image: kernel })) {
      expect(args[0]).toMatch(/^-/)
      expect(why.length).toBeGreaterThan(3)
    }
  })

  it('pins the machine behind the alias', () => {
    const help =
      'pc-q35-7.1           Standard PC\nq35                  Standard PC (Q35, 2009) (alias of pc-q35-7.2)\n'
    expect(resolveMachine(help)).toBe('pc-q35-7.2')
    expect(resolveMachine('microvm  microvm (i386)\n')).toBeUndefined()
  })

  it('makes an overlay with the format of its base, or an empty disk for a kernel', () => {
    expect(diskArgv(disk, 't', 4)).toEqual(['create', '-q', '-f', 'qcow2', '-b', '/images/x', '-F', 'raw', 't', '4G'])
    expect(diskArgv(kernel, 't', 4)).toEqual(['create', '-q', '-f', 'qcow2', 't', '4G'])
  })

  it('the MAC is a function of the VM id', () => {
    expect(macOf(ID)).toBe(macOf(ID))
    expect(macOf(ID)).toMatch(/^52:54:00(:[0-9a-f]{2}){3}$/)
    expect(macOf(ID, 1)).not.toBe(macOf(ID))
    expect(guestUuid(ID)).toHaveLength(36)
  })
})

describe('the machine types of the installed QEMU', () => {
  const helpOf = (version: string) =>
    `Supported machines are:\npc-q35-${version} x (alias of q35)\nq35 Standard PC (alias of pc-q35-${version})\n`
  /** A QEMU whose `-machine help` says the next of these each time, the last for ever. */
  const machines = (...versions: string[]) => {
    let asked = 0
    const run: Run = async () => {
      const version = versions[Math.min(asked++, versions.length - 1)]!
      return { code: 0, stdout: helpOf(version), stderr: '', timedOut: false }
    }
    return { types: new QemuMachines(run), asked: () => asked }
  }
  const { signal } = new AbortController()

  it('are asked for once while they hold what is needed', async () => {
    const { types, asked } = machines('7.2')
    expect(await types.newest(signal)).toBe('pc-q35-7.2')
    expect(await types.pinned('pc-q35-7.2', signal)).toBe('pc-q35-7.2')
    expect(asked()).toBe(1)
  })

  it('a pinned one that is gone is a permanent fault that names it and the newest', async () => {
    const { types } = machines('10.0')
    await expect(types.pinned('pc-q35-2.1', signal)).rejects.toMatchObject({
      code: 'vmm/machine-gone',
      disposition: 'permanent',
      params: { machine: 'pc-q35-2.1', newest: 'pc-q35-10.0' },
    })
  })

  it('a QEMU put in place since is asked again before a type counts as gone', async () => {
    const { types, asked } = machines('7.2', '10.0')
    await types.newest(signal)
    expect(await types.pinned('pc-q35-10.0', signal)).toBe('pc-q35-10.0')
    expect(asked()).toBe(2)
  })
})

const option = '-drive if=none,id=vda,file=disk.qcow2'
it.each([
  [
    'the complaint without the name of QEMU',
    'qemu-system-x86_64: -device x: not a device\n',
    '-device x: not a device',
  ],
  ['nothing for warnings alone', 'qemu-system-x86_64: warning: no AVX\n', ''],
  ['nothing for a told end', 'qemu-system-x86_64: terminating on signal 15 from pid 7\n', ''],
  ['nothing for nothing', '', ''],
  [
    'the complaint, not the hint behind it',
    'qemu-system-x86_64: unsupported machine type\nUse -machine help to list supported machines\n',
    'this QEMU does not know the machine type: unsupported machine type',
  ],
  [
    'what is understood before what is not',
    `qemu-system-x86_64: ${option}: Failed to get "write" lock\nIs another process using the image [disk.qcow2]?\n`,
    `another process uses its disk: ${option}: Failed to get "write" lock`,
  ],
  [
    'a full disk named as such',
    'qemu-system-x86_64: could not write pidfile: No space left on device\n',
    'the disk of the host is full: could not write pidfile: No space left on device',
  ],
  [
    'too little memory named as such',
    "qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory\n",
    "the host has not enough free memory: cannot set up guest memory 'pc.ram': Cannot allocate memory",
  ],
  [
    'a port in use named as such',
    "qemu-system-x86_64: -netdev user: Could not set up host forwarding rule 'tcp::1-:2'\n",
    "a port or socket it needs is in use: -netdev user: Could not set up host forwarding rule 'tcp::1-:2'",
  ],
  [
    'a refused permission before the file it was refused for',
    "qemu-system-x86_64: Could not open 'disk.qcow2': Permission denied\n",
    "the host does not permit it: Could not open 'disk.qcow2': Permission denied",
  ],
  [
    'a missing file named as such, whatever QEMU calls itself',
    "/usr/bin/qemu-system-x86_64: info: x\nqemu: could not open kernel file 'k': No such file or directory\n",
    "a file it needs cannot be opened: could not open kernel file 'k': No such file or directory",
  ],
  ['plain text without colours and control bytes', 'qemu-kvm: \x1b[31mbad\x1b[0m\x07 thing\r\n', 'bad thing'],
])('the reason of a failure is %s', (_why, log, reason) => {
  expect(failureReasonOf(log)).toBe(reason)
})

it('the reason of a failure is bounded, and keeps the end of a long line, which says why', () => {
  const reason = failureReasonOf(`qemu-system-x86_64: -drive ${'x'.repeat(100_000)}: Permission denied\n`)
  expect(reason).toMatch(/^the host does not permit it: x+: Permission denied$/)
  expect(reason.length).toBeLessThan(300)
})

describe('finding a QEMU again', () => {
  const vm = (dir: string) => agentLayout(dir).vmDir(ID)
  const identity: ProcessIdentity = { pid: 77, startTime: '1000', bootId: 'boot' }
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-qemu-'))
    await mkdir(vm(dir).dir, { recursive: true })
  })
  afterEach(() => rm(dir, { recursive: true }))

  const host = (change: Partial<Processes> = {}): Processes => ({
    bootId: () => 'boot',
    uptimeMs: () => 30_000,
    ageMs: () => 20_000,
    identify: (pid) => (pid === 77 ? identity : undefined),
    alive: (one) => one.startTime === '1000' && one.bootId === 'boot',
    signal: () => false,
    cwd: () => vm(dir).dir,
    hasArgument: () => true,
    ...change,
  })
  const note = (change: Partial<ProcessIdentity> = {}) =>
    noteProcess(vm(dir), {
      identity: { ...identity, ...change },
      startedAt: new Date(5),
      acceleration: 'tcg',
      machine: 'pc-q35-7.2',
    })

  it('takes the noted process when exactly that one runs', async () => {
    await note()
    expect(await findProcess(vm(dir), host(), Date.now)).toMatchObject({ identity, startedAt: new Date(5) })
  })

  it('lets go of the console of a VM that ended by itself, so that its viewers are told', async () => {
    const stopped: string[] = []
    const backend = new QemuBackend({
      run: () => Promise.reject(new Error('not asked')),
      detach: () => Promise.reject(new Error('not asked')),
      processes: host({ alive: () => false, identify: () => undefined, cwd: () => undefined }),
      clock: systemClock,
      log: silentLog,
      serial: { ...noSerialPump, stop: (id) => stopped.push(id) },
      acceleration: async () => 'tcg',
    })
    await note()
    expect(await backend.running(vm(dir))).toBeUndefined()
    expect(stopped).toEqual([ID])
    await backend.close()
  })

  it('is not started where its serial log is a named pipe, which it would wait for', async () => {
    execFileSync('mkfifo', [vm(dir).serialLog])
    const backend = new QemuBackend({
      run: () => Promise.reject(new Error('not asked')),
      detach: () => Promise.reject(new Error('not asked')),
      processes: host({ alive: () => false, identify: () => undefined, cwd: () => undefined }),
      clock: systemClock,
      log: silentLog,
      serial: noSerialPump,
      acceleration: () => Promise.reject(new Error('not asked')),
    })
    const request = { vm: vm(dir), machine: '' } as BootRequest
    await expect(backend.boot(request, AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: 'vm/start-failed',
      params: { detail: 'its console cannot be recorded in serial.log: it is a named pipe, not a regular file' },
    })
    await backend.close()
  })

  it('T53: never takes another process with its pid, nor one of an earlier boot', async () => {
    for (const change of [{ startTime: '9' }, { bootId: 'earlier' }]) {
      await note(change)
      expect(await findProcess(vm(dir), host(), Date.now)).toBeUndefined()
    }
  })

  it('takes the process of the pidfile when an agent died before its note, by its working directory', async () => {
    await writeFile(vm(dir).pidfile, '77\n')
    expect(await findProcess(vm(dir), host(), () => 100_000)).toMatchObject({
      identity,
      startedAt: new Date(80_000),
    })
    expect(await findProcess(vm(dir), host({ identify: () => undefined }), Date.now)).toMatchObject({ identity })
  })

  it('does not take a process of the pidfile that is no hypervisor of this VM, wherever it stands', async () => {
    await writeFile(vm(dir).pidfile, '77\n')
    expect(await findProcess(vm(dir), host({ hasArgument: () => false }), Date.now)).toBeUndefined()
  })

  it('does not take a noted process that is of another VM', async () => {
    await note()
    const other = host({ hasArgument: (_pid, argument) => argument === 'guest=another', cwd: () => '/vms/another' })
    expect(await findProcess(vm(dir), other, Date.now)).toBeUndefined()
  })

  it.each<[string, () => Promise<unknown>]>([
    ['is gone', async () => {}],
    ['is damaged', () => writeFile(vm(dir).hypervisor, 'junk')],
    ['cannot be read', () => mkdir(vm(dir).hypervisor)],
    ['names a process of another VM', () => note({ pid: 78 })],
    ['lies in a directory that was removed', () => rm(vm(dir).dir, { recursive: true })],
  ])('searches all processes when its note %s', async (_case, damage) => {
    await damage()
    const hasArgument = (pid: number, argument: string) => pid === 77 && argument === `guest=${ID}`
    const pidsIn = (at: string, argument: string) => (at === vm(dir).dir && hasArgument(77, argument) ? [77] : [])
    expect(await findProcess(vm(dir), host({ hasArgument, pidsIn }), Date.now)).toMatchObject({ identity })
  })

  it('trusts an older look through all processes only where nothing hints at one', async () => {
    const valid: unknown[] = []
    const pidsIn = (_dir: string, _argument: string, ms?: number) => {
      valid.push(ms)
      return []
    }
    const idle = host({ alive: () => false, pidsIn })
    await findProcess(vm(dir), idle, Date.now)
    await noteStart(vm(dir), idle)
    await findProcess(vm(dir), idle, Date.now)
    expect(valid.map(Boolean)).toEqual([true, true, false, false])
  })
})

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { qemuArgv, resolveMachine, uuidOf } from '../../../../../src/agent/backends/qemu/argv.ts'
import { failureReasonOf } from '../../../../../src/agent/backends/qemu/failure-reason.ts'
import { diskArgv } from '../../../../../src/agent/backends/qemu/qemu-disk.ts'
import { QmpClient, type QmpEvent } from '../../../../../src/agent/backends/qemu/qmp-client.ts'
import { findProcess, noteProcess } from '../../../../../src/agent/backends/vmm-process.ts'
import { macOf } from '../../../../../src/agent/network/mac.ts'
import type { Processes, ProcessIdentity } from '../../../../../src/agent/os/process.ts'
import { connectUnix } from '../../../../../src/agent/os/unix-socket.ts'
import { agentLayout } from '../../../../../src/agent/records/layout.ts'

const ID = '0123456789abcdef0123456789abcdef'
const files = {
  pidfile: 'qemu.pid',
  qmpSocketName: 'qmp.sock',
  serialSocketName: 'serial.sock',
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
  mac: '52:54:00:01:02:03',
  image: disk,
  ...change,
})

describe("QEMU's command line", () => {
  const argv = (change = {}) => qemuArgv(machine(change), files)
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

  it('CH-05: the root disk is the first drive, the seed a read-only second', () => {
    const drives = argv().filter((arg) => arg.startsWith('if=none'))
    expect(drives).toEqual([
      'if=none,id=vda,file=disk.qcow2,format=qcow2,discard=unmap',
      'if=none,id=vdb,file=seed.iso,format=raw,readonly=on',
    ])
  })

  it('records the serial port in a log that is appended to', () => {
    expect(argv()).toContain('socket,id=serial0,path=serial.sock,server=on,wait=off,logfile=serial.log,logappend=on')
  })

  it('boots a kernel image with its own command line, and lets the guest reboot', () => {
    const args = argv({ image: kernel })
    expect(flagValue(args, '-kernel')).toBe('/k/kernel')
    expect(flagValue(args, '-initrd')).toBe('/k/initrd')
    expect(flagValue(args, '-append')).toBe('console=ttyS0 panic=1')
    expect(args).not.toContain('-no-reboot')
    expect(argv()).not.toContain('-kernel')
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

  it('CRE-15: the MAC is a function of the VM id', () => {
    expect(macOf(ID)).toBe(macOf(ID))
    expect(macOf(ID)).toMatch(/^52:54:00(:[0-9a-f]{2}){3}$/)
    expect(macOf(ID, 1)).not.toBe(macOf(ID))
    expect(uuidOf(ID)).toHaveLength(36)
  })
})

it.each([
  [
    'the complaint without the name of QEMU',
    'qemu-system-x86_64: -drive x: Could not open\n',
    '-drive x: Could not open',
  ],
  ['nothing for warnings alone', 'qemu-system-x86_64: warning: no AVX\n', ''],
  ['nothing for a told end', 'qemu-system-x86_64: terminating on signal 15 from pid 7\n', ''],
  ['nothing for nothing', '', ''],
])('CH-04: the reason of a failure is %s', (_why, log, reason) => {
  expect(failureReasonOf(log)).toBe(reason)
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

  it('does not take a process of the pidfile that works elsewhere', async () => {
    await writeFile(vm(dir).pidfile, '77\n')
    expect(await findProcess(vm(dir), host({ cwd: () => '/' }), Date.now)).toBeUndefined()
  })
})

describe('the QEMU monitor', () => {
  let dir: string
  let server: Server
  let behave: (socket: Socket, line: string) => void
  let greet: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-qmp-'))
    greet = '{"QMP": {"version": {}}}\n'
    behave = (socket, line) => {
      const { id } = JSON.parse(line) as { id: number }
      socket.write(`${JSON.stringify({ return: {}, id })}\n`)
    }
    server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write(greet)
      socket.on('data', (data) => {
        for (const line of data.toString().trim().split('\n')) behave(socket, line)
      })
    })
    await new Promise<void>((resolve) => server.listen(join(dir, 'q'), resolve))
  })
  afterEach(async () => {
    server.close()
    await rm(dir, { recursive: true })
  })
  const open = async (onEvent: (event: QmpEvent) => void = () => {}) =>
    await QmpClient.open(await connectUnix(dir, 'q', 1_000), onEvent)

  it('answers go to the command they belong to, events to whoever listens', async () => {
    const client = await open((event) => events.push(event.event))
    const events: string[] = []
    const held: { socket: Socket; id: number; name: string }[] = []
    behave = (socket, line) => {
      const { id, execute } = JSON.parse(line) as { id: number; execute: string }
      held.push({ socket, id, name: execute })
      if (held.length === 2)
        for (const one of held.toReversed())
          one.socket.write(`{"event": "STOP", "data": {}}\n${JSON.stringify({ return: one.name, id: one.id })}\n`)
    }
    expect(await Promise.all([client.execute('a'), client.execute('b')])).toEqual(['a', 'b'])
    expect(events).toEqual(['STOP', 'STOP'])
    client.close()
  })

  it('an error answer is its words', async () => {
    const client = await open()
    behave = (socket, line) => {
      const { id } = JSON.parse(line) as { id: number }
      socket.write(`${JSON.stringify({ id, error: { class: 'GenericError', desc: 'no such thing' } })}\n`)
    }
    await expect(client.execute('x')).rejects.toMatchObject({
      code: 'vmm/failed',
      params: { detail: 'no such thing' },
    })
    client.close()
  })

  it('a QEMU that does not greet is unresponsive, and is let go', async () => {
    greet = ''
    await expect(open()).rejects.toThrow('does not answer on its monitor')
  })

  it('a monitor that closes fails what waits, and says so once', async () => {
    const client = await open()
    behave = (socket) => socket.destroy()
    await expect(client.execute('quit')).rejects.toThrow('its monitor closed')
    await client.closed
    await expect(client.execute('x')).rejects.toThrow('its monitor is closed')
  })

  it('what is not JSON, or never ends its line, closes it', async () => {
    const polite = behave
    for (const noise of ['nonsense\n', 'x'.repeat(1024 * 1024 + 1)]) {
      behave = polite
      const client = await open()
      behave = (socket) => socket.write(noise)
      await expect(client.execute('x')).rejects.toThrow('its monitor closed')
    }
  })
})

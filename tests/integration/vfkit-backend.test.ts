import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SerialTarget } from '../../src/agent/backends/backend.ts'
import { vfkitPlaces } from '../../src/agent/backends/vfkit/places.ts'
import { VfkitBackend, type VfkitDeps } from '../../src/agent/backends/vfkit/vfkit-backend.ts'
import { VfkitClient } from '../../src/agent/backends/vfkit/vfkit-client.ts'
import type { BootImage } from '../../src/agent/images/image-cache.ts'
import { macOf } from '../../src/agent/network/mac.ts'
import { detach, run } from '../../src/agent/os/exec.ts'
import { linuxProcesses, type Processes } from '../../src/agent/os/process.ts'
import { agentLayout, type VmLayout } from '../../src/agent/records/layout.ts'
import { type Clock, systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { GiB } from '../../src/ipc/units.ts'
import { FakeMac, VFKIT_BANNER } from '../support/fake-vfkit.ts'

const ID = 'c'.repeat(32)
const live = () => AbortSignal.timeout(60_000)
const calm = () => new AbortController().signal
const spec = create(VmSpecSchema, { vmId: ID, name: 'web', vcpus: 2, memMb: 512, diskGb: 1 })

describe('vfkit', () => {
  let stateDir: string
  let mac: FakeMac
  let vm: VmLayout
  let image: BootImage
  let backend: VfkitBackend
  let serial: SerialTarget | undefined
  const backends: VfkitBackend[] = []

  const open = (change: Partial<VfkitDeps> = {}) => {
    const ensure = (target: SerialTarget) => {
      serial = target
    }
    const opened = new VfkitBackend({
      program: mac.vfkit,
      run,
      detach,
      processes: linuxProcesses(),
      clock: systemClock,
      log: silentLog,
      serial: { ensure, stop() {}, forget() {} },
      leases: mac.leases,
      platform: 'linux',
      ...change,
    })
    backends.push(opened)
    return opened
  }
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'eitri-vfkit-'))
    mac = new FakeMac(join(stateDir, 'mac'))
    vm = agentLayout(stateDir).vmDir(ID)
    await mkdir(vm.dir, { recursive: true })
    await writeFile(vm.seed, 'seed')
    const file = join(stateDir, 'image')
    await writeFile(file, Buffer.alloc(4096, 7))
    image = { kind: 'disk', file, format: 'raw', virtualBytes: 4096 }
    serial = undefined
    backend = open()
  })
  afterEach(async () => {
    mac.behave({})
    await open().destroy(vm)
    for (const one of backends.splice(0)) await one.close()
    await rm(stateDir, { recursive: true, force: true })
  })

  const boot = async (from = backend) => {
    if (!existsSync(vfkitPlaces(vm).disk)) await from.prepareRootDisk(vm, spec, image, live())
    return await from.boot({ vm, spec, image, machine: '' }, live())
  }
  const pid = async () => (JSON.parse(await readFile(vfkitPlaces(vm).hypervisor, 'utf8')) as { pid: number }).pid
  const asked = () => mac.requests().map(({ asked, body }) => (body === '' ? asked : `${asked} ${body}`))
  const changes = () => asked().filter((line) => line.startsWith('POST'))
  const stop = (graceMs: number, from = backend) => from.shutdown(vm, { graceMs, hurry: calm() }, live())
  const printed = async (text: string, times = 1) => {
    const log = () => readFile(vm.serialLog, 'latin1').catch(() => '')
    await expect.poll(log, { timeout: 20_000 }).toSatisfy((seen: string) => seen.split(text).length > times)
    return await log()
  }

  describe('its start', () => {
    it('names the acceleration, keeps its log to itself, and is the same guest when asked again', async () => {
      const booted = await boot()
      expect(booted).toMatchObject({ acceleration: 'vz', machine: 'vz' })
      expect((await boot()).startedAt).toEqual(booted.startedAt)
      expect((await stat(vfkitPlaces(vm).log)).mode & 0o777).toBe(0o600)
      expect((await stat(vfkitPlaces(vm).socketDir)).mode & 0o777).toBe(0o700)
    })

    it('makes the variable store once and keeps it', async () => {
      await boot()
      const first = await readFile(vfkitPlaces(vm).variableStore, 'utf8')
      await stop(5_000)
      await boot()
      expect(await readFile(vfkitPlaces(vm).variableStore, 'utf8')).toBe(first)
    })

    it('removes the socket a crashed vfkit left', async () => {
      await boot()
      process.kill(await pid(), 'SIGKILL')
      await expect.poll(() => backend.running(vm)).toBeUndefined()
      expect(existsSync(vfkitPlaces(vm).restSocket)).toBe(true)
      await boot()
      expect(await backend.running(vm)).toBeDefined()
    })

    it('boots a kernel image on an empty disk', async () => {
      const kernel = Buffer.alloc(128)
      kernel.write('ARMd', 0x38)
      const [file, initrd] = [join(stateDir, 'kernel'), join(stateDir, 'initrd')]
      await writeFile(file, kernel)
      await writeFile(initrd, 'initrd')
      image = { kind: 'kernel', kernel: file, initrd, cmdline: 'quiet' }
      await boot()
      expect((await stat(vfkitPlaces(vm).disk)).size).toBe(GiB)
      expect(existsSync(vfkitPlaces(vm).variableStore)).toBe(false)
    })

    it.each([
      ['its own words when it refuses', { refuses: 'no entitlement com.apple.security.virtualization' }, 'entitlement'],
      ['its own words when the kernel is compressed', { arch: 'arm64' }, 'kernel must be uncompressed'],
    ])('fails in %s', async (_why, behaviour, words) => {
      mac.behave(behaviour)
      const kernel = join(stateDir, 'bzImage')
      await writeFile(kernel, 'compressed')
      image = { kind: 'kernel', kernel, initrd: kernel, cmdline: 'quiet' }
      await expect(boot()).rejects.toMatchObject({
        code: 'vm/start-failed',
        params: { detail: expect.stringContaining(words) },
      })
      expect(await backend.failureReason(vm)).toContain(words)
      expect(await backend.running(vm)).toBeUndefined()
    })

    it('is refused before anything is fetched where there is no vfkit', async () => {
      await expect(open({ program: join(stateDir, 'none') }).preflight(live())).rejects.toMatchObject({
        code: 'vmm/missing',
        disposition: 'permanent',
      })
      await backend.preflight(live())
    })
  })

  describe('its root disk', () => {
    it('is the image and a hole behind it, up to the size asked for', async () => {
      await backend.prepareRootDisk(vm, spec, image, live())
      const found = await stat(vfkitPlaces(vm).disk)
      expect(found.size).toBe(GiB)
      expect(found.blocks * 512).toBeLessThan(1024 * 1024)
      expect((await readFile(vfkitPlaces(vm).disk)).subarray(0, 4097)).toEqual(
        Buffer.concat([Buffer.alloc(4096, 7), Buffer.alloc(1)]),
      )
    })

    it('is converted from a qcow2', async () => {
      const file = join(stateDir, 'image.qcow2')
      await run('disk.create', 'qemu-img', ['create', '-q', '-f', 'qcow2', file, '8M'], { timeoutMs: 30_000 })
      await run('disk.create', 'qemu-io', ['-c', 'write -P 0x5a 0 512', file], { timeoutMs: 30_000 })
      await backend.prepareRootDisk(vm, spec, { kind: 'disk', file, format: 'qcow2', virtualBytes: 8 << 20 }, live())
      const disk = await readFile(vfkitPlaces(vm).disk)
      expect([disk.length, disk[0], disk[511], disk[512]]).toEqual([GiB, 0x5a, 0x5a, 0])
    })

    it('needs qemu-img for a qcow2, and says what else would do', async () => {
      const absent: VfkitDeps['run'] = () => Promise.reject(Object.assign(new Error('spawn'), { code: 'ENOENT' }))
      const qcow2: BootImage = { kind: 'disk', file: join(stateDir, 'image'), format: 'qcow2', virtualBytes: 512 }
      await expect(open({ run: absent }).prepareRootDisk(vm, spec, qcow2, live())).rejects.toMatchObject({
        code: 'vmm/missing',
        disposition: 'permanent',
        params: { detail: expect.stringContaining('use a raw image') },
      })
      expect(existsSync(vfkitPlaces(vm).disk)).toBe(false)
    })
  })

  describe('its console', () => {
    it('is recorded from the first byte, and takes what is typed unchanged', async () => {
      await boot()
      await printed(VFKIT_BANNER)
      const typed = '\x03\x13\x04 a\nb\r\x7f\xff'
      const input = await serial!.connect()
      input.end(Buffer.from(typed, 'latin1'))
      expect(await printed(typed)).toContain(VFKIT_BANNER)
    })

    it('goes on in the same log when another agent takes it up, what was printed meanwhile included', async () => {
      await boot()
      await printed(VFKIT_BANNER)
      const first = await serial!.connect()
      first.end('before ')
      await printed('before ')
      await backend.close()
      await writeFile(await new VfkitClient().pty(vfkitPlaces(vm).restSocket), 'between ')
      const next = open()
      await next.running(vm)
      await expect.poll(() => serial!.connect().catch(() => undefined)).toBeDefined()
      const input = await serial!.connect()
      input.end('after')
      expect(await printed('after')).toBe(`${VFKIT_BANNER}before between after`)
    })

    it('that vfkit does not name yet is a complaint until it does, and the guest runs', async () => {
      mac.behave({ ptyAfter: 3 })
      await boot()
      await expect
        .poll(() => backend.complaint(vm))
        .toEqual({ code: 'console/unavailable', detail: 'vfkit inspect: no serial PTY yet', paused: false })
      await printed(VFKIT_BANNER)
      expect(backend.complaint(vm)).toBeUndefined()
    })

    it('has a new terminal after each start', async () => {
      await boot()
      await printed(VFKIT_BANNER)
      await stop(5_000)
      await boot()
      await printed(VFKIT_BANNER, 2)
    })
  })

  describe('its address', () => {
    it('is what macOS leased to its MAC', async () => {
      expect(await backend.address(vm)).toBe('')
      mac.behave({ lease: { file: mac.leases, ip: '192.168.64.7' } })
      await boot()
      await expect.poll(() => backend.address(vm)).toBe('192.168.64.7')
      expect(await backend.networkAddress()).toBe('')
    })

    it('is looked for in the first mebibyte of leases, and unknown where they cannot be read', async () => {
      const stanza = `{\n\tip_address=192.168.64.8\n\thw_address=1,${macOf(ID)}\n\tlease=0x1\n}\n`
      await writeFile(mac.leases, Buffer.concat([Buffer.alloc(1024 * 1024, 0xfe), Buffer.from(stanza)]))
      expect(await backend.address(vm)).toBe('')
      await writeFile(mac.leases, Buffer.concat([Buffer.from(stanza), Buffer.alloc(8 * 1024 * 1024, 0xfe)]))
      expect(await backend.address(vm)).toBe('192.168.64.8')
      expect(await open({ leases: stateDir }).address(vm)).toBe('')
    })
  })

  describe('its stop', () => {
    it('asks the guest and nothing more', async () => {
      await boot()
      await stop(20_000)
      expect(changes()).toEqual(['POST /vm/state {"state":"Stop"}'])
      expect(await backend.running(vm)).toBeUndefined()
      expect(existsSync(vfkitPlaces(vm).restSocket)).toBe(false)
    })

    it('does not ask when it was told not to', async () => {
      await boot()
      await stop(0)
      expect(changes()).toEqual(['POST /vm/state {"state":"HardStop"}'])
    })

    it('forces a deaf guest off once its grace is over', async () => {
      mac.behave({ deaf: true })
      await boot()
      await stop(300)
      expect(changes()).toEqual(['POST /vm/state {"state":"Stop"}', 'POST /vm/state {"state":"HardStop"}'])
      expect(await backend.running(vm)).toBeUndefined()
    })

    it('does not ask a guest that macOS says cannot be asked', async () => {
      mac.behave({ canStop: false })
      await boot()
      await stop(300)
      expect(changes()).toEqual(['POST /vm/state {"state":"HardStop"}'])
    })

    it('lets a paused guest run first, else it would not notice', async () => {
      await boot()
      const { restSocket } = vfkitPlaces(vm)
      await new VfkitClient().change(restSocket, 'Pause')
      await stop(20_000)
      expect(changes().slice(1)).toEqual(['POST /vm/state {"state":"Resume"}', 'POST /vm/state {"state":"Stop"}'])
    })

    it('takes an end without an answer for an end', async () => {
      mac.behave({ endsBeforeReply: true })
      await boot()
      await stop(0)
      expect(await backend.running(vm)).toBeUndefined()
    })

    it('goes on to SIGTERM when a forced stop is refused', async () => {
      mac.behave({ deaf: true, hardStopFails: 'Internal Virtualization error', termMs: 100 })
      await boot()
      await stop(0)
      expect(await backend.running(vm)).toBeUndefined()
      expect(await readFile(vfkitPlaces(vm).log, 'utf8')).toContain('captured terminated')
    })

    it('tells a vfkit that does not answer by SIGTERM, so that its guest is asked after all', async () => {
      await boot()
      mac.behave({ answers: 'reset' })
      await stop(60_000)
      expect(await backend.running(vm)).toBeUndefined()
      expect(await readFile(vfkitPlaces(vm).log, 'utf8')).toContain('captured terminated')
    })

    it('ends with SIGKILL where nothing else does', async () => {
      await boot()
      mac.behave({ answers: 'reset', ignoresTerm: true, deaf: true })
      const hasty: Clock = {
        ...systemClock,
        monotonic: () => systemClock.monotonic() * 20,
        sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
      }
      await stop(0, open({ clock: hasty }))
      expect(await backend.running(vm)).toBeUndefined()
    })
  })

  describe('its process', () => {
    it('that may not be killed is reported and its note kept', async () => {
      await boot()
      const refusing: Processes = {
        ...linuxProcesses(),
        signal: () => {
          throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
        },
      }
      const unable = open({ processes: refusing })
      const detail = `process ${await pid()} cannot be killed`
      await expect(unable.destroy(vm)).rejects.toMatchObject({ code: 'vm/stop-failed', params: { detail } })
      expect(existsSync(vfkitPlaces(vm).hypervisor)).toBe(true)
      expect(existsSync(vfkitPlaces(vm).pidfile)).toBe(true)
      expect(await open().running(vm)).toBeDefined()
    })

    it('is not started a second time when nobody can look at the first', async () => {
      await boot()
      const blind: Processes = {
        ...linuxProcesses(),
        alive: () => {
          throw new Error('ps says nothing')
        },
      }
      await expect(boot(open({ processes: blind }))).rejects.toThrow('ps says nothing')
      expect(await backend.running(vm)).toBeDefined()
    })
  })
})

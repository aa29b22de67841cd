import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { noSerialPump } from '../../src/agent/backends/backend.ts'
import { QemuBackend, type QemuDeps } from '../../src/agent/backends/qemu/qemu-backend.ts'
import { VmMeter } from '../../src/agent/facts/vm-meter.ts'
import type { BootImage } from '../../src/agent/images/image-cache.ts'
import { detach, run } from '../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../src/agent/os/process.ts'
import { agentLayout, type VmLayout } from '../../src/agent/records/layout.ts'
import { writeSeed } from '../../src/agent/seed/seed.ts'
import { compareCommands } from '../../src/agent/show-command/compare-commands.ts'
import { procArgv } from '../../src/agent/show-command/show-command.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { bootSector } from '../support/boot-sector.ts'

const ID = 'd'.repeat(32)
const live = () => AbortSignal.timeout(60_000)
const calm = () => new AbortController().signal

/** A guest that resets the machine as soon as it runs: mov dx, 0xcf9; mov al, 6; out dx, al. */
function resettingSector(): Buffer {
  const sector = bootSector()
  sector.set([0xba, 0xf9, 0x0c, 0xb0, 0x06, 0xee, 0xf4])
  return sector
}

/** A guest that writes one sector every 64 KiB of its disk, for ever; a write that fails is never told to it. */
function writingSector(): Buffer {
  const sector = bootSector()
  sector.set([0x31, 0xc0, 0x8e, 0xd8, 0x8e, 0xd0, 0xbc, 0x00, 0x7c]) // ds = ss = 0, stack below the code
  sector.set([0xbe, 0x20, 0x7c, 0xb8, 0x00, 0x43, 0xcd, 0x13], 9) // int 13h, extended write of the packet at 7c20
  sector.set([0x81, 0x06, 0x28, 0x7c, 0x80, 0x00, 0x83, 0x16, 0x2a, 0x7c, 0x00, 0xeb, 0xeb], 17) // + 128 sectors, again
  sector.set([0x10, 0x00, 0x01, 0x00, 0x00, 0x7c, 0x00, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 0], 32)
  return sector
}

describe('QEMU in trouble', () => {
  let stateDir: string
  let vm: VmLayout
  let backend: QemuBackend
  const spec = create(VmSpecSchema, { vmId: ID, name: 'web', vcpus: 1, memMb: 64, diskGb: 1 })
  const backendWith = (change: Partial<QemuDeps> = {}) =>
    new QemuBackend({
      run,
      detach,
      processes: linuxProcesses(),
      clock: systemClock,
      log: silentLog,
      serial: noSerialPump,
      acceleration: async () => 'tcg',
      ...change,
    })

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'eitri-qemu-'))
    vm = agentLayout(stateDir).vmDir(ID)
    await mkdir(vm.dir, { recursive: true })
    backend = backendWith()
  })
  afterEach(async () => {
    await backend.destroy(vm)
    await backend.close()
    await rm(stateDir, { recursive: true, force: true })
  })

  const boot = async (sector = bootSector()) => {
    const file = join(stateDir, 'image')
    await writeFile(file, sector)
    const image: BootImage = { kind: 'disk', file, format: 'raw', virtualBytes: sector.length }
    await backend.prepareRootDisk(vm, spec, image, live())
    const seed = {
      vmId: ID,
      hostname: 'web',
      authorizedKeys: [],
      userData: new Uint8Array(),
      ssh: { userCas: [] },
      clock: 'auto' as const,
    }
    await writeSeed(vm.seed, { ...seed, mac: '52:54:00:00:00:01' }, 0)
    return await backend.boot({ vm, spec, image, machine: '' }, live())
  }
  const pid = async () => (JSON.parse(await readFile(vm.hypervisor, 'utf8')) as { pid: number }).pid

  it('a guest takes CPU time and memory of its host, and is named by its process and what it really runs on', async () => {
    await boot()
    const running = await backend.running(vm)
    expect(running).toMatchObject({ acceleration: 'tcg', identity: { pid: await pid() } })
    const meter = new VmMeter({ monotonic: systemClock.monotonic })
    const looked = async () => {
      await meter.measure([{ id: vm.id, dir: vm.dir, process: running?.identity }])
      return meter.of(vm.id)?.cpuTimeMs ?? 0n
    }
    await expect.poll(looked, { timeout: 30_000 }).toBeGreaterThan(0n)
    expect(meter.of(vm.id)?.rssBytes).toBeGreaterThan(1024n ** 2n)
    expect(meter.of(vm.id)?.pssBytes).toBeGreaterThan(1024n ** 2n)
    expect(meter.of(vm.id)?.diskUsedBytes).toBeGreaterThan(0n)
  })

  it('a guest without ACPI is ended by quit once its grace is over', async () => {
    await boot()
    await backend.shutdown(vm, { graceMs: 300, hurry: calm() }, live())
    expect(await backend.running(vm)).toBeUndefined()
  })

  it('a hung QEMU is named as such, and is still stopped', async () => {
    await boot()
    const stopped = await pid()
    await backend.close()
    const hurried = { ...systemClock, monotonic: () => systemClock.monotonic() * 20 }
    backend = backendWith({ clock: hurried })
    process.kill(stopped, 'SIGSTOP')
    await backend.running(vm)
    await expect.poll(() => backend.complaint(vm), { timeout: 10_000 }).toMatchObject({ code: 'vm/hung' })
    expect(await backend.running(vm)).toBeDefined()
    backend = backendWith()
    await backend.shutdown(vm, { graceMs: 100, hurry: calm() }, live())
    expect(await backend.running(vm)).toBeUndefined()
  })

  it('a guest that resets itself over and over is noticed while it runs', async () => {
    await boot(resettingSector())
    await expect.poll(() => backend.complaint(vm), { timeout: 30_000 }).toMatchObject({ code: 'vm/resetting' })
    expect(await backend.running(vm)).toBeDefined()
  })

  it('a guest whose disk the host has no room for is paused, named, and goes on once there is room', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'eitri-test', vm.dir])
    try {
      await boot(writingSector())
      const looked = async () => {
        await backend.running(vm)
        return backend.complaint(vm)
      }
      await expect
        .poll(looked, { timeout: 30_000 })
        .toEqual({ code: 'vm/io-error', detail: 'no space left', paused: true })
      execFileSync('mount', ['-o', 'remount,size=300m', vm.dir])
      await expect.poll(looked, { timeout: 30_000 }).toBeUndefined()
      await backend.destroy(vm)
    } finally {
      execFileSync('umount', ['-l', vm.dir])
    }
  })

  it('a VM pinned to a machine type this QEMU does not know is not started, and the type is named', async () => {
    await boot()
    await backend.shutdown(vm, { graceMs: 0, hurry: calm() }, live())
    const image: BootImage = { kind: 'disk', file: join(stateDir, 'image'), format: 'raw', virtualBytes: 512 }
    await expect(backend.boot({ vm, spec, image, machine: 'pc-q35-1.0' }, live())).rejects.toMatchObject({
      code: 'vmm/machine-gone',
      params: { machine: 'pc-q35-1.0' },
    })
    expect(await backend.running(vm)).toBeUndefined()
  })

  it('the command line that is shown is the one that runs', async () => {
    await boot()
    const image: BootImage = { kind: 'disk', file: join(stateDir, 'image'), format: 'raw', virtualBytes: 512 }
    const shown = await backend.command({ vm, spec, image, machine: '' }, live())
    const runs = await procArgv(await pid())
    expect(runs).toEqual(shown.flatMap(({ args }) => args))
    expect(compareCommands(runs!, shown).filter(({ where }) => where !== 'both')).toEqual([])
  })

  it('a process told to end by a signal is kept with that reason, and is no power-off of the guest', async () => {
    await boot()
    process.kill(await pid(), 'SIGTERM')
    await expect.poll(() => backend.running(vm)).toBeUndefined()
    expect(await backend.failureReason(vm)).toBe('its process was told to end')
    expect(backend.endedCleanly(vm)).toBe(false)
  })

  it('a disk QEMU cannot open fails the start in its own words', async () => {
    await boot()
    await backend.shutdown(vm, { graceMs: 0, hurry: calm() }, live())
    await writeFile(vm.disk, 'not a qcow2')
    const image: BootImage = { kind: 'disk', file: join(stateDir, 'image'), format: 'raw', virtualBytes: 512 }
    await expect(backend.boot({ vm, spec, image, machine: '' }, live())).rejects.toMatchObject({
      code: 'vm/start-failed',
      params: { detail: expect.stringContaining('not in qcow2 format') },
    })
    expect(await backend.failureReason(vm)).toContain('not in qcow2 format')
  })

  it('a host without QEMU says so before anything is fetched', async () => {
    const absent: QemuDeps['run'] = () => Promise.reject(Object.assign(new Error('spawn'), { code: 'ENOENT' }))
    await expect(backendWith({ run: absent }).preflight(live())).rejects.toMatchObject({
      code: 'vmm/missing',
      disposition: 'permanent',
      params: { detail: 'qemu-system-x86_64 is not installed' },
    })
  })
})

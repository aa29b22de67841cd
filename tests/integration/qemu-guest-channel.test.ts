import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { noSerialPump } from '../../src/agent/backends/backend.ts'
import { QemuBackend } from '../../src/agent/backends/qemu/qemu-backend.ts'
import { GuestAgent } from '../../src/agent/guest/guest-agent.ts'
import type { BootImage } from '../../src/agent/images/image-cache.ts'
import { detach, run } from '../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../src/agent/os/process.ts'
import { agentLayout, type VmLayout } from '../../src/agent/records/layout.ts'
import { writeSeed } from '../../src/agent/seed/seed.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { bootSector } from '../support/boot-sector.ts'
import { QmpProxy } from '../support/qmp-proxy.ts'

const ID = '0c4a'.repeat(8)
const live = () => AbortSignal.timeout(60_000)

describe('a guest under QEMU', () => {
  let stateDir: string
  let vm: VmLayout
  let backend: QemuBackend
  const newBackend = () =>
    new QemuBackend({
      run,
      detach,
      processes: linuxProcesses(),
      clock: systemClock,
      log: silentLog,
      serial: noSerialPump,
      acceleration: async () => 'tcg',
    })

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'eitri-channel-'))
    vm = agentLayout(stateDir).vmDir(ID)
    await mkdir(vm.dir, { recursive: true })
    backend = newBackend()
    const file = join(stateDir, 'image')
    const sector = bootSector()
    await writeFile(file, sector)
    const spec = create(VmSpecSchema, { vmId: ID, name: 'web', vcpus: 1, memMb: 64, diskGb: 1 })
    const image: BootImage = { kind: 'disk', file, format: 'raw', virtualBytes: sector.length }
    await backend.prepareRootDisk(vm, spec, image, live())
    const seed = { vmId: ID, hostname: 'web', authorizedKeys: [], userData: new Uint8Array(), mac: '52:54:00:00:00:01' }
    await writeSeed(vm.seed, { ...seed, clock: 'auto', ssh: { userCas: [] } }, 0)
    await backend.boot({ vm, spec, image, machine: '' }, live())
  })
  afterEach(async () => {
    await backend.destroy(vm)
    await backend.close()
    await rm(stateDir, { recursive: true, force: true })
  })

  it('has a channel that opens although nothing in it listens, and is silent', async () => {
    const agent = new GuestAgent({ connect: () => backend.guestChannel(vm), answerMs: 300 })
    for (let i = 0; i < 3; i++)
      await expect(agent.execute('guest-ping')).rejects.toMatchObject({
        trouble: 'silent',
        message: expect.stringMatching('within'),
      })
    agent.close()
  })

  it('is told of when it goes on after a pause, and only then', async () => {
    await backend.close()
    await using qemu = await QmpProxy.open(vm.dir, vm.qmpSocketName)
    backend = newBackend()
    const resumed: string[] = []
    backend.onResume((vmId) => resumed.push(vmId))
    await backend.running(vm)
    await qemu.execute('stop')
    expect(resumed).toEqual([])
    await qemu.execute('cont')
    await expect.poll(() => resumed, { timeout: 10_000 }).toEqual([ID])
    await backend.destroy(vm)
  })
})

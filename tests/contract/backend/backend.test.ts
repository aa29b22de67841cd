import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noSerialPump } from '../../../src/agent/backends/backend.ts'
import { QemuBackend } from '../../../src/agent/backends/qemu/qemu-backend.ts'
import { detach, run } from '../../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../../src/agent/os/process.ts'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../src/ipc/base/log.ts'
import { bootSector } from '../../support/boot-sector.ts'
import { backendContract } from './backend-contract.ts'
import { FakeBackend } from './fake-backend.ts'

backendContract('fake', async () => {
  const backend = new FakeBackend()
  return {
    backend,
    stateDir: await mkdtemp(join(tmpdir(), 'eitri-backend-')),
    image: { kind: 'disk', file: '/dev/null', format: 'raw', virtualBytes: 512 },
    kill: async (vm) => backend.crash(vm.id),
    close: async () => {},
  }
})

backendContract('qemu under TCG', async () => {
  const stateDir = await mkdtemp(join(tmpdir(), 'eitri-backend-'))
  const file = join(stateDir, 'sector.img')
  await writeFile(file, bootSector())
  const processes = linuxProcesses()
  const backend = new QemuBackend({
    run,
    detach,
    processes,
    clock: systemClock,
    log: silentLog,
    serial: noSerialPump,
    acceleration: async () => 'tcg',
  })
  return {
    backend,
    stateDir,
    image: { kind: 'disk', file, format: 'raw', virtualBytes: 512 },
    kill: async (vm) => {
      const { pid } = JSON.parse(await readFile(vm.hypervisor, 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
    },
    close: () => backend.close(),
  }
})

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { noSerialPump } from '../../../src/agent/backends/backend.ts'
import { vfkitPlaces } from '../../../src/agent/backends/vfkit/places.ts'
import { VfkitBackend } from '../../../src/agent/backends/vfkit/vfkit-backend.ts'
import { detach, run } from '../../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../../src/agent/os/process.ts'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../src/ipc/base/log.ts'
import { FakeMac } from '../../support/fake-vfkit.ts'
import type { Change, ProcessUnderTest } from './process-contract.ts'

/** vfkit as played by its scripted peer, on this host. */
export async function vfkitRig(): Promise<ProcessUnderTest> {
  const stateDir = await mkdtemp(join(tmpdir(), 'eitri-vfkit-'))
  const macDir = await mkdtemp(join(tmpdir(), 'eitri-mac-'))
  const mac = new FakeMac(macDir)
  // The directory of all sockets is the agent's and stays; what a VM has in it goes.
  await mkdir(join(stateDir, 'sockets'), { mode: 0o700 })
  const file = join(macDir, 'image')
  await writeFile(file, Buffer.alloc(512, 7))
  const opened: VfkitBackend[] = []
  const open = ({ processes = linuxProcesses(), program = mac.vfkit }: Change = {}) => {
    const parts = { run, detach, clock: systemClock, log: silentLog, serial: noSerialPump, leases: mac.leases }
    const backend = new VfkitBackend({ ...parts, processes, program, platform: 'linux' })
    opened.push(backend)
    return backend
  }
  return {
    backend: open(),
    stateDir,
    image: { kind: 'disk', file, format: 'raw', virtualBytes: 512 },
    open,
    disk: (vm) => vfkitPlaces(vm).disk,
    note: (vm) => vfkitPlaces(vm).hypervisor,
    kill: async (vm) => {
      const { pid } = JSON.parse(await readFile(vfkitPlaces(vm).hypervisor, 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
      while (linuxProcesses().identify(pid)) await setImmediate()
    },
    failStart: async (_vm, refuses) => mac.behave({ refuses }),
    guest: async (_vm, manner) => mac.behave({ deaf: manner === 'deaf' }),
    close: async () => {
      for (const backend of opened) await backend.close()
      await rm(macDir, { recursive: true, force: true })
    },
  }
}

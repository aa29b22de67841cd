import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noSerialPump, type SerialPump } from '../../../src/agent/backends/backend.ts'
import { ChHost } from '../../../src/agent/backends/cloud-hypervisor/ch-host.ts'
import { chPlaces } from '../../../src/agent/backends/cloud-hypervisor/ch-places.ts'
import { CloudHypervisorBackend } from '../../../src/agent/backends/cloud-hypervisor/cloud-hypervisor-backend.ts'
import type { Taps } from '../../../src/agent/network/tap.ts'
import { detach, run } from '../../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../../src/agent/os/process.ts'
import type { VmLayout } from '../../../src/agent/records/layout.ts'
import { type Clock, systemClock } from '../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../src/ipc/base/log.ts'
import { SCRIPT_FILE, type Script } from '../../support/cloud-hypervisor/script.ts'
import type { Change, ProcessUnderTest } from './process-contract.ts'

const PEER = join(import.meta.dirname, '../../support/cloud-hypervisor/fake-cloud-hypervisor.ts')

/** Taps as names in memory. */
export class FakeTaps implements Taps {
  readonly names = new Set<string>()
  async ensure(name: string): Promise<void> {
    this.names.add(name)
  }
  async remove(name: string): Promise<void> {
    this.names.delete(name)
  }
}

export interface ChRig extends ProcessUnderTest {
  backend: CloudHypervisorBackend
  taps: FakeTaps
  open(
    change?: Change & { serial?: SerialPump; clock?: Clock; firmwareDirs?: string[]; deadlineMs?: number },
  ): CloudHypervisorBackend
  /** How the peer misbehaves from now on; read by it at every step. */
  misbehave(vm: VmLayout, script: Script): Promise<void>
  /** Endpoints asked, in order. */
  asked(vm: VmLayout): Promise<string[]>
}

/** cloud-hypervisor as played by its scripted peer, on this host; in a fresh state directory, or one there is. */
export async function chRig(given?: string): Promise<ChRig> {
  const stateDir = given ?? (await mkdtemp(join(tmpdir(), 'eitri-ch-')))
  const file = join(stateDir, 'sector.img')
  await writeFile(file, Buffer.alloc(512, 0xf4))
  await writeFile(join(stateDir, 'CLOUDHV.fd'), 'firmware')
  const taps = new FakeTaps()
  const opened: CloudHypervisorBackend[] = []
  const open: ChRig['open'] = ({ processes, program, serial, clock, firmwareDirs, deadlineMs } = {}) => {
    const backend = new CloudHypervisorBackend({
      run,
      detach,
      processes: processes ?? linuxProcesses(),
      clock: clock ?? systemClock,
      log: silentLog,
      serial: serial ?? noSerialPump,
      host: new ChHost({
        run,
        arch: 'x64',
        program: program ?? PEER,
        kvmDevice: '/dev/null',
        firmwareDirs: firmwareDirs ?? [stateDir],
      }),
      taps,
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    })
    opened.push(backend)
    return backend
  }
  const misbehave = (vm: VmLayout, script: Script) => writeFile(join(vm.dir, SCRIPT_FILE), JSON.stringify(script))
  return {
    backend: open(),
    stateDir,
    taps,
    image: { kind: 'disk', file, format: 'raw', virtualBytes: 512 },
    open,
    misbehave,
    disk: (vm) => join(vm.dir, chPlaces(vm).disk),
    note: (vm) => chPlaces(vm).hypervisor,
    kill: async (vm) => {
      const { pid } = JSON.parse(await readFile(chPlaces(vm).hypervisor, 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
    },
    failStart: (vm, dieAtStart) => misbehave(vm, { dieAtStart }),
    guest: (vm, manner) => misbehave(vm, { deaf: manner === 'deaf' }),
    asked: async (vm) =>
      (await readFile(join(vm.dir, 'requests.jsonl'), 'utf8'))
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { endpoint: string }).endpoint),
    close: async () => {
      for (const backend of opened) await backend.close()
    },
  }
}

import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noSerialPump } from '../../../src/agent/backends/backend.ts'
import { QemuBackend } from '../../../src/agent/backends/qemu/qemu-backend.ts'
import { QEMU } from '../../../src/agent/backends/qemu/qemu-machines.ts'
import { type Detach, detach, type Run, run } from '../../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../../src/agent/os/process.ts'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../src/ipc/base/log.ts'
import { bootSector } from '../../support/boot-sector.ts'
import type { ProcessUnderTest } from './process-contract.ts'

const DIES = 'process.stderr.write(process.argv[1]); process.exit(1)'

/** Real QEMU under emulation; its guest is a boot sector that halts and knows no power button. */
export async function qemuRig(): Promise<ProcessUnderTest> {
  const stateDir = await mkdtemp(join(tmpdir(), 'eitri-backend-'))
  const file = join(stateDir, 'sector.img')
  await writeFile(file, bootSector())
  const dying = new Map<string, string>()
  const opened: QemuBackend[] = []
  const open: ProcessUnderTest['open'] = ({ processes, program = QEMU } = {}) => {
    const named = (command: string) => (command === QEMU ? program : command)
    const runNamed: Run = (point, command, ...rest) => run(point, named(command), ...rest)
    const detachNamed: Detach = (point, command, args, options) => {
      const text = dying.get(options.cwd)
      return text === undefined
        ? detach(point, named(command), args, options)
        : detach(point, process.execPath, ['-e', DIES, text], options)
    }
    const backend = new QemuBackend({
      run: runNamed,
      detach: detachNamed,
      processes: processes ?? linuxProcesses(),
      clock: systemClock,
      log: silentLog,
      serial: noSerialPump,
      acceleration: async () => 'tcg',
    })
    opened.push(backend)
    return backend
  }
  return {
    backend: open(),
    stateDir,
    image: { kind: 'disk', file, format: 'raw', virtualBytes: 512 },
    open,
    disk: (vm) => vm.disk,
    note: (vm) => vm.hypervisor,
    kill: async (vm) => {
      const { pid } = JSON.parse(await readFile(vm.hypervisor, 'utf8')) as { pid: number }
      process.kill(pid, 'SIGKILL')
    },
    failStart: async (vm, text) => void dying.set(vm.dir, text),
    close: async () => {
      for (const backend of opened) await backend.close()
    },
  }
}

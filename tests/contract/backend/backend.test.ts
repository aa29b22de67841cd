import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backendContract } from './backend-contract.ts'
import { FakeBackend } from './fake-backend.ts'
import { processContract } from './process-contract.ts'
import { qemuRig } from './qemu-rig.ts'

backendContract('fake', async () => {
  const backend = new FakeBackend()
  return {
    backend,
    stateDir: await mkdtemp(join(tmpdir(), 'eitri-backend-')),
    image: { kind: 'disk', file: '/dev/null', format: 'raw', virtualBytes: 512 },
    disk: (vm) => vm.disk,
    kill: async (vm) => backend.crash(vm.id),
    close: async () => {},
  }
})

backendContract('qemu under TCG', qemuRig)
processContract('qemu under TCG', qemuRig)

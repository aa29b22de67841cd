import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agentLayout } from '../../../src/agent/records/layout.ts'
import { backendContract } from './backend-contract.ts'
import { bootFirst } from './boot-first.ts'
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

it('a QEMU that was killed is said to have been, with the signal, by the agent that started it', async () => {
  const rig = await qemuRig()
  const vm = agentLayout(rig.stateDir).vmDir('d'.repeat(32))
  await mkdir(vm.dir, { recursive: true })
  try {
    await bootFirst(rig, vm)
    await rig.kill(vm)
    await expect.poll(() => rig.backend.failureReason(vm)).toBe('QEMU was killed by SIGKILL')
  } finally {
    await rig.backend.destroy(vm)
    await rig.close()
    await rm(rig.stateDir, { recursive: true, force: true })
  }
})

import { describe, expect, it } from 'vitest'
import { noSerialPump } from '../../../../src/agent/backends/backend.ts'
import type { Run } from '../../../../src/agent/os/exec.ts'
import { linuxProcesses } from '../../../../src/agent/os/process.ts'
import { hypervisorFacts, makeBackend } from '../../../../src/agent/platform.ts'
import { systemClock } from '../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

const parts = (run: Run) => ({
  run,
  detach: () => expect.fail('nothing is started'),
  processes: linuxProcesses(),
  clock: systemClock,
  log: silentLog,
  serial: noSerialPump,
  acceleration: async () => 'tcg' as const,
})
const absent: Run = () => Promise.reject(Object.assign(new Error('spawn'), { code: 'ENOENT' }))
const make = (platform: NodeJS.Platform, arch: NodeJS.Architecture, asked: string) =>
  makeBackend(platform, arch, asked, parts(absent))

describe('the backend of a platform', () => {
  it.each(['x64', 'arm64'] as const)('is cloud-hypervisor on Linux %s when a person asks for it', (arch) => {
    expect(make('linux', arch, 'cloud-hypervisor').name).toBe('cloud-hypervisor')
  })

  it('is QEMU on Linux when nobody asks', () => {
    expect(make('linux', 'x64', '').name).toBe('qemu')
  })

  it.each([
    ['darwin', 'arm64', 'cloud-hypervisor'],
    ['win32', 'x64', 'cloud-hypervisor'],
    ['linux', 'riscv64', 'cloud-hypervisor'],
    ['linux', 'x64', 'bhyve'],
  ] as const)('is refused on %s %s for %s, for good', (platform, arch, asked) => {
    expect(() => make(platform, arch, asked)).toThrow(
      expect.objectContaining({ code: 'host/unsupported', disposition: 'permanent' }),
    )
  })

  it('names its program when the host does not have it', async () => {
    await expect(make('linux', 'x64', 'cloud-hypervisor').preflight(AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: 'vmm/missing',
      disposition: 'permanent',
      params: { detail: 'cloud-hypervisor is not installed' },
    })
  })

  it('is what the facts look for', () => {
    expect(hypervisorFacts('linux', undefined, 'cloud-hypervisor')).toMatchObject({
      hypervisor: 'cloud-hypervisor',
      needed: ['qemu-img', 'ip'],
    })
  })
})

import { Fault } from '../ipc/faults.ts'
import type { Backend } from './backends/backend.ts'
import { QemuBackend, type QemuDeps } from './backends/qemu/qemu-backend.ts'
import { QEMU } from './backends/qemu/qemu-machines.ts'

/** The hypervisor program the facts look for. */
export const hypervisorProgram = QEMU

/**
 * The backend of a platform; `asked` '' = the platform's own. Raises `host/unsupported` (permanent). The platform is a
 * parameter so that a test on one drives the refusals of another.
 */
export function makeBackend(
  platform: NodeJS.Platform,
  arch: NodeJS.Architecture,
  asked: string,
  deps: QemuDeps,
): Backend {
  const unsupported = (detail: string) => new Fault('host/unsupported', 'permanent', { host: 'This machine', detail })
  if (platform !== 'linux') throw unsupported(`there is no hypervisor backend for ${platform} yet`)
  if (arch !== 'x64') throw unsupported(`there is no hypervisor backend for ${arch} yet`)
  if (asked !== '' && asked !== 'qemu') throw unsupported(`there is no backend ${asked}`)
  return new QemuBackend(deps)
}

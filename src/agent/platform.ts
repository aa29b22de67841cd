import { join } from 'node:path'
import { Fault } from '../ipc/faults.ts'
import type { Backend } from './backends/backend.ts'
import { QEMU, QemuBackend, type QemuDeps } from './backends/qemu/qemu-backend.ts'

/** Where an agent keeps its state and listens when nobody says otherwise. */
export interface AgentPlaces {
  stateDir: string
  socketPath: string
}

export interface Person {
  uid: number
  home: string
  env: Readonly<Record<string, string | undefined>>
}

/** Root keeps its state where services do; everybody else in their own home. */
export function defaultPlaces({ uid, home, env }: Person): AgentPlaces {
  if (uid === 0) return { stateDir: '/var/lib/eitri', socketPath: '/run/eitri/agent.sock' }
  const stateDir = join(env['XDG_STATE_HOME'] || join(home, '.local', 'state'), 'eitri')
  return { stateDir, socketPath: join(stateDir, 'run', 'agent.sock') }
}

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

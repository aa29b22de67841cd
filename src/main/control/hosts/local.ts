import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import { PACKAGE_MANAGERS } from '../../../ipc/packages.ts'
import { readArtefacts } from './artefacts.ts'
import type { AgentProgram } from './local-agent.ts'
import { qemuCommand } from './packages.ts'

export interface LocalFacts {
  platform: NodeJS.Platform
  arch: string
  env: Readonly<Record<string, string | undefined>>
}

/** Whether this computer can be a host, and if not why, one sentence for people. */
export interface LocalPossible {
  possible: boolean
  detail: string
}

const QEMU: Record<string, string> = { x64: 'qemu-system-x86_64', arm64: 'qemu-system-aarch64' }
/** Where the installed service listens. */
export const SERVICE_SOCKET = '/run/eitri/agent.sock'
export const SERVICE_EXECUTABLE = '/usr/local/bin/eitri-agent'
export const SERVICE_STATE = '/var/lib/eitri'

/** Looks at this computer without starting anything; never raises. */
export async function localPossible(facts: LocalFacts): Promise<LocalPossible> {
  const fault = await localFault(facts, 'This computer')
  return fault ? { possible: false, detail: fault.params['detail'] ?? '' } : { possible: true, detail: '' }
}

/** Undefined, host/local-impossible, or host/packages-missing with the one command. */
export async function localFault({ platform, arch, env }: LocalFacts, host: string): Promise<Fault | undefined> {
  if (platform !== 'linux') {
    const system = platform === 'darwin' ? 'macOS' : platform
    const detail = `VMs on ${system} itself are not supported yet; SSH hosts work`
    return new Fault('host/local-impossible', 'permanent', { detail })
  }
  const qemu = QEMU[arch]
  if (!qemu) return new Fault('host/local-impossible', 'permanent', { detail: `its processor is ${arch}` })
  const has = (name: string) => findProgram(name, env['PATH'] ?? '')
  const missing: string[] = []
  for (const name of [qemu, 'qemu-img']) if (!(await has(name))) missing.push(name)
  if (missing.length === 0) return undefined
  const command = await packagesCommand(has, arch)
  const detail = `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not installed${command ? `: ${command}` : ''}`
  return new Fault('host/packages-missing', 'permanent', { host, missing: missing.join(', '), command, detail })
}

/** The built agent as a program of this computer. Raises app/part-missing. */
export async function localProgram(dir: string, { platform, arch }: LocalFacts): Promise<AgentProgram> {
  const artefacts = await readArtefacts(dir)
  const { buildDigest } = artefacts
  const machine = arch === 'arm64' ? 'aarch64' : 'x86_64'
  const executable = platform === 'linux' ? artefacts.find('executable', machine) : undefined
  if (executable) return { command: executable, args: [], buildDigest }
  const bundle = artefacts.find('bundle', machine)
  if (bundle) {
    // Electron's own binary is a Node.js when asked.
    return { command: process.execPath, args: [bundle], env: { ELECTRON_RUN_AS_NODE: '1' }, buildDigest }
  }
  throw new Fault('app/part-missing', 'permanent', {
    part: 'The agent',
    next: 'Build it with: npm run build:agent',
  })
}

/** An agent that is installed on this computer as a service, and that this login may use. */
export async function installedService(): Promise<boolean> {
  return access(SERVICE_SOCKET, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
}

async function findProgram(name: string, path: string): Promise<boolean> {
  for (const dir of [...path.split(delimiter), '/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin']) {
    const found = await access(join(dir, name), constants.X_OK).then(
      () => dir !== '',
      () => false,
    )
    if (found) return true
  }
  return false
}

async function packagesCommand(has: (name: string) => Promise<boolean>, arch: string): Promise<string> {
  for (const manager of PACKAGE_MANAGERS)
    if (await has(manager)) return qemuCommand(manager, arch === 'arm64' ? 'aarch64' : 'x86_64')
  return ''
}

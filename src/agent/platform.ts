import { Fault } from '../ipc/faults.ts'
import type { Backend } from './backends/backend.ts'
import { CLOUD_HYPERVISOR } from './backends/cloud-hypervisor/argv.ts'
import { ChHost, probeKvm } from './backends/cloud-hypervisor/ch-host.ts'
import { CloudHypervisorBackend } from './backends/cloud-hypervisor/cloud-hypervisor-backend.ts'
import { QemuBackend, type QemuDeps } from './backends/qemu/qemu-backend.ts'
import { QEMU } from './backends/qemu/qemu-machines.ts'
import { VfkitBackend } from './backends/vfkit/vfkit-backend.ts'
import { probeVfkit, VFKIT } from './backends/vfkit/vfkit-host.ts'
import type { Acceleration } from './facts/acceleration-probe.ts'
import type { HostLookerOptions } from './facts/host-facts.ts'
import { IpTaps } from './network/tap.ts'
import { darwinProcesses } from './os/darwin-processes.ts'
import { linuxProcesses, type Processes } from './os/process.ts'

/** Where macOS's DHCP server keeps its leases. */
const DHCP_LEASES = '/var/db/dhcpd_leases'

/** What the hypervisors of all platforms need; each takes its own. */
export interface PlatformParts extends Omit<QemuDeps, 'acceleration'> {
  /** What the probe saw run; '' = nothing. */
  acceleration(signal: AbortSignal): Promise<Acceleration['kind']>
  /** Path or name; absent = the one on PATH. */
  vfkit?: string | undefined
  /** Absent = where macOS has them. */
  leases?: string | undefined
}

/** How this platform tells its processes apart. */
export const hostProcesses = (platform: NodeJS.Platform): Processes =>
  platform === 'darwin' ? darwinProcesses() : linuxProcesses()

/** The programs the facts look for, and how they find out what guests run on. */
export function hypervisorFacts(
  platform: NodeJS.Platform,
  vfkit: string | undefined,
  asked = '',
): Pick<HostLookerOptions, 'hypervisor' | 'needed' | 'probe'> {
  if (asked === 'cloud-hypervisor') return { hypervisor: CLOUD_HYPERVISOR, needed: ['qemu-img', 'ip'], probe: probeKvm }
  return platform === 'darwin'
    ? { hypervisor: vfkit ?? VFKIT, needed: [], probe: probeVfkit }
    : { hypervisor: QEMU, needed: ['qemu-img'] }
}

/**
 * The backend of a platform; `asked` '' = the platform's own. Raises `host/unsupported` (permanent). The platform is a
 * parameter so that a test on one drives the ways and refusals of another.
 */
export function makeBackend(
  platform: NodeJS.Platform,
  arch: NodeJS.Architecture,
  asked: string,
  parts: PlatformParts,
): Backend {
  const unsupported = (detail: string) => new Fault('host/unsupported', 'permanent', { host: 'This machine', detail })
  if (platform === 'darwin') {
    if (arch !== 'arm64' && arch !== 'x64') throw unsupported(`there is no hypervisor backend for ${arch} yet`)
    if (asked !== '' && asked !== 'vfkit') throw unsupported(`there is no backend ${asked} on macOS`)
    const { vfkit = VFKIT, leases = DHCP_LEASES, ...rest } = parts
    return new VfkitBackend({ ...rest, program: vfkit, leases, platform })
  }
  if (platform !== 'linux') throw unsupported(`there is no hypervisor backend for ${platform} yet`)
  if (asked === 'cloud-hypervisor') {
    if (arch !== 'x64' && arch !== 'arm64') throw unsupported(`cloud-hypervisor does not run on ${arch}`)
    const { run } = parts
    return new CloudHypervisorBackend({ ...parts, host: new ChHost({ run, arch }), taps: new IpTaps(run) })
  }
  if (arch !== 'x64') throw unsupported(`there is no hypervisor backend for ${arch} yet`)
  if (asked !== '' && asked !== 'qemu') throw unsupported(`there is no backend ${asked}`)
  const acceleration = async (signal: AbortSignal) => {
    const kind = await parts.acceleration(signal)
    return kind === 'vz' ? '' : kind
  }
  return new QemuBackend({ ...parts, acceleration })
}

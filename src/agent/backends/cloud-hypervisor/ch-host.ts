import { access, constants } from 'node:fs/promises'
import { Fault } from '../../../ipc/faults.ts'
import type { Acceleration } from '../../facts/acceleration-probe.ts'
import type { Run } from '../../os/exec.ts'
import { isAbsent } from '../../os/files.ts'
import { SharedLook } from '../shared-look.ts'
import { CLOUD_HYPERVISOR } from './argv.ts'

const ASK_MS = 10_000
const KVM = '/dev/kvm'

/** Where distributions and people put the firmware; QEMU's does not fit. */
const FIRMWARE_DIRS = ['/usr/local/share/cloud-hypervisor', '/usr/share/cloud-hypervisor', '/usr/share/edk2/cloud-hv']
const FIRMWARE_FILE = { x64: 'CLOUDHV.fd', arm64: 'CLOUDHV_EFI.fd' } as const

const usable = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

/** What guests run on: KVM or nothing, for there is no emulation to fall back to. Runs no guest; never raises. */
export async function probeKvm(_sources: unknown, device = KVM): Promise<Acceleration> {
  if (await usable(device, constants.R_OK | constants.W_OK)) return { kind: 'kvm', detail: '' }
  return { kind: '', detail: `cloud-hypervisor needs ${device}, which this agent cannot use.` }
}

export interface ChHostOptions {
  run: Run
  arch: 'x64' | 'arm64'
  /** Name or path of the program. */
  program?: string
  kvmDevice?: string
  firmwareDirs?: readonly string[]
}

/** What cloud-hypervisor needs of this host. */
export class ChHost {
  readonly program: string
  readonly #options: ChHostOptions
  readonly #programs = new SharedLook(() => this.#lookForPrograms())

  constructor(options: ChHostOptions) {
    this.#options = options
    this.program = options.program ?? CLOUD_HYPERVISOR
  }

  /** Raises `vmm/missing` and `host/unsupported`, both permanent. */
  async check(signal: AbortSignal): Promise<void> {
    const { kvmDevice = KVM } = this.#options
    await this.#programs.get(signal)
    const { kind, detail } = await probeKvm({}, kvmDevice)
    if (kind === '') throw new Fault('host/unsupported', 'permanent', { host: 'This machine', detail })
  }

  async #lookForPrograms(): Promise<void> {
    const { run } = this.#options
    const options = { timeoutMs: ASK_MS }
    await run('ch.ask-version', this.program, ['--version'], options).catch(this.missing(this.program))
    await run('ch.ask-tool', 'qemu-img', ['--version'], options).catch(this.missing('qemu-img'))
  }

  /** Absolute path of the UEFI firmware a disk image boots with. Raises `vmm/missing` (permanent). */
  async firmware(): Promise<string> {
    const { arch, firmwareDirs = FIRMWARE_DIRS } = this.#options
    const file = FIRMWARE_FILE[arch]
    for (const dir of firmwareDirs) if (await usable(`${dir}/${file}`, constants.R_OK)) return `${dir}/${file}`
    const detail = `its firmware ${file} is in none of ${firmwareDirs.join(', ')}`
    throw new Fault('vmm/missing', 'permanent', { detail })
  }

  /** For a catch: ENOENT is a program that is not there. */
  missing(program: string): (error: unknown) => never {
    return (error) => {
      if (!isAbsent(error)) throw error
      throw new Fault('vmm/missing', 'permanent', { detail: `${program} is not installed` }, { cause: error })
    }
  }
}

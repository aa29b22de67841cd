import { Fault } from '../../../ipc/faults.ts'
import type { Run } from '../../os/exec.ts'
import { isAbsent } from '../../os/files.ts'
import { SharedLook } from '../shared-look.ts'

export const QEMU = 'qemu-system-x86_64'

const HELP_MS = 10_000

export const missingProgram = (program: string, cause: unknown) =>
  new Fault('vmm/missing', 'permanent', { detail: `${program} is not installed` }, { cause })

/** The versioned name behind "q35" in the output of `-machine help`; undefined when it offers none. */
export function resolveMachine(help: string): string | undefined {
  return /^(\S+)\s.*\(alias of q35\)/m.exec(help)?.[1] ?? /^q35\s.*\(alias of (\S+)\)/m.exec(help)?.[1]
}

/** Every machine type in the output of `-machine help`. */
export const machinesIn = (help: string): ReadonlySet<string> =>
  new Set(help.split('\n').flatMap((line) => /^([a-z0-9][\w.+-]*)\s/.exec(line)?.[1] ?? []))

interface Offered {
  newest: string
  all: ReadonlySet<string>
}

/** What machine types the installed QEMU offers. Asked once, and again when one is not among them: QEMU may be newer. */
export class QemuMachines {
  readonly #offered: SharedLook<Offered>

  constructor(run: Run) {
    this.#offered = new SharedLook(() => ask(run))
  }

  /** For a VM that boots for the first time. Raises `vmm/missing` and `vmm/failed` (permanent). */
  async newest(signal: AbortSignal): Promise<string> {
    return (await this.#offered.get(signal)).newest
  }

  /**
   * For a VM that booted with it before. Raises `vmm/machine-gone` (permanent until the QEMU here changes): another
   * type would be other hardware to the guest, which nobody chose.
   */
  async pinned(machine: string, signal: AbortSignal): Promise<string> {
    if ((await this.#offered.get(signal)).all.has(machine)) return machine
    const { newest, all } = await this.#offered.renew(signal)
    if (!all.has(machine)) throw new Fault('vmm/machine-gone', 'permanent', { machine, newest })
    return machine
  }
}

async function ask(run: Run): Promise<Offered> {
  try {
    const { stdout, stderr } = await run('vmm.ask-machines', QEMU, ['-machine', 'help'], { timeoutMs: HELP_MS })
    const newest = resolveMachine(stdout)
    if (newest === undefined)
      throw new Fault('vmm/failed', 'permanent', { detail: stderr.trim().slice(0, 300) || 'QEMU offers no q35' })
    return { newest, all: machinesIn(stdout) }
  } catch (error) {
    throw isAbsent(error) ? missingProgram(QEMU, error) : error
  }
}

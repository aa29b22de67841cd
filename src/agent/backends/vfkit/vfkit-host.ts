import { printable } from '../../../ipc/fault-text.ts'
import type { Acceleration } from '../../facts/acceleration-probe.ts'
import type { Run } from '../../os/exec.ts'
import { isAbsent } from '../../os/files.ts'

export const VFKIT = 'vfkit'

const VERSION_MS = 10_000

/** Apple's framework or nothing: there is no emulation to fall back to. Runs no guest; never raises. */
export async function probeVfkit({ run, qemu: vfkit }: { run: Run; qemu: string }): Promise<Acceleration> {
  try {
    const { code, stderr } = await run('vfkit.probe', vfkit, ['--version'], { timeoutMs: VERSION_MS })
    if (code === 0) return { kind: 'vz', detail: '' }
    return { kind: '', detail: `${vfkit} does not run: ${printable(stderr.trim()) || `exit code ${code}`}.` }
  } catch (error) {
    const why = isAbsent(error)
      ? 'is not installed: brew install vfkit'
      : `could not be started: ${printable(String(error))}`
    return { kind: '', detail: `${vfkit} ${why}.` }
  }
}

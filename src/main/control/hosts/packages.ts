import { Fault } from '../../../ipc/faults.ts'
import { installCommand } from '../../../ipc/packages.ts'
import type { HostLook } from './look.ts'
import type { SshConnection } from './ssh/connection.ts'
import { runScript } from './ssh/script.ts'

export interface MissingPackages {
  /** Programs, by name. */
  missing: string[]
  /** The one command; empty = no package manager we know. */
  command: string
}

/** The command of a package manager that installs all a VM needs; empty = none that we know. */
export const qemuCommand = (packageManager: string, machine: string): string =>
  installCommand(packageManager, ['qemu', 'qemu-img'], machine)

/** What a VM needs and the host lacks; undefined = nothing. */
export function missingPackages(look: HostLook): MissingPackages | undefined {
  const missing = [
    ...(look.qemu ? [] : [`qemu-system-${look.machine || 'x86_64'}`]),
    ...(look.qemuImg ? [] : ['qemu-img']),
  ]
  if (missing.length === 0) return undefined
  return { missing, command: qemuCommand(look.packageManager, look.machine) }
}

/** A package manager fetching over a slow line. */
const PACKAGES_TIMEOUT_MS = 15 * 60_000

/**
 * Runs the one command that installs what is missing. A cancelled task stops waiting; the command itself goes on to its
 * end, so that the host's package database stays whole. Raises host/packages-missing when it fails.
 */
export async function installPackages(
  connection: Pick<SshConnection, 'exec'>,
  { missing, command }: MissingPackages,
  options: { host: string; signal: AbortSignal; sudo?: { password: string | undefined } },
): Promise<void> {
  const script = `
trap '' HUP PIPE
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp) || exit 1
( ${command} ) >"$log" 2>&1
code=$?
tail -n 3 "$log"
rm -f "$log"
exit $code`
  const { code, output } = await runScript(connection, script, { ...options, timeoutMs: PACKAGES_TIMEOUT_MS })
  if (code === 0) return
  const detail = output.trim().split('\n').at(-1)?.slice(0, 200) ?? ''
  throw new Fault('host/packages-missing', 'permanent', {
    host: options.host,
    missing: missing.join(', '),
    command,
    detail,
  })
}

import { Fault } from '../../../../ipc/faults.ts'
import { MiB } from '../../../../ipc/units.ts'
import { readBounded } from '../../../bounded-file.ts'
import { type KnownKey, parseKnownHosts } from './host-keys.ts'

/** Larger than any real known_hosts. */
export const KNOWN_HOSTS_BYTES = 8 * MiB

/** Every entry of the files that exist. One that exists and cannot be read raises ssh/config-invalid: it may hold a revocation. */
export async function readKnownHosts(files: readonly string[], host: string): Promise<KnownKey[]> {
  const entries: KnownKey[] = []
  for (const file of files) {
    try {
      entries.push(...parseKnownHosts((await readBounded(file, KNOWN_HOSTS_BYTES)).toString('utf8')))
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'ENOENT' || code === 'ENOTDIR') continue
      throw new Fault(
        'ssh/config-invalid',
        'permanent',
        { host, detail: `${file}: ${code ?? (error as Error).message}` },
        { cause: error },
      )
    }
  }
  return entries
}

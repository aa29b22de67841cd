import { readFile } from 'node:fs/promises'
import { writeSetting } from '../os/files.ts'

/** Settings of the kernel, of the network namespace this process is in. */
export interface Sysctl {
  /** '' = there is no such setting. */
  read(key: string): Promise<string>
  /** Raises when it is refused. */
  write(key: string, value: string): Promise<void>
}

const pathOf = (key: string): string => `/proc/sys/${key.replaceAll('.', '/')}`

export const kernelSysctl: Sysctl = {
  read: async (key) => (await readFile(pathOf(key), 'utf8').catch(() => '')).trim(),
  write: (key, value) => writeSetting('network.sysctl', pathOf(key), value),
}

import { basename } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import { isAbsent, openToRead } from '../../os/files.ts'
import type { VmLayout } from '../../records/layout.ts'

/** QEMU opens the serial log itself, and would wait for ever for the reader of a pipe in its place. */
export async function requireLog({ serialLog }: VmLayout): Promise<void> {
  try {
    await (await openToRead(serialLog)).close()
  } catch (error) {
    if (isAbsent(error)) return
    const problem = error instanceof Error ? error.message : String(error)
    const detail = `its console cannot be recorded in ${basename(serialLog)}: ${problem}`
    throw new Fault('vm/start-failed', 'transient', { detail }, { cause: error })
  }
}

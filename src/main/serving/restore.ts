import { controlPaths } from '../control/node-ports.ts'
import { type Restored, restoreStore } from '../control/restore-store.ts'
import { takeDataLock } from './data-lock.ts'

/** Puts a copy in the place of the database while no control plane has it. Raises app/already-running and store/not-restored. */
export async function restoreOnDisk(dataDir: string | undefined, from: string): Promise<Restored> {
  const paths = controlPaths({ dataDir })
  const lock = await takeDataLock(paths.lock, paths.dataDir)
  try {
    return restoreStore(from, paths, Date.now())
  } finally {
    await lock.release()
  }
}

import { open } from 'node:fs/promises'

/** Makes what was written there last through a loss of power: of a file its bytes, of a folder its names. */
export async function synced(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

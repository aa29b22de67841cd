import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { readIfPresent, removeTree } from './files.ts'
import type { Processes, ProcessIdentity } from './process.ts'

/** Tries to replace a dead holder's lock this often before giving up to another starter. */
const TRIES = 3

/**
 * Holds a directory for this process alone; the lock of a process that no longer runs is replaced. Raises
 * `agent/already-running` naming the holder's pid. Resolves with the release.
 */
export async function takeLock(path: string, processes: Processes, pid = process.pid): Promise<() => Promise<void>> {
  const own = processes.identify(pid)
  if (!own) throw new Fault('app/bug', 'bug', { message: `process ${pid} cannot see itself in /proc` })
  for (let tries = 0; tries < TRIES; tries++) {
    if (await createExclusive(path, JSON.stringify(own))) return () => removeTree(path)
    const holder = parse((await readIfPresent(path))?.toString('utf8') ?? '')
    if (holder && processes.alive(holder))
      throw new Fault('agent/already-running', 'conflict', { dir: dirname(path), pid: String(holder.pid) })
    await removeTree(path)
  }
  throw new Fault('agent/already-running', 'conflict', { dir: dirname(path), pid: 'unknown' })
}

async function createExclusive(path: string, text: string): Promise<boolean> {
  try {
    const handle = await open(path, 'wx', 0o600)
    await handle.writeFile(text)
    await handle.close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function parse(text: string): ProcessIdentity | undefined {
  try {
    const { pid, startTime, bootId } = JSON.parse(text) as Partial<ProcessIdentity>
    return typeof pid === 'number' && typeof startTime === 'string' && typeof bootId === 'string'
      ? { pid, startTime, bootId }
      : undefined
  } catch {
    return undefined
  }
}

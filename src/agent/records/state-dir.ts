import { access, constants, lstat, stat } from 'node:fs/promises'
import { Fault } from '../../ipc/faults.ts'
import { codeOf } from '../os/read-files.ts'
import type { AgentLayout } from './layout.ts'

/**
 * What the system says of a place that takes no file, whatever the file; a full disk is another fault. ENOENT is the
 * answer to making a directory and its parents on a read-only disk.
 */
const UNUSABLE = new Set(['EACCES', 'EEXIST', 'EIO', 'EISDIR', 'ELOOP', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS'])

const unusable = (dir: string, detail: string, cause?: unknown): Fault =>
  new Fault('agent/state-unusable', 'permanent', { dir, detail }, { cause })

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 200)

/** Does `work` on files in `dir`; what the system refuses there becomes `agent/state-unusable`. */
export async function usingState<T>(dir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!UNUSABLE.has(codeOf(error))) throw error
    throw unusable(dir, wordsOf(error), error)
  }
}

/** Raises `agent/state-unusable` unless the directories that hold everything are there for this user, or not yet made. */
export async function requireStateDirs({ stateDir, vms, images }: AgentLayout): Promise<void> {
  for (const dir of [stateDir, vms, images]) await usingState(dir, () => requireDir(dir))
}

async function requireDir(dir: string): Promise<void> {
  const found = await stat(dir).catch((error) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (found && !found.isDirectory()) throw unusable(dir, 'it is not a directory')
  if (found) return await access(dir, constants.R_OK | constants.W_OK | constants.X_OK)
  if (await lstat(dir).catch(() => undefined)) throw unusable(dir, 'it is a link that leads nowhere')
}

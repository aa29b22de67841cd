import { lstat, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'

/** The one line in the person's own file. */
const INCLUDE = 'Include eitri/config'

/** The text with our line at its top, where it counts for every host; the same text when it stands there already. */
export function withInclude(text: string): string {
  const section = /^[ \t]*(host|match)\b/im.exec(text)?.index ?? text.length
  return lineAt(text.slice(0, section)) === undefined ? `${INCLUDE}\n${withoutInclude(text)}` : text
}

/** The text as it was before withInclude, byte for byte. */
export function withoutInclude(text: string): string {
  let rest = text
  for (let at = lineAt(rest); at; at = lineAt(rest)) rest = rest.slice(0, at.start) + rest.slice(at.end)
  return rest
}

function lineAt(text: string): { start: number; end: number } | undefined {
  const found = /^[ \t]*Include[ \t]+eitri\/config[ \t]*(\r?\n|$)/im.exec(text)
  return found ? { start: found.index, end: found.index + found[0].length } : undefined
}

/** Files of the person's ssh that this program writes. */
export interface SshConfigFiles {
  /** Ours alone. */
  own: string
  /** The person's, in which stands one line of ours. */
  including: string
}

export const sshConfigFiles = (sshDir: string): SshConfigFiles => ({
  own: join(sshDir, 'eitri', 'config'),
  including: join(sshDir, 'config'),
})

/** Idempotent; whether anything changed. Raises app/part-missing for a file that cannot be written, with what to do by hand. */
export async function writeSshConfig(sshDir: string, text: string): Promise<boolean> {
  const { own, including } = sshConfigFiles(sshDir)
  const ours = await replaced(own, () => text, 'Write it yourself: eitri ssh-config')
  const line = `Put this line at the top of it yourself: ${INCLUDE}`
  const include = await replaced(including, withInclude, line)
  return ours || include
}

/** Idempotent; whether anything changed. A file that we made for the line goes with it. */
export async function removeSshConfig(sshDir: string): Promise<boolean> {
  const { own, including } = sshConfigFiles(sshDir)
  const line = `Remove this line from it yourself: ${INCLUDE}`
  const include = await replaced(including, withoutInclude, line)
  const had = await exists(own)
  await rm(join(sshDir, 'eitri'), { recursive: true, force: true })
  return include || had
}

/** Replaces the file in one step, a link's target and not the link; its mode and owner stay. Nothing is written where nothing changes. */
async function replaced(path: string, change: (text: string) => string, byHand: string): Promise<boolean> {
  try {
    const isThere = await exists(path)
    const target = isThere ? await realpath(path) : path
    const before = isThere ? await readFile(target, 'latin1') : ''
    const after = change(before)
    if (after === before) return false
    if (after === '' && !(await lstat(path)).isSymbolicLink()) await rm(target)
    else await publish(target, after, isThere)
    return true
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    const part = `A file ${path} that can be written (${detail.slice(0, 200)})`
    throw new Fault('app/part-missing', 'permanent', { part, next: byHand }, { cause: error })
  }
}

async function publish(target: string, text: string, isThere: boolean): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true, mode: 0o700 })
  const temp = `${target}.eitri-${process.pid}`
  await rm(temp, { force: true })
  const handle = await open(temp, 'wx', 0o600)
  try {
    if (isThere) {
      const { mode, uid, gid } = await stat(target)
      await handle.chmod(mode & 0o7777)
      const own = await handle.stat()
      if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid)
    }
    await handle.writeFile(text, 'latin1')
    await handle.sync()
    await handle.close()
    await rename(temp, target)
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(temp, { force: true })
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

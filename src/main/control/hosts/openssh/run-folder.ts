import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CONFIG_FILE, CONTROL_SOCKET } from './arguments.ts'
import { ASK_PROGRAM, HELD_PROGRAM } from './programs.ts'

/** The shortest of all systems, with the end. */
const SOCKET_PATH_BYTES = 104
/** ssh makes its socket under a longer name first. */
const SOCKET_SUFFIX_BYTES = 18
const PREFIX = 's-'

/** What one connection of the system's ssh has on this computer: a folder of mode 0700, gone when it ends. */
export interface RunFolder {
  readonly dir: string
  readonly askProgram: string
  readonly heldProgram: string
  readonly controlSocket: string
  writeConfig(text: string): Promise<void>
  /** Idempotent; never rejects. */
  remove(): Promise<void>
}

/** Made in `runDir`, or among temporary files where that is too deep for a socket. The caller removes it. */
export async function makeRunFolder(runDir: string): Promise<RunFolder> {
  const name = `${PREFIX}${process.pid}-`
  const longest = join(runDir, `${name}XXXXXX`, CONTROL_SOCKET)
  const fits = Buffer.byteLength(longest) + SOCKET_SUFFIX_BYTES < SOCKET_PATH_BYTES
  if (fits) await mkdir(runDir, { recursive: true, mode: 0o700 })
  const dir = await mkdtemp(fits ? join(runDir, name) : join(tmpdir(), `eitri-${name}`))
  const file = (name: string, text: string, mode: number) => writeFile(join(dir, name), text, { mode, flag: 'wx' })
  const remove = () => rm(dir, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
  try {
    await file('ask', ASK_PROGRAM, 0o700)
    await file('held', HELD_PROGRAM, 0o700)
  } catch (error) {
    await remove()
    throw error
  }
  return {
    dir,
    askProgram: join(dir, 'ask'),
    heldProgram: join(dir, 'held'),
    controlSocket: join(dir, CONTROL_SOCKET),
    writeConfig: (text) => file(CONFIG_FILE, text, 0o600),
    remove,
  }
}

/** Removes what control planes that were killed left; their programs ended with them. Never rejects. */
export async function sweepRunFolders(runDir: string): Promise<void> {
  for (const dir of [runDir, tmpdir()])
    for (const name of await readdir(dir).catch(() => [])) {
      const pid = /^(?:eitri-)?s-(\d+)-\w{6}$/.exec(name)?.[1]
      if (pid !== undefined && !isAlive(Number(pid)))
        await rm(join(dir, name), { recursive: true, force: true }).catch(() => {})
    }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

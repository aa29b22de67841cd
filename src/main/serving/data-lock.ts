import { link, mkdir, open, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { Fault } from '../../ipc/faults.ts'

/** Facts about processes, so that a test can make them lie. */
export interface Processes {
  readonly pid: number
  /** When the process started, in the words of this system; undefined = there is none. */
  startOf(pid: number): Promise<string | undefined>
}

const Holder = z.object({ pid: z.number().int().positive(), start: z.string() })
type Holder = z.infer<typeof Holder>

/** How long a takeover of a dead holder's lock may take before another may try, ms. */
const BREAK_MS = 10_000
const TRIES = 50

/** One control plane per data folder. Raises app/already-running with the holder's pid; a dead holder's lock is taken over. */
export async function takeDataLock(
  file: string,
  dataDir: string,
  processes: Processes = linuxProcesses,
): Promise<{ release(): Promise<void> }> {
  const { pid } = processes
  const own = JSON.stringify({ pid, start: (await processes.startOf(pid)) ?? '' })
  const mine = `${file}.${pid}`
  try {
    // Written whole before it has its name: nobody reads half a lock.
    await writing(async () => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      await writeFile(mine, own, { mode: 0o600 })
    })
    for (let attempt = 0; attempt < TRIES; attempt++) {
      if (await linked(mine, file)) return { release: () => release(file, own) }
      const holder = await holderOf(file)
      if (holder && (await alive(holder, processes)))
        throw new Fault('app/already-running', 'permanent', { data_dir: dataDir, pid: String(holder.pid) })
      await breakLock(file, processes)
    }
    throw new Fault('store/unavailable', 'transient', { detail: `the lock ${file} cannot be had` })
  } finally {
    await rm(mine, { force: true }).catch(() => {})
  }
}

async function writing(write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    throw new Fault('store/unavailable', 'permanent', { detail }, { cause: error })
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    const detail = error instanceof Error ? error.message : String(error)
    throw new Fault('store/unavailable', 'permanent', { detail }, { cause: error })
  }
}

/** Removes a dead holder's lock; the look and the removal are one step among all who try. */
async function breakLock(file: string, processes: Processes): Promise<void> {
  const guard = `${file}.break`
  try {
    await (await open(guard, 'wx', 0o600)).close()
  } catch {
    const since = await stat(guard).then(
      (s) => s.mtimeMs,
      () => undefined,
    )
    if (since !== undefined && Date.now() - since > BREAK_MS) await rm(guard, { force: true })
    return
  }
  try {
    const holder = await holderOf(file)
    if (!holder || !(await alive(holder, processes))) await rm(file, { force: true })
  } finally {
    await rm(guard, { force: true })
  }
}

async function release(file: string, own: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === own) await unlink(file).catch(() => {})
}

/** Who holds it; undefined when nobody does or what is there cannot be read. */
export async function holderOf(file: string): Promise<Holder | undefined> {
  try {
    return Holder.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return undefined
  }
}

const alive = async (holder: Holder, processes: Processes) => (await processes.startOf(holder.pid)) === holder.start

/** Boot id and start time since boot: a pid used again, or the same after a reboot, is another process. */
export const linuxProcesses: Processes = {
  pid: process.pid,
  async startOf(pid) {
    try {
      const [boot, line] = await Promise.all([
        readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
        readFile(`/proc/${pid}/stat`, 'utf8'),
      ])
      const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
      return fields[0] === 'Z' ? undefined : `${boot.trim()} ${fields[19]}`
    } catch {
      if (process.platform === 'linux') return undefined
      return signalled(pid) ? '' : undefined
    }
  },
}

/** Elsewhere only that a process of this number lives is known. */
function signalled(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

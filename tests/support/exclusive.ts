import fs from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const WAIT_MS = 180_000
const POLL_MS = 100

/** A process as itself: pids are used again. */
export interface ProcessMark {
  pid: number
  startTime: string
}

/** Start time of a process in clock ticks since boot: with the pid, an identity. Undefined = no such process. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

export const markOf = (pid: number): ProcessMark => ({ pid, startTime: startTimeOf(pid) ?? '' })
export const isAlive = (mark: ProcessMark): boolean => startTimeOf(mark.pid) === mark.startTime

/** Writes a file that says who holds it; false when it is there already. */
export function claim(file: string, content: object): boolean {
  try {
    fs.writeFileSync(file, JSON.stringify(content), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Runs while no other process runs under the same file; a holder that died is passed over. */
export async function exclusively<T>(file: string, run: () => Promise<T>, waitMs = WAIT_MS): Promise<T> {
  const deadline = Date.now() + waitMs
  while (!claim(file, markOf(process.pid))) {
    const holder = holderOf(file)
    if (holder && !isAlive(holder)) fs.rmSync(file, { force: true })
    else if (Date.now() > deadline) throw new Error(`${file} is still held by ${holder?.pid}`)
    else await delay(POLL_MS)
  }
  try {
    return await run()
  } finally {
    fs.rmSync(file, { force: true })
  }
}

function holderOf(file: string): ProcessMark | undefined {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as ProcessMark
  } catch {
    return undefined
  }
}

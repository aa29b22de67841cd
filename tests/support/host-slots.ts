import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const SLOT_COUNT = 4096
const SLOTS_DIR = path.join(os.tmpdir(), 'eitri-test-hosts')

/** One /30 of 10.77.0.0/16 and one interface name, held by a file that names its owner and its host's process. */
export interface HostSlot {
  gateway: string
  address: string
  interfaceName: string
  /** Remembers the host's process and directory, so that a later run clears them when this one crashed. */
  holds(pid: number, dir: string): void
  release(): void
}

interface SlotRecord {
  owner: ProcessMark
  host?: ProcessMark
  dir?: string
}

interface ProcessMark {
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

const alive = (mark: ProcessMark) => startTimeOf(mark.pid) === mark.startTime
const markOf = (pid: number): ProcessMark => ({ pid, startTime: startTimeOf(pid) ?? '' })

/** Takes the first free slot; slots of dead owners are reaped first, their hosts ended. */
export function takeSlot(): HostSlot {
  fs.mkdirSync(SLOTS_DIR, { recursive: true })
  reapSlots()
  const record: SlotRecord = { owner: markOf(process.pid) }
  for (let n = 1; n < SLOT_COUNT; n++) {
    const file = path.join(SLOTS_DIR, `${n}.json`)
    try {
      fs.writeFileSync(file, JSON.stringify(record), { flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    const at = (offset: number) => `10.77.${(n * 4) >> 8}.${((n * 4) & 255) + offset}`
    return {
      gateway: at(1),
      address: at(2),
      interfaceName: `eitri-t${n}`,
      holds: (pid, dir) => fs.writeFileSync(file, JSON.stringify({ ...record, host: markOf(pid), dir })),
      release: () => fs.rmSync(file, { force: true }),
    }
  }
  throw new Error(`all ${SLOT_COUNT} test host slots in ${SLOTS_DIR} are taken`)
}

/** Ends hosts whose test process is gone and removes their files; killing their first process takes their network and mounts with it. */
export function reapSlots(): void {
  for (const entry of fs.readdirSync(SLOTS_DIR)) {
    const file = path.join(SLOTS_DIR, entry)
    const record = readRecord(file)
    if (!record || alive(record.owner)) continue
    if (record.host && alive(record.host)) process.kill(record.host.pid, 'SIGKILL')
    if (record.dir) fs.rmSync(record.dir, { recursive: true, force: true })
    fs.rmSync(file, { force: true })
  }
}

function readRecord(file: string): SlotRecord | undefined {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as SlotRecord
  } catch {
    return undefined
  }
}

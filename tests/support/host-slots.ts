import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { claim, isAlive, markOf, type ProcessMark } from './exclusive.ts'

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

/** Takes the first free slot; slots of dead owners are reaped first, their hosts ended. */
export function takeSlot(): HostSlot {
  fs.mkdirSync(SLOTS_DIR, { recursive: true })
  reapSlots()
  const record: SlotRecord = { owner: markOf(process.pid) }
  for (let n = 1; n < SLOT_COUNT; n++) {
    const file = path.join(SLOTS_DIR, `${n}.json`)
    if (!claim(file, record)) continue
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

/** Remembers a folder of this process, so that a later run removes it when this one crashed. Answers what forgets it. */
export function rememberFolder(dir: string): () => void {
  fs.mkdirSync(SLOTS_DIR, { recursive: true })
  reapSlots()
  const file = path.join(SLOTS_DIR, `${path.basename(dir)}.json`)
  claim(file, { owner: markOf(process.pid), dir })
  return () => fs.rmSync(file, { force: true })
}

/** Ends hosts whose test process is gone and removes their files; killing their first process takes their network and mounts with it. */
export function reapSlots(): void {
  for (const entry of fs.readdirSync(SLOTS_DIR)) {
    const file = path.join(SLOTS_DIR, entry)
    const record = readRecord(file)
    if (!record || isAlive(record.owner)) continue
    if (record.host && isAlive(record.host)) process.kill(record.host.pid, 'SIGKILL')
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

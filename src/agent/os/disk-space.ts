import { statfs } from 'node:fs/promises'
import { Fault, findFault } from '../../ipc/faults.ts'
import { MiB } from '../../ipc/units.ts'
import { isDiskFull } from './files.ts'

/** Kept free by everything that fills the state directory's filesystem, for records, logs and what guests write. */
export const RESERVE_BYTES = 256 * MiB
/** What a new VM takes at once: an empty overlay, its seed, its records and logs. */
export const VM_FILES_BYTES = 4 * MiB

/** Room on one filesystem, bytes; `free` is what an ordinary writer may still use. */
export interface DiskSpace {
  free: number
  total: number
  /** Files that can still be made; Infinity = the filesystem does not count them. */
  freeFiles: number
}
export type LookAtDisk = (dir: string) => Promise<DiskSpace>

/** Of the filesystem that holds `dir`, which must exist. */
export const diskSpace: LookAtDisk = async (dir) => {
  const { bavail, bsize, blocks, files, ffree } = await statfs(dir)
  return { free: bavail * bsize, total: blocks * bsize, freeFiles: files === 0 ? Number.POSITIVE_INFINITY : ffree }
}

/** Raises `host/disk-full` with the numbers unless `bytes` and the reserve fit beside `dir`. */
export async function requireRoom(dir: string, bytes: number, look: LookAtDisk = diskSpace): Promise<void> {
  const space = await look(dir)
  if (space.free < bytes + RESERVE_BYTES || space.freeFiles === 0) throw diskFull(dir, space, bytes)
}

/** The fault that names what is needed, free and kept, and where. */
function diskFull(dir: string, space: DiskSpace | undefined, needed: number, cause?: unknown): Fault {
  const params = {
    where: dir,
    ...(space ? { free: bytesText(space.free) } : {}),
    needed: bytesText(needed),
    reserve: bytesText(RESERVE_BYTES),
    ...(space?.freeFiles === 0 ? { detail: 'no more files can be made there' } : {}),
    ...(codeOf(cause) === 'EDQUOT' ? { detail: 'the quota is used up' } : {}),
  }
  return new Fault('host/disk-full', 'transient', params, { cause })
}

/** An error of a full disk anywhere in `cause` as the fault with its numbers; any other error as it is. Never rejects. */
export async function namedIfFull(
  error: unknown,
  dir: string,
  needed: number,
  look: LookAtDisk = diskSpace,
): Promise<unknown> {
  const full = findCause(error)
  if (full === undefined || findFault(error)?.params['free'] !== undefined) return error
  return diskFull(dir, await look(dir).catch(() => undefined), needed, full)
}

/** Does `work`; a full disk met on the way becomes `host/disk-full` with the numbers. */
export async function namingFullDisk<T>(dir: string, needed: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw await namedIfFull(error, dir, needed)
  }
}

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException | undefined)?.code

function findCause(error: unknown): unknown {
  for (let e = error, depth = 0; e instanceof Error && depth < 8; e = e.cause, depth++)
    if (isDiskFull(e) || (e instanceof Fault && e.code === 'host/disk-full')) return e
  return undefined
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** `0 B`, `412.5 KiB`, `4.2 GiB`: rounded to a tenth. */
export function bytesText(bytes: number): string {
  let unit = 0
  while (unit < UNITS.length - 1 && bytes >= 1024 ** (unit + 1)) unit++
  return `${Number((bytes / 1024 ** unit).toFixed(unit === 0 ? 0 : 1))} ${UNITS[unit]}`
}

import { join } from 'node:path'
import { isId } from '../../ipc/names.ts'
import { KiB } from '../../ipc/units.ts'
import { diskSpace, type LookAtDisk, namedIfFull } from '../os/disk-space.ts'
import * as files from '../os/files.ts'
import type { AgentLayout, VmLayout } from './layout.ts'
import { problemOf } from './problem.ts'
import { decodeRecord, encodeRecord, type VmRecord } from './vm-record.ts'

/** Unreadable is not absent: acting on it would send a running VM through create again. */
export type RecordRead =
  | { kind: 'absent' }
  /** `problem` says in words what is wrong. */
  | { kind: 'unreadable'; error: unknown; problem: string }
  | { kind: 'record'; record: VmRecord }

/** One file per VM, replaced atomically. Each VM's worker is the only writer of its file. */
export interface VmRecords {
  /** Ids with a record, readable or not, and ids of disks whose record is missing. */
  list(): Promise<string[]>
  /** Never rejects. A disk without its record is unreadable, not absent. */
  read(id: string): Promise<RecordRead>
  /** Keyed by the id inside the record's own spec. Durable when it resolves. Raises `host/disk-full`. */
  save(record: VmRecord): Promise<void>
  /** Removes the VM's whole directory in one step, and what an earlier try left of it; idempotent. */
  remove(id: string): Promise<void>
}

export type RecordFiles = Pick<
  typeof files,
  'ensureDir' | 'listDir' | 'readIfPresent' | 'removeAtomically' | 'sizeIfPresent' | 'writeDurable'
> & { diskSpace: LookAtDisk }

/** What a record takes at most, for people who are told that it does not fit. */
const RECORD_BYTES = 256 * KiB

/** Files looked at at one time while listing. */
const LIST_BATCH = 64

/** Records as files below the layout's `vms`. */
export function fileRecords(layout: AgentLayout, on: RecordFiles = { ...files, diskSpace }): VmRecords {
  const isThere = async (path: string) => (await on.sizeIfPresent(path).catch(() => 0)) !== undefined
  const hasDisk = async ({ disk, rawDisk }: VmLayout) => (await isThere(disk)) || (await isThere(rawDisk))
  const holdsVm = async (id: string) => {
    const vm = layout.vmDir(id)
    return (await isThere(vm.record)) || (await hasDisk(vm))
  }
  return {
    async list() {
      const names = (await on.listDir(layout.vms)).filter(isId)
      const ids: string[] = []
      for (let i = 0; i < names.length; i += LIST_BATCH) {
        const batch = names.slice(i, i + LIST_BATCH)
        const held = await Promise.all(batch.map(holdsVm))
        ids.push(...batch.filter((_, n) => held[n]))
      }
      return ids
    },
    async read(id) {
      const vm = layout.vmDir(id)
      try {
        const bytes = await on.readIfPresent(vm.record)
        if (bytes) return { kind: 'record', record: recordOf(id, bytes) }
        if (await hasDisk(vm)) throw new Error('it is missing, but the disk is there')
        return { kind: 'absent' }
      } catch (error) {
        return { kind: 'unreadable', error, problem: problemOf(error) }
      }
    },
    async save(record) {
      const vm = layout.vmDir(record.spec.vmId)
      try {
        await on.ensureDir('vm-dir.make', vm.dir)
        await on.writeDurable('record.save', vm.record, encodeRecord(record))
      } catch (error) {
        throw await namedIfFull(error, layout.stateDir, RECORD_BYTES, on.diskSpace)
      }
    },
    async remove(id) {
      await on.ensureDir('trash.dir', layout.trash)
      await on.removeAtomically('vm.remove', layout.vmDir(id).dir, layout.trash)
    },
  }
}

function recordOf(id: string, bytes: Buffer): VmRecord {
  if (bytes.length === 0) throw new Error('it is empty')
  const record = decodeRecord(bytes.toString('utf8'))
  if (record.spec.vmId !== id) throw new Error(`it is the record of VM ${record.spec.vmId}`)
  return record
}

/**
 * Removes what writers and removers left that died at work; only what nothing refers to. Call before anything is begun.
 * What cannot be removed stays; resolves with a sentence for each.
 */
export async function clearLeftovers(layout: AgentLayout): Promise<string[]> {
  const troubles: string[] = []
  const clear = async (path: string, work: () => Promise<unknown>) => {
    try {
      await work()
    } catch (error) {
      troubles.push(`What an earlier agent left cannot be cleared away (${path}: ${problemOf(error)}).`)
    }
  }
  await clear(layout.trash, () => files.removeTree('trash.empty', layout.trash))
  const vms = (await files.listDir(layout.vms)).filter(isId).map((id) => layout.vmDir(id).dir)
  for (const dir of [layout.stateDir, ...vms])
    await clear(dir, async () => {
      const names = await files.listDir(dir)
      const temps = names.filter(files.isTemp).map((name) => join(dir, name))
      for (const temp of temps) await clear(temp, () => files.removeTree('state.clean', temp))
      // Made for a record that never came; any other directory needs no second look.
      if (dir !== layout.stateDir && temps.length === names.length && (await files.listDir(dir)).length === 0)
        await files.removeEmptyDir('vm-dir.clean', dir)
    })
  return troubles
}

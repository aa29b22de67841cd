import { Fault } from '../../ipc/faults.ts'
import { isId } from '../../ipc/names.ts'
import {
  ensureDir,
  isDiskFull,
  listDir,
  readIfPresent,
  removeAtomically,
  removeTree,
  sizeIfPresent,
  writeDurable,
} from '../os/files.ts'
import type { AgentLayout } from './layout.ts'
import { decodeRecord, encodeRecord, type VmRecord } from './vm-record.ts'

/** Unreadable is not absent: acting on it would send a running VM through create again. */
export type RecordRead =
  | { kind: 'absent' }
  | { kind: 'unreadable'; error: unknown }
  | { kind: 'record'; record: VmRecord }

/** One file per VM, replaced atomically. Each VM's worker is the only writer of its file. */
export interface VmRecords {
  /** Ids with a record, readable or not. */
  list(): Promise<string[]>
  /** Never rejects. */
  read(id: string): Promise<RecordRead>
  /** Keyed by the id inside the record's own spec. Durable when it resolves. Raises `host/disk-full`. */
  save(record: VmRecord): Promise<void>
  /** Removes the VM's whole directory in one step; idempotent. */
  remove(id: string): Promise<void>
}

/** Records as files below the layout's `vms`; directories without a record file do not count. */
export function fileRecords(layout: AgentLayout): VmRecords {
  return {
    async list() {
      const names = (await listDir(layout.vms)).filter(isId)
      const sizes = await Promise.all(names.map((id) => sizeIfPresent(layout.vmDir(id).record).catch(() => 0)))
      return names.filter((_, i) => sizes[i] !== undefined)
    },
    async read(id) {
      try {
        const bytes = await readIfPresent(layout.vmDir(id).record)
        return bytes === undefined
          ? { kind: 'absent' }
          : { kind: 'record', record: decodeRecord(bytes.toString('utf8')) }
      } catch (error) {
        return { kind: 'unreadable', error }
      }
    },
    async save(record) {
      const vm = layout.vmDir(record.spec.vmId)
      try {
        await ensureDir('vm-dir.make', vm.dir)
        await writeDurable('record.save', vm.record, encodeRecord(record))
      } catch (error) {
        throw isDiskFull(error) ? new Fault('host/disk-full', 'transient', {}, { cause: error }) : error
      }
    },
    async remove(id) {
      await ensureDir('trash.dir', layout.trash)
      await removeAtomically('vm.remove', layout.vmDir(id).dir, layout.trash)
    },
  }
}

/** What a crash left between the two halves of a removal. */
export const emptyTrash = (layout: AgentLayout): Promise<void> => removeTree('trash.empty', layout.trash)

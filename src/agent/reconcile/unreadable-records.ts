import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import type { AgentLayout } from '../records/layout.ts'
import type { RecordRead } from '../records/vm-records.ts'

export type UnreadableRecord = Extract<RecordRead, { kind: 'unreadable' }>

/** VMs whose record cannot be read: nothing is done to them, and people are told. */
export class UnreadableRecords {
  readonly #layout: AgentLayout
  readonly #log: Log
  readonly #notices = new Map<string, string>()

  constructor(layout: AgentLayout, log: Log) {
    this.#layout = layout
    this.#log = log
  }

  /** Logged the first time only. */
  add(vmId: string, name: string | undefined, { error, problem }: UnreadableRecord): void {
    const file = this.#layout.vmDir(vmId).record
    if (!this.#notices.has(vmId))
      this.#log.error('vm.record-unreadable', { vm: vmId, file, problem, error: asFault(error).message })
    this.#notices.set(
      vmId,
      `The record of VM ${name ?? vmId} cannot be read (${file}: ${problem}); nothing is done to it.`,
    )
  }

  has(vmId: string): boolean {
    return this.#notices.has(vmId)
  }

  delete(vmId: string): void {
    this.#notices.delete(vmId)
  }

  /** Forgets all that have no record any more. */
  keep(recorded: ReadonlySet<string>): void {
    for (const vmId of this.#notices.keys()) if (!recorded.has(vmId)) this.#notices.delete(vmId)
  }

  notices(): string[] {
    return [...this.#notices.values()]
  }
}

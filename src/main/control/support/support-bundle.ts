import { randomUUID } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import type { FleetState } from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { DEFAULT_TENANT } from '../../../ipc/request-headers.ts'
import type { AuditRow } from '../store/audit-store.ts'
import type { BundleText } from './bundle-file.ts'
import { type AboutFacts, aboutFile, auditFile, type StoreFacts, storeFile } from './control-files.ts'
import { fleetFiles } from './fleet-files.ts'
import { Labels } from './labels.ts'
import { logFile, tailOf } from './log-file-tail.ts'

/** What was shown is kept to be written for so long, */
export const SHOWN_MS = 10 * 60_000
/** and of so many looks of everybody: the oldest goes first. */
export const MAX_SHOWN = 4
const MAX_AUDIT = 1_000

export interface SupportSources {
  now(): number
  about(): AboutFacts
  store(tenant: string): StoreFacts
  fleet(tenant: string): FleetState
  audit(tenant: string, limit: number): AuditRow[]
  /** Names and ids of what belongs to other tenants: lines of the log that say one are left out. */
  foreignNames(tenant: string): string[]
  logPath: string
  home: string | undefined
}

interface Shown {
  id: string
  files: BundleText[]
  keptUntil: number
}

/** What a bundle of a tenant holds. Each look is kept for a while under its own id, so that exactly that is written. */
export class SupportBundle {
  readonly #from: SupportSources
  /** By id, oldest first. */
  readonly #shown = new Map<string, Shown & { tenant: string }>()

  constructor(from: SupportSources) {
    this.#from = from
  }

  /** `insteadOf`: a look of the same tenant that this one takes the place of; '' = none. */
  async preview(tenant: string, insteadOf = ''): Promise<Shown> {
    const files = await this.#make(tenant)
    if (this.#shown.get(insteadOf)?.tenant === tenant) this.#shown.delete(insteadOf)
    const shown = { id: randomUUID(), tenant, files, keptUntil: this.#from.now() + SHOWN_MS }
    this.#shown.set(shown.id, shown)
    this.#forgetOld()
    return shown
  }

  /** As shown under this id, or as it is now where none is named. Raises support/preview-over. */
  async files(tenant: string, id = ''): Promise<BundleText[]> {
    if (id === '') return await this.#make(tenant)
    this.#forgetOld()
    const shown = this.#shown.get(id)
    if (shown?.tenant !== tenant) throw new Fault('support/preview-over', 'permanent')
    return shown.files
  }

  /** A clock that was set back keeps nothing longer. */
  #forgetOld(): void {
    const now = this.#from.now()
    for (const { id, keptUntil } of [...this.#shown.values()])
      if (now > keptUntil || keptUntil - now > SHOWN_MS || this.#shown.size > MAX_SHOWN) this.#shown.delete(id)
  }

  /** In the home of whoever runs this, named by the time. */
  suggestedPath(): string {
    const time = new Date(this.#from.now()).toISOString().slice(0, 19).replaceAll(':', '').replace('T', '-')
    return join(this.#from.home || homedir(), `eitri-support-${time}.tar.gz`)
  }

  async #make(tenant: string): Promise<BundleText[]> {
    const { about, store, fleet, audit, logPath } = this.#from
    const state = fleet(tenant)
    const labels = knownOf(tenant, state)
    return [
      await aboutFile(labels, about()),
      ...(await fleetFiles(labels, state)),
      await storeFile(labels, store(tenant)),
      await auditFile(labels, audit(tenant, MAX_AUDIT)),
      ...(tenant === DEFAULT_TENANT ? [await logFile(labels, await tailOf(logPath), this.#foreign(tenant))] : []),
    ]
  }

  /** The log is everybody's: it is shown where the app's own things are looked after, without what others own. */
  #foreign(tenant: string): (line: string) => boolean {
    const names = this.#from.foreignNames(tenant)
    const values = new Set(names.map((name) => JSON.stringify(name)))
    return (line) => {
      const said = line.match(/"(?:[^"\\]|\\.)*"/g) ?? []
      return said.some((value) => values.has(value) || names.some((name) => name.length >= 16 && value.includes(name)))
    }
  }
}

function knownOf(tenant: string, { hosts, vms, images, ports, tasks }: FleetState): Labels {
  const labels = new Labels()
  for (const host of hosts) labels.know('host', host.id, host.name)
  for (const vm of vms) labels.know('vm', vm.id, vm.name, vm.sshName)
  for (const image of images) labels.know('image', image.id, image.name)
  for (const task of tasks) labels.know('task', task.id)
  for (const port of ports) labels.know('port', port.id)
  labels.know('tenant', tenant)
  return labels
}

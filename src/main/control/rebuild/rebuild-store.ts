import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { faultLine } from '../../../ipc/fault-text.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { MAX_EPOCH } from '../../../ipc/units.ts'
import { askAgent } from '../hosts/ask-agent.ts'
import { setAside, synced } from '../store/backup.ts'
import { openFile } from '../store/database-open.ts'
import type { HostRow } from '../store/host-row.ts'
import type { Stores } from '../store/stores.ts'
import type { Registry } from '../sync/registry.ts'
import { putHost } from './put-host.ts'
import { putRevocations } from './put-revocations.ts'
import { freeNameIn, type Held, type HostPlan, holdersOf, planHost } from './rebuild-plan.ts'

const ASK_MS = 15_000
const MAX_NOTES = 200
const TOO_MANY = 'no fleet has had as many epochs as it says'
const NO_HOSTS =
  'No host could be read: add each again with "eitri host add"; its VMs are shown there, running and unowned, for "eitri vm adopt".'

export interface RebuildDeps {
  stores: Stores
  registry: Registry
  /** Of the database. */
  file: string
  clock: Pick<Clock, 'now'>
  log: Log
}

/**
 * A new file of what could be read of the damaged one and what hosts hold; the damaged one is kept beside it. Nothing is
 * sent to a host meanwhile. Raises store/not-damaged, and store/unavailable: then all is as it was.
 */
export async function rebuildStore(deps: RebuildDeps): Promise<{ keptAt: string; notes: string[] }> {
  const { stores, registry, file, log } = deps
  const { db, hosts } = stores
  const { damage } = db
  if (!damage) throw new Fault('store/not-damaged', 'permanent')
  const held = new Map<string, Held | undefined>()
  for (const host of hosts.listAll()) held.set(host.id, await heldBy(registry, host, log))
  if (db.damage !== damage) throw new Fault('store/conflict', 'conflict')
  try {
    const notes = [...damage.lost, ...fill(deps, held), ...(held.size === 0 ? [NO_HOSTS] : [])]
    const keptAt = putInPlace(deps)
    db.replace(openFile(file, deps.clock.now))
    stores.audit.add({ action: 'store.rebuild', tenant: 'system', detail: { kept_at: keptAt, reason: damage.reason } })
    for (const host of hosts.listAll()) for (const noun of ['host', 'desired'] as const) db.changed(noun, host.id)
    return { keptAt, notes: notes.slice(0, MAX_NOTES) }
  } catch (error) {
    // What was written in memory meanwhile must not pass for what could be read.
    if (db.damage) db.replace(openFile(file, deps.clock.now))
    throw error
  }
}

async function heldBy(registry: Registry, host: HostRow, log: Log): Promise<Held | undefined> {
  try {
    const { epoch, state } = await askAgent(registry, host, ({ connection, sessionId }) =>
      connection.client.getDesired({ sessionId }, { timeoutMs: ASK_MS }),
    )
    // A row past it could be stored and not be read any more.
    if (epoch > MAX_EPOCH) throw new Fault('agent/misbehaved', 'transient', { host: host.name, detail: TOO_MANY })
    return state && { epoch, state }
  } catch (error) {
    const { code, message } = asFault(error)
    log.warn('store.host-not-asked', { host: host.name, code, message })
    return undefined
  }
}

/** Everything the hosts hold into the store in memory, all of it or nothing; what to tell people. */
function fill({ stores, registry, clock }: RebuildDeps, held: ReadonlyMap<string, Held | undefined>): string[] {
  const { db, hosts, vms } = stores
  const taken = new Map<string, Set<string>>()
  const namesOf = (tenant: string) => {
    const names = taken.get(tenant) ?? new Set(vms.list(tenant).flatMap((vm) => (vm.deletedAt ? [] : [vm.name])))
    taken.set(tenant, names)
    return names
  }
  const holders = holdersOf(held, vms.listAll())
  const take = (host: HostRow, told: Held | undefined): string[] => {
    const rows = vms.listByHost(host.id)
    const names = namesOf(host.tenant)
    if (told && told.epoch > host.sentEpoch) for (const row of rows) if (!row.deletedAt) names.delete(row.name)
    const { report } = registry.live(host.id)
    const isItsOwn = (vmId: string) => holders.get(vmId) === host.id
    const plan: HostPlan = planHost({ host, rows, held: told, report }, freeNameIn(names), isItsOwn)
    const why = told ? putRevocations(stores, host, told.state.sshKrl) : ''
    if (why !== '') undecide(plan, host.name, why)
    putHost(stores, host, plan, report, new Date(clock.now()))
    return plan.notes
  }
  return db.withoutTriggers(() =>
    hosts.listAll().flatMap((host) => {
      try {
        return db.attempt(() => take(host, held.get(host.id)))
      } catch (error) {
        // What one host says must not keep what the others say from being taken.
        const { code, params } = asFault(error)
        const unread = `What ${host.name} was told cannot be taken over. ${faultLine(code, params)}`
        return [unread, ...take(host, undefined)]
      }
    }),
  )
}

function undecide(plan: HostPlan, name: string, why: string): void {
  plan.epoch = undefined
  plan.notes.push(`${why}: nothing is sent there until "eitri host takeover ${name} --from-older".`)
}

/** The new file under the name of the damaged one, which keeps what belongs to it under another; where that is, '' = there was none. */
function putInPlace({ stores, file, clock }: RebuildDeps): string {
  const fresh = `${file}.rebuilding`
  rmSync(fresh, { force: true })
  stores.db.copyInto(fresh)
  const aside = setAside(file, 'damaged', clock.now())
  renameSync(fresh, file)
  synced(dirname(file))
  return aside
}

import { timestampDate } from '@bufbuild/protobuf/wkt'
import { faultLine } from '../../../ipc/fault-text.ts'
import { asFault } from '../../../ipc/faults.ts'
import type { DesiredState, Exposure, Report } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { isId } from '../../../ipc/names.ts'
import type { NewExposure } from '../store/exposures-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { AdoptedVm, VmRow } from '../store/vm-row.ts'
import { adoptedVm } from '../vms/adopt-vm.ts'

/** The longest a tenant may ask for. */
const MAX_GRACE_S = 365 * 86_400

/** What a host was last told, as it says. */
export interface Held {
  epoch: bigint
  state: DesiredState
}

export interface RebuiltHost {
  host: Pick<HostRow, 'id' | 'name' | 'sentEpoch'>
  /** What could be read of it. */
  rows: readonly VmRow[]
  /** Undefined = it cannot be asked, or does not know. */
  held: Held | undefined
  report: Report | undefined
}

/** A VM as its host was told of it, deletion included. */
export interface RebuiltVm {
  vm: AdoptedVm
  /** Null = live. */
  deletedAt: Date | null
  graceS: number | null
}

export interface HostPlan {
  /** The host was told something later than what could be read. */
  readIsOlder: boolean
  /** Of rows that are older than what the host was told, or that it was never told of here. */
  drop: string[]
  put: RebuiltVm[]
  ports: NewExposure[]
  /** What to go on from; undefined = a person has to decide first, see `hasNewer`. */
  epoch: bigint | undefined
  /** Sentences for people. */
  notes: string[]
}

/**
 * What the rows of one host become. Where the host was told something later than what could be read, that counts, whole;
 * else what could be read stands and only what is missing is taken from the host. `freeName` gives a name that no other
 * VM of the store has, `isItsOwn` says whether a VM is this host's, see holdersOf.
 */
export function planHost(
  { host, rows, held, report }: RebuiltHost,
  freeName: (vm: VmSpec) => string,
  isItsOwn: (vmId: string) => boolean = () => true,
): HostPlan {
  const plan: HostPlan = { readIsOlder: false, drop: [], put: [], ports: [], epoch: undefined, notes: [] }
  if (!held) {
    plan.notes.push(
      `${host.name} could not say what it was told: nothing is sent to it until "eitri host takeover ${host.name} --from-older".`,
    )
    return plan
  }
  plan.epoch = held.epoch > host.sentEpoch ? held.epoch : host.sentEpoch
  const readIsOlder = held.epoch > host.sentEpoch
  plan.readIsOlder = readIsOlder
  const byId = new Map(rows.map((row) => [row.id, row]))
  const told = new Set(held.state.vms.map(({ vmId }) => vmId))
  if (readIsOlder)
    for (const row of rows) {
      plan.drop.push(row.id)
      if (!told.has(row.id)) plan.notes.push(`VM ${row.name} is left out: ${host.name} was told later that it is gone.`)
    }
  for (const spec of held.state.vms) {
    const row = byId.get(spec.vmId)
    if ((row && !readIsOlder) || isDestroyed(spec, report)) continue
    if (isItsOwn(spec.vmId)) take(plan, host, spec, row, report, freeName)
    else plan.notes.push(`VM ${spec.name} on ${host.name} stays there unowned: more than one place claims its id.`)
  }
  const kept = new Set([...(readIsOlder ? [] : rows.map((row) => row.id)), ...plan.put.map(({ vm }) => vm.id)])
  plan.ports.push(...held.state.exposures.filter(({ vmId }) => kept.has(vmId)).flatMap(portOf))
  return plan
}

function take(
  plan: HostPlan,
  host: RebuiltHost['host'],
  spec: VmSpec,
  row: VmRow | undefined,
  report: Report | undefined,
  freeName: (vm: VmSpec) => string,
): void {
  try {
    const name = spec.tombstone ? spec.name : freeName(spec)
    if (name !== spec.name)
      plan.notes.push(`VM ${spec.name} on ${host.name} is named ${name} now: another has its name.`)
    const adopted = adoptedVm({ id: spec.vmId, hostId: host.id, spec }, name)
    const powerState = spec.powerState === 'stopped' ? 'stopped' : 'running'
    const own = row ? { labels: row.labels, injectedKey: row.injectedKey } : {}
    plan.put.push({ vm: { ...adopted, ...own, powerState }, ...deletionOf(spec, row, report) })
  } catch (error) {
    plan.notes.push(`VM ${spec.name || spec.vmId} on ${host.name} stays there unowned. ${wordsOf(error)}`)
  }
}

const wordsOf = (error: unknown): string => {
  const { code, params } = asFault(error)
  return faultLine(code, params)
}

/**
 * Whose a VM is: of the host in whose row it could be read, else of the only one that says it once. A VM that more claim
 * is nobody's, as all but one of them err, or lie.
 */
export function holdersOf(
  held: ReadonlyMap<string, Held | undefined>,
  rows: readonly Pick<VmRow, 'id' | 'hostId'>[],
): ReadonlyMap<string, string> {
  const said = new Map<string, string>()
  for (const [hostId, told] of held)
    for (const { vmId } of told?.state.vms ?? []) if (isId(vmId)) said.set(vmId, said.has(vmId) ? '' : hostId)
  return new Map([...said, ...rows.map(({ id, hostId }) => [id, hostId] as const)])
}

/** Its host has nothing of it any more, and says so until it is believed. */
const isDestroyed = ({ vmId, tombstone }: VmSpec, report: Report | undefined): boolean =>
  tombstone !== undefined && (report?.destroyed.includes(vmId) ?? false)

/** Begun when its host says; where it does not, now. */
function deletionOf({ vmId, tombstone }: VmSpec, row: VmRow | undefined, report: Report | undefined) {
  if (!tombstone) return { deletedAt: null, graceS: null }
  const graceS = Math.min(Number(tombstone.graceS), MAX_GRACE_S)
  const ends = report?.quarantined.find((vm) => vm.vmId === vmId)?.destroyAt
  const begun = ends && new Date(timestampDate(ends).getTime() - graceS * 1000)
  return { deletedAt: begun ?? row?.deletedAt ?? new Date(), graceS }
}

const isPort = (port: number): boolean => port >= 1 && port <= 65_535

function portOf({ id, vmId, guestPort, hostPort, protocol, scope }: Exposure): NewExposure[] {
  if ((protocol !== 'tcp' && protocol !== 'udp') || ![guestPort, hostPort].every(isPort)) return []
  return [{ id, vmId, guestPort, hostPort, protocol, scope: scope === 'loopback' ? 'loopback' : 'lan' }]
}

/** `web`, else `web-1f3a` by its id, else longer. */
export function freeNameIn(taken: Set<string>): (vm: Pick<VmSpec, 'name' | 'vmId'>) => string {
  return ({ name, vmId }) => {
    const free = [name, ...[4, 8, 16, 32].map((n) => `${name.slice(0, 62 - n)}-${vmId.slice(0, n)}`)].find(
      (candidate) => !taken.has(candidate),
    )
    const chosen = free ?? vmId
    taken.add(chosen)
    return chosen
  }
}

import type { DesiredState, Exposure } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import type { Desired } from '../records/desired-state.ts'
import { type GuestTrustFiles, type RevokedList, revokedList } from '../seed/ssh-trust.ts'
import type { Wanted } from './vm-plan.ts'

/** Longest quarantine that can be counted and shown as a date; a longer wish means this. */
const MAX_GRACE_MS = 100 * 365 * 86_400_000

/** What the last accepted snapshot says of every VM. */
export class WantedVms {
  readonly #wanted: ReadonlyMap<string, Wanted>
  readonly #known: boolean
  /** The epoch in which each deleted VM was deleted, without having been wanted since. */
  readonly deletedIn: ReadonlyMap<string, bigint>
  /** Of wanted VMs and of others. */
  readonly exposures: readonly Exposure[]
  /** Certificates that guests are to refuse. */
  readonly revoked: RevokedList

  private constructor(desired: Desired | undefined) {
    const { state } = desired?.snapshot ?? {}
    this.#known = state !== undefined
    this.deletedIn = desired?.deletedIn ?? new Map()
    this.exposures = state?.exposures ?? []
    this.revoked = revokedList(state?.sshKrl ?? new Uint8Array())
    this.#wanted = new Map((state?.vms ?? []).map((spec) => [spec.vmId, wantedOf(spec, this.deletedIn)]))
  }

  /** Undefined = no snapshot was ever accepted, or the last one cannot be read: nothing can be said of any VM. */
  static of(desired: Desired | undefined): WantedVms {
    return new WantedVms(desired)
  }

  of(vmId: string): Wanted {
    return this.#wanted.get(vmId) ?? { kind: 'absent', unowned: this.#known }
  }

  has(vmId: string): boolean {
    return this.#wanted.has(vmId)
  }

  /** What a guest is to hold of the fleet's SSH trust; undefined = the VM is not wanted, or the fleet has nothing for it. */
  trustOf(vmId: string): GuestTrustFiles | undefined {
    const wanted = this.of(vmId)
    if (wanted.kind !== 'live') return undefined
    const { sshUserCaAuthorizedKeys: userCas, sshHostCert: hostCertificate, hostCertRequired } = wanted.spec
    const certified = hostCertRequired && hostCertificate !== ''
    if (userCas.length === 0 && !certified) return undefined
    return { userCas, hostCertificate: certified ? hostCertificate : '', revoked: this.revoked }
  }

  ids(): Iterable<string> {
    return this.#wanted.keys()
  }

  /** The same for the next snapshot; a VM it does not name is still deleted as long as something of it is here. */
  nextDeletedIn(state: DesiredState, epoch: bigint, isHere: (vmId: string) => boolean): Map<string, bigint> {
    const next = new Map<string, bigint>()
    const named = new Set<string>()
    for (const { vmId, tombstone } of state.vms) {
      named.add(vmId)
      if (tombstone) next.set(vmId, this.deletedIn.get(vmId) ?? epoch)
    }
    for (const [vmId, since] of this.deletedIn) if (!named.has(vmId) && isHere(vmId)) next.set(vmId, since)
    return next
  }
}

function wantedOf(spec: VmSpec, deletedIn: ReadonlyMap<string, bigint>): Wanted {
  if (!spec.tombstone) return { kind: 'live', spec }
  const graceMs = Math.min(Number(spec.tombstone.graceS) * 1000, MAX_GRACE_MS)
  return { kind: 'tombstone', spec, graceMs, since: deletedIn.get(spec.vmId)?.toString() ?? '' }
}

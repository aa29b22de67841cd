import { create } from '@bufbuild/protobuf'
import type { Clock } from '../../../ipc/base/clock.ts'
import { type AgentUpgrade, AgentUpgradeSchema, type Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { UpgradeOutcome } from '../../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { hasFeature } from './agent-features.ts'

/** A newer agent that lies on its host and is offered to the one that runs there. */
export interface UpgradeOffer {
  version: string
  /** Build digest: two builds may have one version. */
  digest: string
  /** Of the staged file, hex. */
  sha256: string
  stagedPath: string
}

interface Pending extends UpgradeOffer {
  /** Monotonic ms. */
  offeredAt: number
  /** What the host said of an upgrade before it heard of this one. */
  before: UpgradeOutcome | undefined
}

export interface UpgradeOffersDeps {
  /** What the host is told changed. */
  poke(hostId: string): void
  /** What is shown of the host changed. */
  changed(hostId: string): void
  clock: Pick<Clock, 'monotonic'>
}

/** Offers of this process, in memory alone: after a restart there are none, in no snapshot either. */
export class UpgradeOffers {
  readonly #deps: UpgradeOffersDeps
  readonly #pending = new Map<string, Pending>()

  constructor(deps: UpgradeOffersDeps) {
    this.#deps = deps
  }

  /** Rides in the host's snapshots until it is cleared; takes the place of one before it. */
  offer(hostId: string, offer: UpgradeOffer, before: UpgradeOutcome | undefined): void {
    this.#pending.set(hostId, { ...offer, offeredAt: this.#deps.clock.monotonic(), before })
    this.#tell(hostId)
  }

  /** Withdraws it, or forgets it with its host. Idempotent. */
  clear(hostId: string): void {
    if (this.#pending.delete(hostId)) this.#tell(hostId)
  }

  has(hostId: string): boolean {
    return this.#pending.has(hostId)
  }

  /** What is shown of it; undefined = none. */
  pending(hostId: string): { version: string; ageS: number } | undefined {
    const offer = this.#pending.get(hostId)
    if (!offer) return undefined
    const ageS = Math.max(0, Math.floor((this.#deps.clock.monotonic() - offer.offeredAt) / 1000))
    return { version: offer.version, ageS }
  }

  /** For the next snapshot to an agent that takes offers. */
  wire(hostId: string, hello: Pick<Hello, 'features'> | undefined): AgentUpgrade | undefined {
    const offer = this.#pending.get(hostId)
    if (!offer || !hasFeature(hello, 'upgrade')) return undefined
    const { version, sha256, stagedPath } = offer
    return create(AgentUpgradeSchema, { version, sha256, stagedPath })
  }

  /** An agent of the offered version said Hello: the offer is done. */
  heard(hostId: string, hello: Pick<Hello, 'agentVersion' | 'agentDigest'>): void {
    const offer = this.#pending.get(hostId)
    if (offer && isAgent(hello, offer)) this.clear(hostId)
  }

  /** The host says how it went: what it refused, or went back from, is not offered on. */
  reported(hostId: string, outcome: UpgradeOutcome | undefined): void {
    const offer = this.#pending.get(hostId)
    if (!offer || !outcome || !isAbout(outcome, offer.sha256, offer.before)) return
    if (outcome.state === 'refused' || outcome.state === 'rolled_back') this.clear(hostId)
  }

  #tell(hostId: string): void {
    this.#deps.poke(hostId)
    this.#deps.changed(hostId)
  }
}

/** Whether an agent is the one meant; a digest that one side does not say is not held against it. */
export const isAgent = (
  { agentVersion, agentDigest }: Pick<Hello, 'agentVersion' | 'agentDigest'>,
  { version, digest }: { version: string; digest: string },
): boolean => agentVersion === version && (agentDigest === '' || digest === '' || agentDigest === digest)

/** Whether what a host says is of an offer of this digest made after it had said `before`. */
export function isAbout(outcome: UpgradeOutcome, sha256: string, before: UpgradeOutcome | undefined): boolean {
  if (outcome.sha256 !== sha256) return false
  const key = ({ sha256: digest, state, at }: UpgradeOutcome) => `${digest} ${state} ${at?.seconds}.${at?.nanos}`
  return before === undefined || key(outcome) !== key(before)
}

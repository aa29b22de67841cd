import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Clock } from '../../ipc/base/clock.ts'
import { type GuestTrust, GuestTrustSchema } from '../../ipc/gen/eitri/agent/v1/trust_pb.js'
import { around } from '../os/failpoints.ts'
import type { GuestTrustFiles } from '../seed/ssh-trust.ts'
import { type GuestAgent, GuestAgentError } from './guest-agent.ts'
import type { RunningGuest } from './guest-rounds.ts'
import { trustAnswer, trustScript } from './trust-script.ts'

/** Looked at again when all is well, and when it is not: a person in the guest may undo it, a reboot bring it about. */
const PAUSE_MS = { written: 600_000, failed: 60_000, unreachable: 0, '': 5_000 } as const

const SILENT = 'Nothing in the guest answers; it gets this once its guest agent does.'
const ABSENT = 'Its sshd has no settings of the fleet: no certificate of it lets anybody in there.'

interface Entry {
  /** Undefined = the fleet has nothing for it. */
  wanted: GuestTrustFiles | undefined
  /** Key of what was tried last. */
  tried: string
  state: '' | 'written' | 'failed' | 'unreachable'
  /** In the guest; '' = never written by this agent. */
  krlSha256: string
  detail: string
  /** Wall clock, ms; 0 = never. */
  asOf: number
  /** Monotonic ms. */
  nextAt: number
}

export interface GuestTrustsDeps {
  clock: Clock
  /** What a running guest is to hold; undefined = the fleet has nothing for it. */
  wanted(vmId: string): GuestTrustFiles | undefined
  /** Whether the fleet's part of the seed has run in the guest; undefined = nobody can say. */
  seeded(vmId: string): boolean | undefined
  onChange(): void
}

type ScriptAgent = Pick<GuestAgent, 'script'>

/**
 * Brings running guests what changed since their seeds were made: their host certificate and the list of revoked ones.
 * Level-triggered: whatever a guest holds, it is looked at again, and a guest that could not be reached is tried again.
 */
export class GuestTrusts {
  readonly #deps: GuestTrustsDeps
  readonly #entries = new Map<string, Entry>()

  constructor(deps: GuestTrustsDeps) {
    this.#deps = deps
  }

  /** Something is to be brought that was not tried yet. */
  hasNews({ id }: RunningGuest): boolean {
    const { wanted, tried } = this.#look(id)
    return wanted !== undefined && keyOf(wanted) !== tried
  }

  /** Raises GuestAgentError when the guest does not answer. */
  async visit({ id }: RunningGuest, agent: ScriptAgent, signal: AbortSignal): Promise<void> {
    const entry = this.#look(id)
    const { wanted } = entry
    const { clock, onChange } = this.#deps
    const isDue = entry.state === 'unreachable' || clock.monotonic() >= entry.nextAt
    if (!wanted || (keyOf(wanted) === entry.tried && !isDue)) return
    const before = wordsOf(entry)
    entry.tried = keyOf(wanted)
    try {
      const { stdout } = await around('guest.trust', () => agent.script(trustScript(wanted), signal))
      this.#take(id, entry, trustAnswer(stdout))
    } catch (error) {
      if (!(error instanceof GuestAgentError && error.trouble === 'refused')) throw error
      Object.assign(entry, { state: 'failed', detail: `Its guest agent runs no programs (${error.message}).` })
    }
    entry.asOf = clock.now()
    entry.nextAt = clock.monotonic() + PAUSE_MS[entry.state]
    if (wordsOf(entry) !== before) onChange()
  }

  silent({ id }: RunningGuest): void {
    const entry = this.#look(id)
    if (!entry.wanted || entry.state === 'unreachable') return
    Object.assign(entry, { state: 'unreachable', detail: SILENT, asOf: this.#deps.clock.now() })
    this.#deps.onChange()
  }

  forget(vmId: string): void {
    this.#entries.delete(vmId)
  }

  /** ms until it wants to ask again; undefined = no hurry. */
  wantsIn(vmId: string): number | undefined {
    const entry = this.#entries.get(vmId)
    if (!entry?.wanted || entry.state === 'unreachable' || entry.state === 'written') return undefined
    return Math.max(0, entry.nextAt - this.#deps.clock.monotonic())
  }

  /** Absent = the fleet has nothing for this guest, or was not asked yet. */
  of(vmId: string): GuestTrust | undefined {
    const entry = this.#entries.get(vmId)
    if (!entry?.wanted || entry.asOf === 0) return undefined
    return create(GuestTrustSchema, {
      revocations: revocationsOf(entry, entry.wanted),
      krlSha256: entry.krlSha256,
      detail: entry.detail,
      asOf: timestampFromMs(entry.asOf),
    })
  }

  #take(vmId: string, entry: Entry, answer: ReturnType<typeof trustAnswer>): void {
    switch (answer.outcome) {
      case 'written':
        Object.assign(entry, { state: 'written', krlSha256: answer.krlSha256, detail: '' })
        return
      case 'absent':
        // A first boot may not be that far yet.
        if (this.#deps.seeded(vmId) === undefined && entry.state === '') return
        Object.assign(entry, { state: 'failed', krlSha256: '', detail: ABSENT })
        return
      case 'failed':
        Object.assign(entry, { state: 'failed', detail: `Not all of it could be written: ${answer.detail}.` })
    }
  }

  #look(vmId: string): Entry {
    const entry = this.#entry(vmId)
    entry.wanted = this.#deps.wanted(vmId)
    return entry
  }

  #entry(vmId: string): Entry {
    const known = this.#entries.get(vmId)
    if (known) return known
    const fresh: Entry = {
      wanted: undefined,
      tried: '',
      state: '',
      krlSha256: '',
      detail: '',
      asOf: 0,
      nextAt: 0,
    }
    this.#entries.set(vmId, fresh)
    return fresh
  }
}

/** A list that is there but no longer the newest one is "older". */
function revocationsOf({ state, krlSha256 }: Entry, { userCas, revoked }: GuestTrustFiles): string {
  if (state !== 'written') return state
  return userCas.length === 0 || krlSha256 === revoked.sha256 ? 'current' : 'older'
}

const keyOf = ({ userCas, hostCertificate, revoked }: GuestTrustFiles): string =>
  JSON.stringify([userCas, hostCertificate, revoked.sha256])
const wordsOf = ({ state, krlSha256, detail, asOf }: Entry): string =>
  JSON.stringify([state, krlSha256, detail, asOf === 0])

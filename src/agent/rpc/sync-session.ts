import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { systemClock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { HostFacts } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { SyncRequest, SyncResponse } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { type Attach, type Report, type Snapshot, SyncResponseSchema } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { helloMessage } from '../../ipc/hello-message.ts'
import { AGENT_PROTOCOL, MAX_EPOCH, TIMES } from '../../ipc/units.ts'
import { Bell } from '../serial/bell.ts'
import type { EndReason } from './attach-judge.ts'
import { FACTS_MS, nextWithin, within } from './deadlines.ts'
import { fitReport } from './report-fit.ts'
import { AgentSession, type AgentSessions } from './sessions.ts'
import type { AgentFacts, AgentSelf, JoinedWay, SessionIdentity, SyncEngine, UpgradeTaker } from './sync-engine.ts'

/** Changes closer together than this share one report. */
const COALESCE_MS = 50

export interface SyncSessionParts {
  engine: SyncEngine
  identity: SessionIdentity
  sessions: AgentSessions
  facts: AgentFacts
  self: AgentSelf
  /** Hears of each attach what the control plane suggests; durable before it resolves. Never rejects. */
  guestNetwork?: { resolve(suggestedCidrs: readonly string[]): Promise<void> }
  /** Absent = this agent takes no offers. */
  upgrades?: UpgradeTaker
  /** Absent = no host of this agent joins. */
  joined?: JoinedWay
  log: Log
}

type Response = MessageInitShape<typeof SyncResponseSchema>['message']
const response = (message: NonNullable<Response>): SyncResponse => create(SyncResponseSchema, { message })
const endFrame = (reason: EndReason) => response({ case: 'end', value: { controllerName: '', ...reason } })

/** One Sync stream from Attach to its end. A broken frame ends this stream and nothing else. */
export async function* runSyncSession(
  parts: SyncSessionParts,
  requests: AsyncIterable<SyncRequest>,
  signal: AbortSignal,
): AsyncGenerator<SyncResponse> {
  const incoming = requests[Symbol.asyncIterator]()
  const attach = await firstAttach(incoming, signal)
  if ('code' in attach) return yield endFrame(attach)
  const session = await parts.sessions.attach(attach).catch((error: unknown): EndReason => {
    parts.log.error('session.adopt-failed', { error: String(error) })
    return { code: 'transient', detail: `the fleet could not be recorded: ${asFault(error).message}` }
  })
  if (!(session instanceof AgentSession)) {
    parts.log.warn('session.refused', { code: session.code, controller: attach.controllerName })
    return yield endFrame(session)
  }
  parts.log.info('session.attached', { session: session.id, controller: attach.controllerName })
  try {
    await parts.guestNetwork?.resolve([attach.suggestedGuestCidr, ...attach.otherGuestCidrs])
    const value = await hello(parts, attach, session)
    yield response({ case: 'hello', value })
    const facts = value.facts?.accelerationPending === false ? undefined : parts.facts.whole()
    yield* new SyncSession(parts, session, facts).responses(incoming, AbortSignal.any([signal, session.signal]))
    if (session.ending) yield endFrame(session.ending)
  } finally {
    parts.log.info('session.over', { session: session.id, code: session.ending?.code ?? 'link' })
    parts.sessions.release(session)
  }
}

async function firstAttach(incoming: AsyncIterator<SyncRequest>, signal: AbortSignal): Promise<Attach | EndReason> {
  const refused: EndReason = { code: 'auth_rejected', detail: 'first frame must be Attach' }
  const late = () => new Fault('app/timeout', 'transient', { timeout: `${TIMES.attachMs} ms` })
  try {
    const first = await nextWithin(incoming, TIMES.attachMs, late, signal)
    return first.done !== true && first.value.message.case === 'attach' ? first.value.message.value : refused
  } catch (error) {
    if (signal.aborted) throw error
    return refused
  }
}

async function hello(parts: SyncSessionParts, attach: Attach, session: AgentSession) {
  const { identity, engine, facts, self, joined } = parts
  const capacity = engine.capacity()
  const found = await within(FACTS_MS, facts.host()).catch(() => undefined)
  return {
    protocolVersion: AGENT_PROTOCOL,
    hostId: identity.hostId,
    agentVersion: self.version,
    agentDigest: self.digest,
    identityPublicKey: identity.publicKey(),
    signature: identity.sign(helloMessage(attach.nonce, identity.hostId, AGENT_PROTOCOL)),
    sessionId: session.id,
    provisioner: self.provisioner,
    hostNetworks: self.hostNetworks,
    lastSeenEpoch: engine.lastSeenEpoch(),
    lastSeenSha256: Buffer.from(engine.lastSeenDigest(), 'hex'),
    bootId: self.bootId,
    stateDir: self.stateDir,
    ...(found ? { facts: found } : {}),
    ...(capacity ? { capacity } : {}),
    features: [...(self.features ?? [])],
    joinToken: (await joined?.token(attach.fleetId)) ?? '',
    ...(self.capabilities ? { capabilities: self.capabilities } : {}),
  }
}

class SyncSession {
  readonly #parts: SyncSessionParts
  readonly #session: AgentSession
  readonly #bell = new Bell()
  #fenced = false
  /** It has said what it wants, and was believed. */
  #accepted = false
  /** What Hello could not tell yet, until it is told. */
  #untold: HostFacts | undefined

  constructor(parts: SyncSessionParts, session: AgentSession, facts: Promise<HostFacts> | undefined) {
    this.#parts = parts
    this.#session = session
    void facts?.then(this.#learned, (error) => parts.log.warn('session.facts', { error: asFault(error).message }))
  }

  #learned = (facts: HostFacts): void => {
    this.#untold = facts
    this.#bell.ring()
  }

  /** Reports until the session is over; resolves then, and throws only what broke the stream. */
  async *responses(incoming: AsyncIterator<SyncRequest>, over: AbortSignal): AsyncGenerator<SyncResponse> {
    const broken = new AbortController()
    const stop = AbortSignal.any([over, broken.signal])
    const unsubscribe = this.#parts.engine.onChange(this.#bell.ring)
    void this.#receive(incoming).then(
      () => broken.abort(),
      (error: unknown) => broken.abort(error),
    )
    try {
      while (!stop.aborted) {
        yield response({ case: 'report', value: this.#report() })
        await this.#due(stop)
      }
    } finally {
      unsubscribe()
      broken.abort()
    }
    if (!over.aborted && broken.signal.reason instanceof Error && broken.signal.reason.name !== 'AbortError')
      throw broken.signal.reason
  }

  /** Takes snapshots one after the other; resolves when the peer closed its side or the session was ended. */
  async #receive(incoming: AsyncIterator<SyncRequest>): Promise<void> {
    for (;;) {
      const next = await incoming.next()
      if (next.done === true || this.#session.signal.aborted) return
      const { message } = next.value
      // A frame this build does not know decodes as empty: a newer control plane may say more than we understand.
      if (message.case === undefined) continue
      if (message.case !== 'snapshot') throw malformed(`${message.case} after Attach`)
      await this.#take(message.value)
    }
  }

  async #take(snapshot: Snapshot): Promise<void> {
    if (!snapshot.state) throw malformed('a snapshot without a state')
    if (snapshot.contentSha256.length !== 32) throw malformed('a snapshot whose digest is not 32 bytes')
    if (snapshot.epoch > MAX_EPOCH) throw malformed('a snapshot of an epoch no fleet has had')
    const { sessions, engine } = this.#parts
    try {
      const accepting = sessions.whileCurrent(this.#session, () => engine.accept(snapshot))
      const outcome = await within(TIMES.snapshotWriteMs, accepting)
      if (outcome) this.#fenced = outcome === 'fenced'
      if (outcome === 'accepted') {
        this.#accepted = true
        this.#parts.upgrades?.offered(snapshot.state.agentUpgrade)
      }
    } catch (error) {
      this.#parts.log.error('session.snapshot-failed', { error: String(error) })
      this.#session.end({ code: 'transient', detail: `the snapshot could not be kept: ${asFault(error).message}` })
    }
    this.#bell.ring()
  }

  #report(): Report {
    const report = this.#parts.engine.report()
    const facts = this.#untold
    this.#untold = undefined
    const { upgrades, joined, identity } = this.#parts
    if (this.#accepted) joined?.standing(identity.fleetId)
    const upgrade = upgrades?.outcome()
    const credentialEndsAt = joined?.endsAt()
    const more = {
      ...(facts ? { facts } : {}),
      ...(upgrade ? { upgrade } : {}),
      ...(credentialEndsAt ? { credentialEndsAt } : {}),
    }
    return fitReport({ ...report, fenced: this.#fenced, ...more })
  }

  /** Until something changed, at least COALESCE_MS and at most one report period after the last report. */
  async #due(stop: AbortSignal): Promise<void> {
    try {
      await systemClock.sleep(COALESCE_MS, stop)
      await this.#bell.wait(stop, TIMES.reportMs - COALESCE_MS)
    } catch (error) {
      if (!stop.aborted) throw error
    }
  }
}

const malformed = (problem: string) => new Fault('input/invalid', 'permanent', { field: 'Sync frame', problem })

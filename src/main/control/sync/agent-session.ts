import { randomBytes } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { ConnectError } from '@connectrpc/connect'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { asFault, Fault, findFault } from '../../../ipc/faults.ts'
import {
  AttachSchema,
  type Hello,
  type Report,
  type SyncRequest,
  SyncRequestSchema,
  type SyncResponse,
} from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { AGENT_PROTOCOL, TIMES } from '../../../ipc/units.ts'
import type { ActiveSession, AgentConnection } from '../hosts/agent-connection.ts'
import { judgeCredential } from '../hosts/credential-judge.ts'
import type { UpgradeOffers } from '../hosts/upgrade-offers.ts'
import type { AuditStore } from '../store/audit-store.ts'
import type { ExposuresStore } from '../store/exposures-store.ts'
import type { HostLifeStore } from '../store/host-life-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { suggestedGuestCidrs } from './guest-cidr.ts'
import { faultOfEnd, judgeHello } from './hello-judge.ts'
import { toldByHello } from './host-told.ts'
import type { Hub, Pokes } from './hub.ts'
import { hasNewer } from './newer-data.ts'
import type { Registry } from './registry.ts'
import { seenBy } from './seen.ts'
import { buildDesiredState, buildSnapshot, digestOf, type SnapshotTrust } from './snapshot-builder.ts'

/** An attached agent that says nothing for this long is not answering. */
const SILENCE_MS = 3 * TIMES.reportMs

export interface SessionDeps {
  /** While its file is damaged nothing is sent. Absent = it never is. */
  store?: { readonly damage: unknown }
  hosts: HostsStore
  vms: VmsStore
  exposures: ExposuresStore
  registry: Registry
  hub: Hub
  /** Absent = no SSH authority: nothing is said of trust that rows do not say. */
  trust?: SnapshotTrust
  applier: { apply(session: ActiveSession, report: Report): void }
  /** Newer agents offered to hosts. Absent = none ever is. */
  upgrades?: Pick<UpgradeOffers, 'wire' | 'heard' | 'reported'>
  /** Absent = nobody keeps when keys end. */
  hostLife?: Pick<HostLifeStore, 'setCredentialEnds'>
  /** Absent = nobody keeps who took a host over. */
  audit?: Pick<AuditStore, 'add'>
  clock: Clock
  log: Log
  fleetId: string
  controllerName: string
  version: string
}

export interface SessionInput {
  hostId: string
  connection: AgentConnection
  signal: AbortSignal
  /** A person decided to move the agent to this fleet. */
  takeOver?: boolean
}

/** Runs one control session to its end and answers why it ended; never rejects. The caller closes the connection. */
export async function runAgentSession(deps: SessionDeps, input: SessionInput): Promise<Fault> {
  const stop = new AbortController()
  const signal = AbortSignal.any([input.signal, stop.signal])
  let session: AgentSession | undefined
  void input.connection.closed.then((fault) => stop.abort(fault))
  try {
    session = new AgentSession(deps, input, stop)
    await session.run(signal)
    return new Fault('host/no-answer', 'transient', { host: session.name, detail: 'the agent closed the session' })
  } catch (error) {
    if (signal.aborted) return findFault(signal.reason) ?? new Fault('app/cancelled', 'cancelled')
    const fault = fromConnectError(error, 'host/no-answer')
    if (fault.code !== 'app/bug' || !(error instanceof ConnectError)) return fault
    const detail = `what it sent cannot be read: ${error.rawMessage.slice(0, 200)}`
    return new Fault('agent/misbehaved', 'transient', { host: session?.name ?? '', detail }, { cause: error })
  } finally {
    session?.end()
    stop.abort(new Fault('app/cancelled', 'cancelled'))
  }
}

class AgentSession {
  readonly #deps: SessionDeps
  readonly #input: SessionInput
  readonly #stop: AbortController
  readonly #host: HostRow
  readonly #pokes: Pokes
  readonly #nonce = randomBytes(32)
  readonly #attached = Promise.withResolvers<void>()
  #active: ActiveSession | undefined
  /** Hello is in the store. */
  #learnt = false
  /** A snapshot waits for its epoch to be durable. */
  #unsent = false
  /** Of the last try to store what could not be stored, monotonic ms. */
  #failedAt = 0

  constructor(deps: SessionDeps, input: SessionInput, stop: AbortController) {
    this.#deps = deps
    this.#input = input
    this.#stop = stop
    this.#host = deps.hosts.get(input.hostId)
    this.#pokes = deps.hub.subscribe(input.hostId)
    this.#attached.promise.catch(() => {})
  }

  get name(): string {
    return this.#host.name
  }

  async run(signal: AbortSignal): Promise<void> {
    const responses = this.#input.connection.client.sync(this.#requests(signal), { signal })[Symbol.asyncIterator]()
    try {
      this.#accept(helloOf(this.name, await this.#next(responses, TIMES.attachMs, signal)))
      for (;;) {
        const response = await this.#next(responses, SILENCE_MS, signal)
        if (!response) return
        this.#apply(response)
      }
    } finally {
      this.#attached.reject(new Fault('app/cancelled', 'cancelled'))
    }
  }

  end(): void {
    const { registry, hosts, clock, log } = this.#deps
    this.#pokes.stop()
    if (!this.#active) return
    const { reportedMonotonic } = registry.live(this.#host.id)
    registry.sessionEnded(this.#active)
    if (reportedMonotonic === undefined) return
    try {
      hosts.setLastSeen(this.#host.id, new Date(clock.now() - (clock.monotonic() - reportedMonotonic)))
    } catch (error) {
      log.warn('session.last-seen', { host: this.name, message: asFault(error).message })
    }
  }

  #accept(hello: Hello): void {
    const { registry, log } = this.#deps
    const { connection } = this.#input
    const pinned = { ...this.#host.agent, name: this.name, hostKeyFingerprint: this.#host.hostKeyFingerprint }
    const fault = judgeHello(hello, this.#nonce, pinned, connection.hostKeyFingerprint)
    if (fault) throw fault
    this.#requireStanding(this.#host)
    this.#deps.upgrades?.heard(this.#host.id, hello)
    const older = registry.active(this.#host.id)
    this.#active = { hostId: this.#host.id, sessionId: hello.sessionId, connection, hello }
    this.#learn(hello)
    registry.sessionStarted(this.#active)
    registry.setLink(this.#host.id, { state: 'connected', carrier: connection.carrier })
    older?.connection.close(new Fault('agent/superseded', 'transient', { host: this.name }))
    log.info('session.attached', { host: this.name, agentVersion: hello.agentVersion, epoch: hello.lastSeenEpoch })
    this.#attached.resolve()
  }

  #apply(response: SyncResponse): void {
    const { message } = response
    if (message.case === 'end') {
      const fault = faultOfEnd(this.name, message.value)
      if (fault.code === 'agent/foreign-controller') this.#noteTaken(fault)
      throw fault
    }
    if (message.case !== 'report' || !this.#active) return
    const row = this.#deps.hosts.get(this.#host.id)
    this.#requireStanding(row)
    this.#deps.applier.apply(this.#active, message.value)
    this.#noteKeyEnd(row, message.value)
    this.#deps.upgrades?.reported(this.#host.id, message.value.upgrade)
    this.#catchUp(this.#active.hello)
  }

  /** At each report anew. A store that cannot be asked has its own fault, which is no verdict. */
  #requireStanding(row: HostRow): void {
    const fault = judgeCredential(row, this.#deps.clock.now())
    if (fault) throw fault
  }

  /** In the trail of the one who lost it too. */
  #noteTaken({ params }: Fault): void {
    const { audit } = this.#deps
    const { id: hostId, tenant } = this.#host
    const detail = { controller: params['controller'] ?? '' }
    if (audit)
      this.#stored('session.taken-not-stored', () => audit.add({ action: 'host.taken-over', tenant, hostId, detail }))
  }

  /** Only a key of ours ends by what its host says. */
  #noteKeyEnd({ id, credential }: HostRow, { credentialEndsAt }: Report): void {
    const { hostLife } = this.#deps
    if (credential !== 'key' || !credentialEndsAt || !hostLife) return
    this.#stored('session.key-end-not-stored', () => hostLife.setCredentialEnds(id, timestampDate(credentialEndsAt)))
  }

  /** The one sender: Attach, then a snapshot at once and one per poke. */
  async *#requests(signal: AbortSignal): AsyncGenerator<SyncRequest> {
    yield this.#attach()
    await this.#attached.promise
    for (;;) {
      const snapshot = this.#snapshot()
      if (snapshot) {
        const written = this.#writeDeadline()
        yield snapshot
        written()
      }
      await this.#pokes.next(signal)
    }
  }

  #attach(): SyncRequest {
    const { fleetId, controllerName, version, hosts, registry } = this.#deps
    const suggest = () => suggestedGuestCidrs(hosts, registry, this.#host.id)
    const [best = '', ...others] = this.#stored('session.no-suggestion', suggest) ?? []
    const value = create(AttachSchema, {
      protocolVersion: AGENT_PROTOCOL,
      fleetId,
      nonce: this.#nonce,
      controllerName,
      appVersion: version,
      takeOver: this.#input.takeOver ?? false,
      suggestedGuestCidr: best,
      otherGuestCidrs: others,
    })
    return create(SyncRequestSchema, { message: { case: 'attach', value } })
  }

  /**
   * Undefined while its epoch cannot be made durable: an epoch that was sent must never be given to other content. And
   * while the host has newer data than this store: epochs that only rise by edits made here must not overtake it.
   */
  #snapshot(): SyncRequest | undefined {
    const value = this.#stored('session.snapshot-not-sent', () => {
      const { registry, hosts, vms, exposures, trust, log } = this.#deps
      const seen = seenBy(registry.live(this.#host.id))
      if (this.#deps.store?.damage) return 'none'
      const host = hosts.get(this.#host.id)
      if (hasNewer(hosts, host, seen)) {
        log.warn('session.host-has-newer', { host: this.name, epoch: host.sentEpoch, agentEpoch: seen.epoch })
        return 'none'
      }
      const { tenant } = host
      hosts.startAbove(this.#host.id, seen.epoch)
      const rows = vms.listByHost(this.#host.id)
      const state = buildDesiredState(rows, exposures.listByHost(this.#host.id), tenant, trust)
      const offered = this.#deps.upgrades?.wire(this.#host.id, this.#active?.hello)
      if (offered) state.agentUpgrade = offered
      const digest = digestOf(state)
      const epoch = hosts.stampSnapshot(this.#host.id, Buffer.from(digest).toString('hex'))
      return buildSnapshot(epoch, state, digest)
    })
    this.#unsent = value === undefined
    if (value === undefined || value === 'none') return undefined
    return create(SyncRequestSchema, { message: { case: 'snapshot', value } })
  }

  /** Agents report what they are sent at once: tried again no more often than they report by themselves. */
  #catchUp(hello: Hello): void {
    if (this.#deps.clock.monotonic() - this.#failedAt < TIMES.reportMs) return
    this.#learn(hello)
    if (this.#unsent) this.#deps.hub.poke(this.#host.id)
  }

  #learn(hello: Hello): void {
    if (this.#learnt) return
    const told = toldByHello(hello, this.#host.facts)
    this.#learnt =
      this.#stored('session.hello-not-stored', () => {
        this.#deps.hosts.setTold(this.#host.id, told)
        return true
      }) === true
  }

  /** Undefined when the store cannot be written now: the session goes on without. */
  #stored<T>(event: string, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      const { code, message } = asFault(error)
      if (code !== 'store/unavailable' && code !== 'store/read-only') throw error
      this.#deps.log.warn(event, { host: this.name, code, message })
      this.#failedAt = this.#deps.clock.monotonic()
      return undefined
    }
  }

  /** Ends the session unless the returned function is called in time: the transport asks for more once it has written. */
  #writeDeadline(): () => void {
    const done = new AbortController()
    this.#deps.clock.sleep(TIMES.snapshotWriteMs, done.signal).then(
      () => this.#stop.abort(this.#silent('it stopped reading')),
      () => {},
    )
    return () => done.abort()
  }

  async #next(
    responses: AsyncIterator<SyncResponse>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<SyncResponse | undefined> {
    const done = new AbortController()
    const late = this.#deps.clock
      .sleep(deadlineMs, AbortSignal.any([signal, done.signal]))
      .then(() => this.#stop.abort(this.#silent('it stopped reporting')))
      .catch(() => {})
      .then(() => signal.throwIfAborted())
      .then(() => new Promise<never>(() => {}))
    try {
      const result = await Promise.race([responses.next(), late])
      return result.done ? undefined : result.value
    } finally {
      done.abort()
    }
  }

  #silent(detail: string): Fault {
    return new Fault('host/no-answer', 'transient', { host: this.name, detail })
  }
}

function helloOf(host: string, response: SyncResponse | undefined): Hello {
  const message = response?.message
  if (message?.case === 'hello') return message.value
  if (message?.case === 'end') throw faultOfEnd(host, message.value)
  throw new Fault('agent/misbehaved', 'transient', { host, detail: 'its first answer was not Hello' })
}

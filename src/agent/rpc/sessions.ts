import { randomBytes } from 'node:crypto'
import { Fault } from '../../ipc/faults.ts'
import type { Attach } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { TIMES } from '../../ipc/units.ts'
import { type EndReason, judgeAttach } from './attach-judge.ts'
import { within } from './deadlines.ts'
import type { SessionIdentity, SyncEngine } from './sync-engine.ts'

/** One attached control plane. Its signal aborts, with a Fault as reason, once it is over. */
export class AgentSession {
  readonly id = randomBytes(16).toString('hex')
  readonly #over = new AbortController()
  #ending: EndReason | undefined

  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Why the agent ends it; undefined while it lives or when the peer just went. */
  get ending(): EndReason | undefined {
    return this.#ending
  }

  /** The first reason counts. */
  end(reason?: EndReason): void {
    if (this.#over.signal.aborted) return
    this.#ending = reason
    this.#over.abort(sessionFault(reason))
  }
}

const sessionFault = (reason?: EndReason): Fault =>
  reason?.code === 'superseded'
    ? new Fault('agent/superseded', 'transient', { message: reason.detail })
    : new Fault('host/no-answer', 'transient', { message: reason?.detail ?? 'the session is over' })

/** How long work under way of the session before may keep a newer one of the fleet waiting, ms. */
const SETTLE_MS = 1_000

/** At most one session per agent: the newest of the same fleet wins. */
export class AgentSessions {
  readonly #identity: SessionIdentity
  readonly #engine: Pick<SyncEngine, 'disown'>
  readonly #working = new Set<Promise<unknown>>()
  #current: AgentSession | undefined
  #turn: Promise<unknown> = Promise.resolve()
  /** A change of owner under way: the session of the old one takes nothing meanwhile, and goes on when it fails. */
  #handing: Promise<void> | undefined

  constructor(identity: SessionIdentity, engine: Pick<SyncEngine, 'disown'>) {
    this.#identity = identity
    this.#engine = engine
  }

  get current(): AgentSession | undefined {
    return this.#current
  }

  /** Decides one Attach after the other. A new session is current before this resolves, the one before it ended. */
  attach(attach: Attach): Promise<AgentSession | EndReason> {
    const result = this.#turn.then(() => this.#decide(attach))
    this.#turn = result.catch(() => {})
    return result
  }

  /**
   * Does what changes this agent's state in the name of a session; undefined, and nothing done, once it is not the
   * current one. A change of owner waits for it: what an old owner wanted never lands on what the new one begins with.
   */
  async whileCurrent<T>(session: AgentSession, work: () => Promise<T>): Promise<T | undefined> {
    while (this.#handing) await this.#handing
    if (this.#current !== session || session.signal.aborted) return undefined
    const working = work()
    this.#working.add(working)
    return await working.finally(() => this.#working.delete(working))
  }

  /** Forgets a session that is over, only when no newer one took its place. */
  release(session: AgentSession): void {
    session.end()
    if (this.#current === session) this.#current = undefined
  }

  /** The session a Console or PutImage belongs to. Raises agent/auth-rejected when it is not the attached one. */
  require(sessionId: string): AgentSession {
    const session = this.#current
    if (session && sessionId === session.id) return session
    const message = session ? 'another session is attached' : 'no session is attached; Sync comes first'
    throw new Fault('agent/auth-rejected', 'permanent', { message })
  }

  async #decide(attach: Attach): Promise<AgentSession | EndReason> {
    const identity = this.#identity
    const { fleetId, controllerName } = attach
    const verdict = judgeAttach(attach, identity)
    if ('end' in verdict) return verdict.end
    if (verdict.attach === 'same-fleet') {
      if (identity.controllerName !== controllerName) await identity.adopt(fleetId, controllerName)
      this.#current?.end({ code: 'superseded', detail: 'a newer session of the same fleet attached' })
      // Hello says what was told last: what the older one has on its way counts, unless it hangs.
      await within(SETTLE_MS, Promise.allSettled(this.#working)).catch(() => {})
      return this.#begin()
    }
    const handed = Promise.withResolvers<void>()
    this.#handing = handed.promise
    try {
      await within(TIMES.attachMs, Promise.allSettled(this.#working))
      await identity.adopt(fleetId, controllerName)
      if (verdict.attach === 'take-over') {
        const detail = 'another control plane took this host over'
        this.#current?.end({ code: 'foreign_controller', detail, controllerName })
        await this.#engine.disown()
      }
      return this.#begin()
    } finally {
      this.#handing = undefined
      handed.resolve()
    }
  }

  #begin(): AgentSession {
    this.#current = new AgentSession()
    return this.#current
  }
}

import { randomBytes } from 'node:crypto'
import { Fault } from '../../ipc/faults.ts'
import type { Attach } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import { type EndReason, judgeAttach } from './attach-judge.ts'
import type { SessionIdentity } from './sync-engine.ts'

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

/** At most one session per agent: the newest of the same fleet wins. */
export class AgentSessions {
  readonly #identity: SessionIdentity
  #current: AgentSession | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(identity: SessionIdentity) {
    this.#identity = identity
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
    const verdict = judgeAttach(attach, identity)
    if ('end' in verdict) return verdict.end
    if (verdict.attach !== 'same-fleet' || identity.controllerName !== attach.controllerName)
      await identity.adopt(attach.fleetId, attach.controllerName)
    this.#current?.end(
      verdict.attach === 'take-over'
        ? {
            code: 'foreign_controller',
            detail: 'another control plane took this host over',
            controllerName: attach.controllerName,
          }
        : { code: 'superseded', detail: 'a newer session of the same fleet attached' },
    )
    this.#current = new AgentSession()
    return this.#current
  }
}

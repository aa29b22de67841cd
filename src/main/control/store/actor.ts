import { AsyncLocalStorage } from 'node:async_hooks'
import type { ClientKind } from '../../../ipc/request-headers.ts'

/** Who the audit trail names for what happens now. */
export interface Actor {
  /** OS user; empty = nobody asked. */
  user: string
  client: ClientKind
  /** Empty = of no request. */
  requestId: string
  /** Absent = of no task. */
  taskId?: string
}

const ITSELF: Actor = { user: '', client: 'eitri', requestId: '' }

const acting = new AsyncLocalStorage<Actor>()

/** Everything `work` does and starts is done by this actor, tasks it starts included. */
export const actingAs = <T>(actor: Actor, work: () => T): T => acting.run(actor, work)

/** For loops that outlive the request which began them: what they do is the control plane's own. */
export const actingItself = <T>(work: () => T): T => acting.run(ITSELF, work)

/** The control plane itself where no request asks. */
export const currentActor = (): Actor => acting.getStore() ?? ITSELF

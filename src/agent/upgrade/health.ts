import type { GetStatusResponse } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import type { AgentStatus } from '../status/agent-status.ts'
import type { UpgradeProgram } from './upgrade-note.ts'

/** A new agent has this long until a control plane is attached to it. */
export const HEALTHY_WITHIN_MS = 60_000
/** And goes on being attached for so long: one that dies of what it is told is not well. */
const STEADY_MS = 3_000
/** Its process is gone and no other answers for so long: it will not come by itself. */
const GONE_MS = 3_000

export type Health = 'wait' | 'healthy' | { failed: string }

/** What is seen of the new agent at one moment. */
export interface Sight {
  /** Since it was started, ms. */
  atMs: number
  answer: AgentStatus
  /** Last words of a process that was started and is gone; undefined = it lives, or who started it also watches it. */
  died?: string | undefined
}

/** Judges a new agent by one look after the other. Pure but for what it remembers of the looks before. */
export class HealthJudge {
  readonly #wanted: UpgradeProgram
  #pid = 0
  #attachedAt: number | undefined
  #silentAt: number | undefined
  #answered = false

  constructor(wanted: UpgradeProgram) {
    this.#wanted = wanted
  }

  look({ atMs, answer, died }: Sight): Health {
    const status = answer.running && isIt(answer.status, this.#wanted) ? answer.status : undefined
    if (status?.pid !== this.#pid || !status.attached) this.#attachedAt = undefined
    if (status) {
      this.#pid = status.pid
      this.#answered = true
      this.#silentAt = undefined
      if (status.attached) this.#attachedAt ??= atMs
    } else this.#silentAt ??= atMs
    if (this.#attachedAt !== undefined && atMs - this.#attachedAt >= STEADY_MS) return 'healthy'
    if (died !== undefined && this.#silentAt !== undefined && atMs - this.#silentAt >= GONE_MS)
      return { failed: `it ended: ${died || 'without a word'}` }
    if (atMs < HEALTHY_WITHIN_MS) return 'wait'
    const seconds = HEALTHY_WITHIN_MS / 1000
    if (status) return { failed: `it answers, but no control plane could attach to it within ${seconds} s` }
    return {
      failed: `${this.#answered ? 'it answered once and then no longer' : 'it did not answer'} within ${seconds} s`,
    }
  }
}

const isIt = ({ agentVersion, agentDigest }: GetStatusResponse, { version, digest }: UpgradeProgram): boolean =>
  agentVersion === version && agentDigest === digest

import { randomBytes } from 'node:crypto'
import { Fault } from '../../ipc/faults.ts'

/** How long a person may think about a preview, ms. */
export const TOKEN_MS = 5 * 60_000
/** Previews kept at once; the oldest goes first. */
const MAX_PENDING = 100

export interface PendingChange {
  tool: string
  /** What the change was judged by; another state at apply time means: preview again. */
  seen: string
  look(): Promise<string>
  apply(): Promise<unknown>
}

/** Changes that were shown and not yet made. A token works once, for five minutes, in this process. */
export class PendingChanges {
  readonly #now: () => number
  readonly #pending = new Map<string, PendingChange & { until: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  add(change: PendingChange): { token: string; expiresAt: Date } {
    const token = randomBytes(16).toString('hex')
    const until = this.#now() + TOKEN_MS
    this.#pending.set(token, { ...change, until })
    for (const oldest of this.#pending.keys()) {
      if (this.#pending.size <= MAX_PENDING) break
      this.#pending.delete(oldest)
    }
    return { token, expiresAt: new Date(until) }
  }

  /** Makes the change once. Raises input/invalid for a token that is unknown, used, too old, or overtaken. */
  async apply(token: string): Promise<{ tool: string; result: unknown }> {
    const change = this.#pending.get(token)
    this.#pending.delete(token)
    if (!change || this.#now() >= change.until) throw refused('it is unknown, was used, or is older than five minutes')
    if ((await change.look()) !== change.seen) throw refused('what it is about has changed since the preview')
    return { tool: change.tool, result: await change.apply() }
  }
}

const refused = (why: string) =>
  new Fault('input/invalid', 'permanent', { field: 'token', value: '', problem: `${why}; ask for the preview again` })

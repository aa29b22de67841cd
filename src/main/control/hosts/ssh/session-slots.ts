import { Fault } from '../../../../ipc/faults.ts'

/** What tells that a channel is over. */
interface Closing {
  once(event: 'close', listener: () => void): unknown
}

/** How long a session waits for another one of ours to end where a server refuses more at once. */
const WAIT_MS = 15_000
/** The server frees a session when its process is gone, a moment after the channel. */
const LINGER_MS = 2_000
const LOOK_AGAIN_MS = 50

/** Opens the sessions of one connection; where the server allows few (MaxSessions), one after the other. */
export class SessionSlots {
  readonly #host: string
  #open = 0
  #lasting = 0
  #endedAt = Number.NEGATIVE_INFINITY
  #wake = Promise.withResolvers<void>()

  constructor(host: string) {
    this.#host = host
  }

  /**
   * `lasting`: it stays for the life of the connection, so others do not wait for its end. Raises ssh/sessions-refused
   * and what `start` raises.
   */
  async open<T extends Closing>(start: () => Promise<T>, lasting = false): Promise<T> {
    const until = performance.now() + WAIT_MS
    for (;;) {
      try {
        const channel = await start()
        this.#count(channel, lasting)
        return channel
      } catch (error) {
        if (!isOpenRefusal(error)) throw error
        if (!(await this.#another(until))) throw this.#refused(error)
      }
    }
  }

  #count(channel: Closing, lasting: boolean): void {
    this.#open++
    if (lasting) this.#lasting++
    channel.once('close', () => {
      this.#open--
      if (lasting) this.#lasting--
      this.#endedAt = performance.now()
      this.#wake.resolve()
      this.#wake = Promise.withResolvers()
    })
  }

  /** Waits for a session to end; false = none will. */
  async #another(until: number): Promise<boolean> {
    const now = performance.now()
    const lingers = now - this.#endedAt < LINGER_MS
    if (now >= until || (this.#open === this.#lasting && !lingers)) return false
    const ms = lingers ? LOOK_AGAIN_MS : until - now
    let timer: NodeJS.Timeout | undefined
    await Promise.race([this.#wake.promise, new Promise((resolve) => (timer = setTimeout(resolve, ms)))])
    clearTimeout(timer)
    return true
  }

  #refused(cause: unknown): Fault {
    const params = { host: this.#host, ...(this.#lasting > 0 ? THE_ONLY_ONE : {}) }
    return new Fault('ssh/sessions-refused', 'permanent', params, { cause })
  }
}

const THE_ONLY_ONE = {
  detail: 'the link to the agent has the only one',
  next: 'Allow two sessions, or forwarding of sockets (AllowStreamLocalForwarding), in its sshd_config.',
}

/** ssh2 gives the server's reason code with a refused channel. */
const isOpenRefusal = (error: unknown): boolean =>
  error instanceof Error && typeof (error as Error & { reason?: unknown }).reason === 'number'

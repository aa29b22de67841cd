import { fullJitterMs } from '../../../ipc/base/backoff.ts'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { actingItself } from '../store/actor.ts'
import type { LinkStatus } from '../sync/registry.ts'
import type { AgentConnection } from './agent-connection.ts'
import type { AgentLink, LinkConnector } from './agent-link.ts'
import { ConnectSlots } from './connect-slots.ts'
import { judgeLink, wakeMayHelp } from './link-judge.ts'
import type { HostSecrets } from './secrets.ts'

export interface HostLinksDeps {
  /** Undefined when the host is not in the fleet any more. */
  connectorOf(hostId: string): LinkConnector | undefined
  /** Runs one session to its end; never rejects. Sets the link to `connected` when it is attached. */
  runSession(input: {
    hostId: string
    connection: AgentConnection
    signal: AbortSignal
    takeOver: boolean
  }): Promise<Fault>
  setLink(hostId: string, link: LinkStatus): void
  secrets: HostSecrets
  clock: Clock
  log: Log
  random?: () => number
}

/** A link that lived this long resets the back-off. */
export const LIVED_MS = 30_000
export const RETRY_FLOOR_MS = 500
export const RETRY_CAP_MS = 30_000
/** Two control planes of one fleet must not throw each other out twice a second. */
export const SUPERSEDED_FLOOR_MS = 5_000
/** One try to connect ends after this: a slow sign-in and the start of an agent have room. */
const CONNECT_TIMEOUT_MS = 120_000

/** Keeps a session to every host: connects, runs it, waits, goes again. */
export class HostLinks {
  readonly #deps: HostLinksDeps
  readonly #loops = new Map<string, HostLoop>()
  readonly #slots = new ConnectSlots()

  constructor(deps: HostLinksDeps) {
    this.#deps = deps
  }

  /** Starts a host's loop; with a connection that is open already, its first session runs on that. Idempotent. */
  add(hostId: string, connection?: AgentLink): void {
    if (this.#loops.has(hostId)) {
      connection?.close(new Fault('app/cancelled', 'cancelled'))
      return
    }
    const loop = new HostLoop(this.#deps, this.#slots, hostId, connection)
    this.#loops.set(hostId, loop)
    actingItself(() => void loop.run())
  }

  /** Ends the host's link until it is added again; resolves when its session is over. Idempotent. */
  async pause(hostId: string): Promise<void> {
    const loop = this.#loops.get(hostId)
    this.#loops.delete(hostId)
    await loop?.stop()
  }

  /** Ends the host's link and forgets its secrets. Idempotent. */
  async remove(hostId: string): Promise<void> {
    await this.pause(hostId)
    await this.#deps.secrets.forget(hostId).catch((error: unknown) => {
      const { code, message } = asFault(error)
      this.#deps.log.warn('secrets.not-forgotten', { host: hostId, code, message })
    })
  }

  /** Dials now instead of at the next back-off. Idempotent. */
  tryNow(hostId: string): void {
    this.#loops.get(hostId)?.tryNow()
  }

  /** Dials now, and takes the agent from another control plane at that one try. */
  takeOver(hostId: string): void {
    this.#loops.get(hostId)?.takeOver()
  }

  /** Goes on with a connection a person signed in to; closes it where the host has one, or is not in the fleet. */
  hand(hostId: string, link: AgentLink): void {
    const loop = this.#loops.get(hostId)
    if (loop) loop.take(link)
    else link.close(new Fault('app/cancelled', 'cancelled'))
  }

  /** The computer woke: live links are probed, waiting ones dial now, a few at a time. */
  wake(): void {
    for (const loop of this.#loops.values()) loop.wake()
  }

  async stop(): Promise<void> {
    const loops = [...this.#loops.values()]
    this.#loops.clear()
    await Promise.all(loops.map((loop) => loop.stop()))
  }
}

class HostLoop {
  readonly #deps: HostLinksDeps
  readonly #slots: ConnectSlots
  readonly #hostId: string
  readonly #stop = new AbortController()
  #handed: AgentLink | undefined
  #link: AgentLink | undefined
  /** Why the last try or session ended; undefined while there is a link, and before the first end. */
  #fault: Fault | undefined
  #attempt = 0
  /** Asked to dial while a try was under way that may end by what was true before. */
  #again = false
  /** A person decided to take the agent from its owner, at the next try and no later one. */
  #takeOver = false
  #waiting: { poke: AbortController; asks: Fault | undefined } | undefined
  #done: Promise<void> | undefined

  constructor(deps: HostLinksDeps, slots: ConnectSlots, hostId: string, handed: AgentLink | undefined) {
    this.#deps = deps
    this.#slots = slots
    this.#hostId = hostId
    this.#handed = handed
  }

  run(): Promise<void> {
    this.#done = this.#loop().catch((error) => {
      const { code, message } = asFault(error)
      this.#deps.log.error('link.broke', { host: this.#hostId, code, message })
    })
    return this.#done
  }

  tryNow(): void {
    this.#attempt = 0
    this.#again = this.#waiting === undefined && this.#link === undefined
    this.#waiting?.poke.abort()
  }

  takeOver(): void {
    this.#takeOver = true
    this.tryNow()
  }

  take(link: AgentLink): void {
    const taken = this.#link || this.#handed || this.#stop.signal.aborted
    if (taken) link.close(new Fault('app/cancelled', 'cancelled'))
    else {
      this.#handed = link
      this.tryNow()
    }
  }

  wake(): void {
    this.#link?.liveness.check()
    if (this.#waiting && wakeMayHelp(this.#waiting.asks)) this.tryNow()
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Fault('app/cancelled', 'cancelled'))
    this.#dropHanded()
    await this.#done
  }

  #dropHanded(): void {
    this.#handed?.close(new Fault('app/cancelled', 'cancelled'))
    this.#handed = undefined
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      const { fault, livedMs } = await this.#session()
      if (signal.aborted) return
      if (livedMs >= LIVED_MS && fault.code !== 'agent/superseded') this.#attempt = 0
      this.#fault = fault
      const { state, stops } = judgeLink(fault)
      this.#deps.log.info('link.ended', { host: this.#hostId, code: fault.code, state, livedMs: Math.round(livedMs) })
      const delayMs = stops ? undefined : this.#delayMs(fault)
      const nextTryAt = delayMs === undefined ? undefined : new Date(this.#deps.clock.now() + delayMs)
      this.#deps.setLink(this.#hostId, { state, fault, ...(nextTryAt ? { nextTryAt } : {}) })
      if (!this.#again) await this.#wait(delayMs, stops ? fault : undefined)
    }
  }

  /** One try, and its session when it got one; how long that lived is 0 without. */
  async #session(): Promise<{ fault: Fault; livedMs: number }> {
    const { clock, runSession } = this.#deps
    const { signal } = this.#stop
    let upAt: number | undefined
    this.#again = false
    try {
      this.#link = await this.#connect(signal)
      this.#fault = undefined
      this.#dropHanded()
      this.#again = false
      upAt = clock.monotonic()
      const takeOver = this.#takeOver
      this.#takeOver = false
      const fault = await runSession({ hostId: this.#hostId, connection: this.#link, signal, takeOver })
      // A session ends with its stream; the connection may know better why.
      this.#link.close(fault)
      return { fault: await this.#link.closed, livedMs: clock.monotonic() - upAt }
    } catch (error) {
      return { fault: asFault(error), livedMs: 0 }
    } finally {
      if (!this.#again) this.#takeOver = false
      this.#link?.close(new Fault('app/cancelled', 'cancelled'))
      this.#link = undefined
    }
  }

  async #connect(signal: AbortSignal): Promise<AgentLink> {
    const handed = this.#handed
    this.#handed = undefined
    if (handed) return handed
    const { connectorOf, setLink } = this.#deps
    setLink(this.#hostId, { state: 'connecting', ...(this.#fault ? { fault: this.#fault } : {}) })
    const connector = connectorOf(this.#hostId)
    if (!connector) throw new Fault('host/not-found', 'permanent', { host: this.#hostId })
    return this.#slots.run(signal, async () => {
      const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
      try {
        return await connector.connect(AbortSignal.any([signal, timeout]))
      } catch (error) {
        if (!timeout.aborted || signal.aborted) throw error
        throw new Fault('host/unreachable', 'transient', { detail: 'it took too long' }, { cause: error })
      }
    })
  }

  #delayMs(fault: Fault): number {
    const floorMs = fault.code === 'agent/superseded' ? SUPERSEDED_FLOOR_MS : RETRY_FLOOR_MS
    const random = this.#deps.random ?? Math.random
    const jitter = fullJitterMs(this.#attempt++, { floorMs, capMs: RETRY_CAP_MS, random })
    return Math.max(jitter, fault.retryAfterMs ?? 0)
  }

  /** Until the time is over or somebody pokes; `undefined` = only a poke ends it. */
  async #wait(delayMs: number | undefined, asks: Fault | undefined): Promise<void> {
    const poke = new AbortController()
    this.#waiting = { poke, asks }
    const signal = AbortSignal.any([poke.signal, this.#stop.signal])
    try {
      await this.#deps.clock.sleep(delayMs ?? FOREVER_MS, signal)
    } catch {
      // Poked or stopped: the loop looks which.
    } finally {
      this.#waiting = undefined
    }
  }
}

/** The longest timer Node takes; a loop that asks a person looks again that seldom. */
const FOREVER_MS = 2 ** 31 - 1

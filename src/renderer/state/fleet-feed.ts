import { Code, ConnectError } from '@connectrpc/connect'
import { fullJitterMs } from '../../ipc/base/backoff.ts'
import type { Clock } from '../../ipc/base/clock.ts'
import { fromConnectError } from '../../ipc/fault-wire.ts'
import { Fault } from '../../ipc/faults.ts'
import type { WatchFleetResponse } from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { FleetBatch, type FleetStore } from './fleet-store.ts'

export interface FleetFeedDeps {
  store: FleetStore
  watch: (signal: AbortSignal) => AsyncIterable<WatchFleetResponse>
  clock: Clock
  random?: () => number
  /** Runs what it is given soon, once for many askings. Absent = at once. */
  pace?: (run: () => void) => void
}

const RETRY_CAP_MS = 5000
/** Messages told together at most; the next one waits for no frame. */
const TOGETHER = 500

/** Keeps the store told until the signal aborts: opens the stream, opens it again at a gap, backs off when it is lost. */
export async function runFleetFeed(deps: FleetFeedDeps, signal: AbortSignal): Promise<void> {
  let failures = 0
  let lostAt: number | undefined
  while (!signal.aborted) {
    try {
      await readUntilGap(deps, signal, () => {
        failures = 0
        lostAt = undefined
      })
    } catch (error) {
      if (signal.aborted) return
      if (ConnectError.from(error).code === Code.Unauthenticated) {
        deps.store.setState({ feed: { state: 'signed-out' } })
        return
      }
      lostAt ??= deps.clock.now()
      const waitMs = fullJitterMs(failures++, { capMs: RETRY_CAP_MS, ...(deps.random ? { random: deps.random } : {}) })
      const fault = fromConnectError(error).toData()
      deps.store.setState({ feed: { state: 'lost', since: lostAt, nextTryAt: deps.clock.now() + waitMs, fault } })
      await deps.clock.sleep(waitMs, signal).catch(() => undefined)
    }
  }
}

async function readUntilGap(deps: FleetFeedDeps, signal: AbortSignal, onTold: () => void): Promise<void> {
  const stream = new AbortController()
  const stop = () => stream.abort()
  signal.addEventListener('abort', stop, { once: true })
  const told = new ToldTogether(deps.store)
  const tell = () => told.tell()
  const pace = deps.pace ?? ((run: () => void) => run())
  try {
    for await (const response of deps.watch(stream.signal)) {
      if (!told.add(response)) return
      onTold()
      if (told.isFull || response.message.case === 'state') tell()
      else pace(tell)
    }
    throw new Fault('app/not-running', 'transient')
  } finally {
    signal.removeEventListener('abort', stop)
    stream.abort()
    tell()
  }
}

/** Messages kept until the next frame, then put into the store as one change. */
class ToldTogether {
  #waiting: WatchFleetResponse[] = []
  #revision: bigint | undefined
  readonly #store: FleetStore

  constructor(store: FleetStore) {
    this.#store = store
    this.#revision = store.getState().revision
  }

  get isFull(): boolean {
    return this.#waiting.length >= TOGETHER
  }

  /** False = a delta was missed. */
  add(response: WatchFleetResponse): boolean {
    const { revision, message } = response
    if (message.case === 'delta' && (this.#revision === undefined || revision !== this.#revision + 1n)) return false
    if (message.case !== undefined) this.#revision = revision
    this.#waiting.push(response)
    return true
  }

  tell(): void {
    if (this.#waiting.length === 0) return
    const known = this.#store.getState()
    const batch = new FleetBatch(known)
    for (const response of this.#waiting) batch.take(response)
    this.#waiting = []
    this.#store.setState(known.feed.state === 'live' ? batch.next : { ...batch.next, feed: { state: 'live' } }, true)
  }
}

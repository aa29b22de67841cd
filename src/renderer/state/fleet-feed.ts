import { Code, ConnectError } from '@connectrpc/connect'
import { fullJitterMs } from '../../ipc/base/backoff.ts'
import type { Clock } from '../../ipc/base/clock.ts'
import { fromConnectError } from '../../ipc/fault-wire.ts'
import { Fault } from '../../ipc/faults.ts'
import type { WatchFleetResponse } from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { applyFleetMessage, type FleetStore } from './fleet-store.ts'

export interface FleetFeedDeps {
  store: FleetStore
  watch: (signal: AbortSignal) => AsyncIterable<WatchFleetResponse>
  clock: Clock
  random?: () => number
}

const RETRY_CAP_MS = 5000

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

async function readUntilGap({ store, watch }: FleetFeedDeps, signal: AbortSignal, onTold: () => void): Promise<void> {
  const stream = new AbortController()
  const stop = () => stream.abort()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const response of watch(stream.signal)) {
      const applied = applyFleetMessage(store.getState(), response)
      if (applied.kind === 'gap') return
      onTold()
      store.setState(
        store.getState().feed.state === 'live' ? applied.next : { ...applied.next, feed: { state: 'live' } },
      )
    }
    throw new Fault('app/not-running', 'transient')
  } finally {
    signal.removeEventListener('abort', stop)
    stream.abort()
  }
}

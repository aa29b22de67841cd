import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../../../src/ipc/base/clock.ts'
import {
  FleetDeltaSchema,
  FleetStateSchema,
  type WatchFleetResponse,
  WatchFleetResponseSchema,
} from '../../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { runFleetFeed } from '../../../../src/renderer/state/fleet-feed.ts'
import { createFleetStore, type FleetStore } from '../../../../src/renderer/state/fleet-store.ts'

const whole = (revision: bigint): WatchFleetResponse =>
  create(WatchFleetResponseSchema, { revision, message: { case: 'state', value: create(FleetStateSchema, {}) } })
const delta = (revision: bigint): WatchFleetResponse =>
  create(WatchFleetResponseSchema, { revision, message: { case: 'delta', value: create(FleetDeltaSchema, {}) } })

/** Each opening of the stream plays the next script; when all are played the feed is stopped. */
async function play(
  scripts: (WatchFleetResponse | Error)[][],
  onSleep: (store: FleetStore) => void = () => undefined,
  more: { pace?: (run: () => void) => void; onChange?: () => void } = {},
) {
  const store = createFleetStore()
  if (more.onChange) store.subscribe(more.onChange)
  const stop = new AbortController()
  const sleeps: number[] = []
  let opened = 0
  const clock: Clock = {
    now: () => 1000,
    monotonic: () => 0,
    sleep: async (ms) => {
      sleeps.push(ms)
      onSleep(store)
    },
  }
  async function* watch() {
    const script = scripts[opened++]
    if (!script) {
      stop.abort()
      return
    }
    for (const message of script) {
      if (message instanceof Error) throw message
      yield message
    }
  }
  await runFleetFeed({ store, watch, clock, random: () => 1, ...(more.pace ? { pace: more.pace } : {}) }, stop.signal)
  return { store, opened: opened - 1, sleeps }
}

const gone = () => new ConnectError('connection refused', Code.Unavailable)

describe('the fleet feed', () => {
  it('holds what it was told last', async () => {
    const { store } = await play([[whole(1n), delta(2n)]])
    expect(store.getState().revision).toBe(2n)
  })

  it('opens the stream again at a gap, at once', async () => {
    const { opened, sleeps, store } = await play([
      [whole(1n), delta(5n)],
      [whole(5n), delta(6n), gone()],
    ])
    expect(opened).toBe(2)
    expect(sleeps).toHaveLength(1)
    expect(store.getState().revision).toBe(6n)
  })

  it('says since when it is lost and keeps what it knew', async () => {
    const seen: unknown[] = []
    await play([[whole(3n), gone()], [gone()]], (store) => seen.push(store.getState()))
    expect(seen[0]).toMatchObject({
      revision: 3n,
      feed: { state: 'lost', since: 1000, fault: { code: 'app/not-running' } },
    })
  })

  it('backs off further with each failure, up to five seconds, and starts over once it was told', async () => {
    const { sleeps } = await play([[gone()], [gone()], [gone()], [gone()], [gone()], [whole(1n), gone()]])
    expect(sleeps).toEqual([1000, 2000, 4000, 5000, 5000, 1000])
  })

  it('takes a stream that ends without an error as lost', async () => {
    const { sleeps } = await play([[whole(1n)]])
    expect(sleeps).toHaveLength(1)
  })

  it('puts what comes within one frame into the store as one change', async () => {
    let changes = 0
    const { store } = await play([[whole(1n), delta(2n), delta(3n), delta(4n)]], () => undefined, {
      pace: () => undefined,
      onChange: () => changes++,
    })
    expect(store.getState().revision).toBe(4n)
    expect(changes).toBe(3)
  })

  it('stops asking when this window has no session', async () => {
    const { store, sleeps, opened } = await play([[new ConnectError('no session', Code.Unauthenticated)]])
    expect(store.getState().feed).toEqual({ state: 'signed-out' })
    expect({ sleeps, opened }).toEqual({ sleeps: [], opened: 0 })
  })
})

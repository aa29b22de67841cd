import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { WatchFleetResponse } from '../../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Change } from '../store/database.ts'
import { type FeedView, FleetFeed } from './fleet-feed.ts'
import type { FleetView } from './fleet-view.ts'

const MAX_WATCHERS = 64

/** A feed for each tenant that is watched: what one shows is read of that tenant alone. */
export class FleetFeeds {
  readonly #view: FleetView
  readonly #clock: Clock
  readonly #feeds = new Map<string, FleetFeed>()
  #watchers = 0

  constructor(view: FleetView, clock: Clock) {
    this.#view = view
    this.#clock = clock
  }

  rowsChanged(changes: readonly Change[]): void {
    for (const feed of this.#feeds.values()) feed.rowsChanged(changes)
  }

  hostChanged(hostId: string): void {
    for (const feed of this.#feeds.values()) feed.hostChanged(hostId)
  }

  pushChanged(hostId: string): void {
    for (const feed of this.#feeds.values()) feed.pushChanged(hostId)
  }

  taskShown(taskId: string): void {
    for (const feed of this.#feeds.values()) feed.taskShown(taskId)
  }

  /** Every row may be another: who watches opens again and gets the whole state. */
  restart(): void {
    for (const feed of this.#feeds.values()) feed.restart()
  }

  /** As `FleetFeed.watch`; 64 watchers of all tenants together. */
  async *watch(tenant: string, signal: AbortSignal): AsyncGenerator<WatchFleetResponse> {
    if (this.#watchers >= MAX_WATCHERS) {
      throw new Fault('input/too-large', 'transient', { detail: `${MAX_WATCHERS} windows watch already` })
    }
    this.#watchers++
    try {
      yield* this.#of(tenant).watch(signal)
    } finally {
      this.#watchers--
    }
  }

  #of(tenant: string): FleetFeed {
    const feed = this.#feeds.get(tenant) ?? new FleetFeed(feedView(this.#view, tenant), this.#clock)
    this.#feeds.set(tenant, feed)
    return feed
  }
}

/** The fleet as one tenant sees it. */
export const feedView = (view: FleetView, tenant: string): FeedView => ({
  state: () => view.state(tenant),
  hosts: () => view.hosts(tenant),
  images: () => view.images(tenant),
  findHost: (id) => view.findHost(tenant, id),
  vmsOf: (hostId) => view.vmsOf(tenant, hostId),
  findVm: (id) => view.findVm(tenant, id),
  findTask: (id) => view.findTask(tenant, id),
  portsOf: (hostId) => view.portsOf(tenant, hostId),
})

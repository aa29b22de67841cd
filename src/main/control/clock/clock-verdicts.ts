import type { Clock } from '../../../ipc/base/clock.ts'
import { isAnswering } from '../sync/answering.ts'
import type { HostLive } from '../sync/registry.ts'
import { comparisonOf } from './app-offset.ts'
import { type ClockReading, judgeClocks, type Wrong } from './clock-judge.ts'

export interface ClockedHosts {
  ids(): string[]
  live(hostId: string): HostLive
  onChange(listener: (hostId: string) => void): () => void
}

/** Whose clock is wrong, for every host that answers; judged anew when something was heard of any. */
export class ClockVerdicts {
  readonly #hosts: ClockedHosts
  readonly #clock: Pick<Clock, 'monotonic'>
  #verdicts: Map<string, Wrong> | undefined

  /** Listens to the hosts for as long as they live. */
  constructor(hosts: ClockedHosts, clock: Pick<Clock, 'monotonic'>) {
    this.#hosts = hosts
    this.#clock = clock
    hosts.onChange(() => {
      this.#verdicts = undefined
    })
  }

  /** Empty = they agree, or cannot be compared now. */
  of(hostId: string): Wrong {
    this.#verdicts ??= judgeClocks(this.#readings())
    return this.#verdicts.get(hostId) ?? ''
  }

  #readings(): ClockReading[] {
    const now = this.#clock.monotonic()
    return this.#hosts.ids().flatMap((hostId) => {
      const live = this.#hosts.live(hostId)
      const comparison = isAnswering(live, now) ? comparisonOf(live.clockSamples ?? []) : undefined
      return comparison ? [{ hostId, state: live.report?.clock?.state ?? '', ...comparison }] : []
    })
  }
}

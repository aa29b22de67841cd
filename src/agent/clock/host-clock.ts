import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Clock } from '../../ipc/base/clock.ts'
import { type HostClock, HostClockSchema } from '../../ipc/gen/eitri/agent/v1/clock_pb.js'
import type { Run } from '../os/exec.ts'
import { type Sync, trackingOf } from './chrony-text.ts'
import { peersOf, systemdTimeOf } from './time-service-text.ts'

const PERIOD_MS = 30_000
const ASK_MS = 5_000

interface Found extends Omit<Sync, 'state'> {
  state: Sync['state'] | ''
  daemon: string
  detail: string
}

const NOTHING: Found = {
  state: '',
  offsetUs: undefined,
  stratum: undefined,
  source: '',
  daemon: '',
  detail: 'No time service of this host says how its clock is kept: chrony, ntpd or systemd-timesyncd.',
}
const UNKEPT = 'No time service keeps the clock of this host.'
const KERNEL_ONLY = 'The kernel says so; no time service was found that says whom it follows.'

/** Looks up on a tick of its own how the host's own clock is kept, so that a report never waits for it. */
export class HostClockLook {
  readonly #run: Run
  readonly #clock: Clock
  readonly #onChange: () => void
  readonly #stopping = new AbortController()
  #latest: HostClock | undefined
  #since = 0

  /** `onChange` is called when its state is another than before. */
  constructor({ run, clock, onChange = () => {} }: { run: Run; clock: Clock; onChange?: () => void }) {
    this.#run = run
    this.#clock = clock
    this.#onChange = onChange
  }

  start(): void {
    void this.#keepLooking()
  }

  /** Does not wait for a look under way. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Absent = not looked up yet. */
  latest(): HostClock | undefined {
    return this.#latest
  }

  /** One look. Never raises. */
  async look(): Promise<void> {
    const { state, offsetUs, stratum, ...words } =
      (await this.#chrony()) ?? (await this.#ntpd()) ?? (await this.#systemd())
    const now = this.#clock.now()
    const isNew = state !== this.#latest?.state
    if (isNew) this.#since = now
    this.#latest = create(HostClockSchema, {
      state,
      ...words,
      measuredAt: timestampFromMs(now),
      ...(state === '' ? {} : { since: timestampFromMs(this.#since) }),
      ...(offsetUs === undefined ? {} : { offsetUs: BigInt(offsetUs) }),
      ...(stratum === undefined ? {} : { stratum }),
    })
    if (isNew) this.#onChange()
  }

  async #chrony(): Promise<Found | undefined> {
    const sync = trackingOf(await this.#ask('chronyc', '-c', 'tracking'))
    return sync && { ...sync, daemon: 'chrony', detail: followsNobody(sync) }
  }

  async #ntpd(): Promise<Found | undefined> {
    const sync = peersOf(await this.#ask('ntpq', '-pn'))
    return sync && { ...sync, daemon: 'ntpd', detail: followsNobody(sync) }
  }

  async #systemd(): Promise<Found> {
    const show = await this.#ask('timedatectl', 'show')
    const { kernel, server, stratum } = systemdTimeOf(show, await this.#ask('timedatectl', 'show-timesync'))
    if (kernel === undefined) return NOTHING
    const state = kernel ? 'synchronised' : 'not_synchronised'
    if (server === '') return { ...NOTHING, state, detail: kernel ? KERNEL_ONLY : UNKEPT }
    return {
      state,
      offsetUs: undefined,
      stratum,
      source: server,
      daemon: 'timesyncd',
      detail: kernel ? '' : `systemd-timesyncd has no answer of ${server} yet.`,
    }
  }

  /** '' = it is not there, does not answer, or refuses. */
  async #ask(command: string, ...args: string[]): Promise<string> {
    try {
      const options = { timeoutMs: ASK_MS, signal: this.#stopping.signal }
      const { code, stdout } = await this.#run('host-clock.ask', command, args, options)
      return code === 0 ? stdout : ''
    } catch {
      return ''
    }
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.look()
      await this.#clock.sleep(PERIOD_MS, signal).catch(() => {})
    }
  }
}

const followsNobody = ({ state }: Sync): string =>
  state === 'synchronised' ? '' : 'Its time service runs and follows no source.'

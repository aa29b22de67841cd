import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import type { StateFiles } from '../records/disk-reserve.ts'
import { KEY_AGE_MS, removeKey, writeKey } from './authorized-key.ts'
import { forgetJoined, type Joined, readJoined, writeJoined } from './joined-record.ts'

/** Renewed when so much of its age is gone. */
const RENEW_AFTER_MS = 24 * 3600_000
/** And tried again no sooner than this after a failure. */
const RETRY_MS = 60_000

export interface JoinStandingOptions {
  /** Of the note. */
  path: string
  files: Pick<StateFiles, 'writeDurable'>
  clock: Clock
  log: Log
}

/** The way in of the control plane that this host joined; nothing where it did not. */
export class JoinStanding {
  readonly #options: JoinStandingOptions
  #endsAt: Date | undefined
  #triedAt = Number.NEGATIVE_INFINITY
  #working: Promise<unknown> = Promise.resolve()

  constructor(options: JoinStandingOptions) {
    this.#options = options
  }

  /** For Hello to this fleet; '' = there is none, or it was taken. A join may come at any time: it is read anew. */
  async token(fleetId: string): Promise<string> {
    const joined = await readJoined(this.#options.path)
    this.#endsAt = joined && joined.public_key !== '' ? new Date(joined.expires_at) : undefined
    return joined?.fleet_id === fleetId ? joined.token : ''
  }

  /** When the key ends, as it was last written; undefined = it does not, or nobody joined. */
  endsAt(): ReturnType<typeof timestampFromDate> | undefined {
    const date = this.#endsAt
    return date && !Number.isNaN(date.getTime()) ? timestampFromDate(date) : undefined
  }

  /** A control plane of this fleet is attached and in good standing: its token is over, its key goes on. Never rejects. */
  standing(fleetId: string): void {
    const { clock, log } = this.#options
    const ends = this.#endsAt?.getTime()
    if (ends === undefined || ends - clock.now() > KEY_AGE_MS - RENEW_AFTER_MS) return
    if (clock.monotonic() - this.#triedAt < RETRY_MS) return
    this.#triedAt = clock.monotonic()
    this.#working = this.#working
      .then(() => this.#renew(fleetId))
      .catch((error: unknown) => log.warn('join.not-renewed', { error: asFault(error).message }))
  }

  /** The key and what is known of the join are gone when it resolves; false = there was none. */
  drop(): Promise<boolean> {
    // In line with renewals: one that read the key before would put it back.
    const dropped = this.#working.then(() => this.#drop())
    this.#working = dropped.catch(() => {})
    return dropped
  }

  async #drop(): Promise<boolean> {
    const joined = await readJoined(this.#options.path)
    if (!joined) return false
    await removeKey(joined.home)
    // Who made the user is still to be known by an uninstall.
    if (joined.user_made) await this.#save({ ...joined, token: '', public_key: '' })
    else await forgetJoined(this.#options.path)
    this.#endsAt = undefined
    return true
  }

  async #renew(fleetId: string): Promise<void> {
    const joined = await readJoined(this.#options.path)
    if (!joined || joined.fleet_id !== fleetId || joined.public_key === '') return
    const expiresAt = new Date(this.#options.clock.now() + KEY_AGE_MS)
    await this.#save({ ...joined, token: '', expires_at: expiresAt.toISOString() })
    const { home, public_key: publicKey, executable, socket, gid } = joined
    await writeKey({ home, publicKey, fleetId, executable, socket, expiresAt }, gid)
    this.#endsAt = expiresAt
    this.#triedAt = Number.NEGATIVE_INFINITY
  }

  async #save(joined: Joined): Promise<void> {
    await writeJoined(this.#options.path, joined, this.#options.files.writeDurable)
  }
}

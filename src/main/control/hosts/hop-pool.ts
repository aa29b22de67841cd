import type { Duplex } from 'node:stream'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { FiledKey } from './accept-host-key.ts'
import { LINK_IDLE_MS, watchLiveness } from './liveness.ts'
import type { SshTarget } from './ssh/config.ts'
import type { SshConnection } from './ssh/connection.ts'
import { dial } from './ssh/dial.ts'
import { addressOf } from './ssh/sign-in-faults.ts'

/** Keeps a hop's own connection speaking, so that its silence means that it is gone. */
export const HOP_KEEPALIVE_MS = LINK_IDLE_MS

export interface OpenedHop {
  connection: SshConnection
  key: FiledKey
}

/** Signs in to a host on the way; each call of `socketTo` is another stream to it. */
export type OpenHop = (hop: SshTarget, socketTo: () => Promise<Duplex>) => Promise<OpenedHop>

/** A way to targets. Whoever has it releases it. */
export interface HopLease {
  /** Raises host/unreachable, naming who cannot reach it. */
  socketTo(target: SshTarget): Promise<Duplex>
  /** Of the hosts on the way. */
  readonly keys: readonly FiledKey[]
  /** Idempotent. */
  release(): void
}

interface Entry {
  opened: Promise<OpenedHop & { outer: HopLease }>
  users: number
  /** Nobody is given it any more. */
  forget(): void
}

/** Connections to hosts on the way: one each, however many hosts are behind it; closed with the last user. */
export class HopPool {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** `owner`: whose sign-ins may be shared. Raises the faults of `open` and of the dial. */
  async lease(owner: string, hops: readonly SshTarget[], open: OpenHop, signal: AbortSignal): Promise<HopLease> {
    const hop = hops.at(-1)
    if (!hop) return straight(signal)
    const key = JSON.stringify([owner, ...hops.map((h) => [addressOf(h), h.identityFiles])])
    for (;;) {
      const known = this.#entries.get(key)
      const entry = known ?? this.#open(key, owner, hops.slice(0, -1), hop, open, signal)
      entry.users++
      try {
        const { connection, key: filed, outer } = await unlessAborted(entry.opened, signal)
        return this.#through(entry, connection, hop, [...outer.keys, filed])
      } catch (error) {
        entry.users--
        // Another one's try may have failed for reasons of its own: nobody to ask, or called off.
        if (!known || signal.aborted) throw error
      }
    }
  }

  #open(
    key: string,
    owner: string,
    before: readonly SshTarget[],
    hop: SshTarget,
    open: OpenHop,
    signal: AbortSignal,
  ): Entry {
    const opened = this.lease(owner, before, open, signal).then(async (outer) => {
      try {
        const done = await open(hop, () => outer.socketTo(hop).catch(named(hop)))
        return { ...done, outer }
      } catch (error) {
        outer.release()
        throw error
      }
    })
    const forget = () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    }
    const entry = { opened, users: 0, forget }
    this.#entries.set(key, entry)
    opened.then(({ connection, outer }) => {
      const { stop } = watchLiveness({
        rxBytes: connection.rxBytes,
        clock: this.#clock,
        // ssh2 asks by itself.
        probe: () => {},
        onDead: () => connection.close(),
      })
      // Everybody who waited has gone.
      if (entry.users === 0) connection.close()
      void connection.closed.then(() => {
        stop()
        forget()
        outer.release()
      })
    }, forget)
    return entry
  }

  #through(entry: Entry, connection: SshConnection, hop: SshTarget, keys: readonly FiledKey[]): HopLease {
    let released = false
    return {
      keys,
      async socketTo(target) {
        return connection.openTcp(target.address, target.port).catch((error: unknown) => {
          if (!(error instanceof Fault) || error.code !== 'ssh/protocol') throw error
          const detail = `${hop.address} on the way ${refusal(error)}`
          const params = { host: target.host, address: `${target.address}:${target.port}`, detail }
          throw new Fault('host/unreachable', 'transient', params, { cause: error })
        })
      },
      release() {
        if (released) return
        released = true
        if (--entry.users > 0) return
        entry.forget()
        connection.close()
      },
    }
  }
}

/** Another one's sign-in may wait for a person: nobody else has to. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** An address alone does not say which host of several it is. */
const named =
  ({ host }: SshTarget) =>
  (error: unknown): never => {
    if (!(error instanceof Fault) || error.code !== 'host/unreachable') throw error
    const { code, disposition, params } = error
    throw new Fault(code, disposition, { ...params, address: `${host}, ${params['address'] ?? ''}` }, { cause: error })
  }

/** SSH's own reason code for what a server does not allow. */
const PROHIBITED = 1

function refusal({ params, cause }: Fault): string {
  const reason = (cause as { reason?: unknown } | undefined)?.reason
  return reason === PROHIBITED ? 'forbids forwarding (AllowTcpForwarding)' : `says: ${params['detail'] ?? 'no'}`
}

const straight = (signal: AbortSignal): HopLease => ({
  keys: [],
  socketTo: (target) => dial(target, signal),
  release: () => {},
})

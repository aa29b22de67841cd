import { Fault } from '../../../ipc/faults.ts'
import type { HostKeyRow } from '../store/host-keys-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { HostKey } from './ssh/host-keys.ts'

/** A key a host answered with and was refused for, and what it would be filed under. */
export type OfferedKey = HostKey & {
  host: string
  port: number
  /** The key is of this host on the way. Absent = of the host itself. */
  hop?: string
}

/** What each host offered at its last try, for as long as nobody trusts it; in memory only. */
export class OfferedKeys {
  readonly #keys = new Map<string, OfferedKey>()

  /** Undefined = the last try offered nothing a person may accept. */
  note(hostId: string, key: OfferedKey | undefined): void {
    if (key) this.#keys.set(hostId, key)
    else this.#keys.delete(hostId)
  }

  of(hostId: string): OfferedKey | undefined {
    return this.#keys.get(hostId)
  }
}

export interface AcceptOfferedDeps {
  hosts: { get(id: string): HostRow; setHostKey(id: string, fingerprint: string): void }
  hostKeys: { replace(row: HostKeyRow): void }
  links: { tryNow(hostId: string): void }
  offered: OfferedKeys
  transaction<T>(work: () => T): T
  clock: { now(): number }
}

/**
 * Trusts the offered key in place of all that were known, and dials. Idempotent. Raises host/not-found, and input/invalid
 * for any other key than the one the host offered at its last try.
 */
export function acceptOffered(deps: AcceptOfferedDeps, hostId: string, fingerprint: string): void {
  const { hosts, hostKeys, links, offered, transaction, clock } = deps
  const row = hosts.get(hostId)
  const key = offered.of(hostId)
  if (key?.fingerprint !== fingerprint && (key || row.hostKeyFingerprint !== fingerprint)) {
    const problem = key ? `the host offered ${key.fingerprint}` : 'the host offered no other key at the last try'
    throw new Fault('input/invalid', 'permanent', { field: 'fingerprint', problem, value: fingerprint })
  }
  if (key) {
    transaction(() => {
      const { hop, ...row } = key
      hostKeys.replace({ ...row, firstSeen: new Date(clock.now()), how: 'accepted' })
      if (hop === undefined) hosts.setHostKey(hostId, fingerprint)
    })
    offered.note(hostId, undefined)
  }
  links.tryNow(hostId)
}

import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import type { CaKeys, OpenedKey } from '../../../../../src/main/control/trust/ca-keys.ts'
import { blobOf, canonicalLine } from '../../../../../src/main/control/trust/openssh/public-key.ts'
import { createTrust } from '../../../../../src/main/control/trust/trust.ts'
import { ManualClock } from '../a-clock.ts'
import { aHost, aStore } from '../a-store.ts'

/** Keys in memory; `broken` ones do not open. */
export class MemoryKeys implements CaKeys {
  readonly kept = new Map<string, KeyObject>()
  broken = ''
  keep = async (id: string, key: KeyObject) => {
    if (this.broken !== '') throw new Error(this.broken)
    this.kept.set(id, key)
    return 'file' as const
  }
  open = async (id: string): Promise<OpenedKey> => {
    const key = this.kept.get(id)
    if (this.broken !== '' || !key) return { kind: 'unusable', detail: this.broken || 'its file is not here', next: '' }
    return { kind: 'key', key }
  }
  remove = async (id: string) => {
    this.kept.delete(id)
  }
  list = async () => [...this.kept.keys()].map((id) => ({ id, held: 'file' as const }))
}

/** Real stores with the trust of a fleet, one host, and a clock the test moves. */
export function aTrust(stores = aStore(), keys = new MemoryKeys()) {
  const clock = new ManualClock()
  stores.time.now = clock.now()
  const registry = new Registry()
  const make = () => createTrust({ stores, registry, keys, clock, log: silentLog })
  const host = stores.hosts.create(aHost())
  return { ...stores, clock, registry, keys, host, trust: make(), again: make }
}

export const aKeyLine = (): string => canonicalLine(blobOf(generateKeyPairSync('ed25519').publicKey))

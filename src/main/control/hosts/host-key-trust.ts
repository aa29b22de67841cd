import { Fault } from '../../../ipc/faults.ts'
import type { HostKeyRow } from '../store/host-keys-store.ts'
import { knownAs, type SshTarget } from './ssh/config.ts'
import {
  fingerprintOf,
  type HostKey,
  type HostKeyAlgorithm,
  type HostKeyVerdict,
  hostKeyOrder,
  judgeHostKey,
  type KnownKey,
  knownName,
} from './ssh/host-keys.ts'
import { readKnownHosts } from './ssh/known-hosts.ts'

export interface HostKeys {
  list(host: string, port: number): HostKeyRow[]
  accept(row: HostKeyRow): void
}

/** What is trusted for one host, read before its handshake so that the key is judged at once. */
export interface Trust {
  order: HostKeyAlgorithm[]
  /** Of a key as it was presented, alone or in a certificate. */
  judge(presented: Pick<HostKey, 'blob'>): HostKeyVerdict
  /** What a person accepted here before. */
  own: readonly KnownKey[]
}

/** What a host's key is filed under, and where else to look. */
export type KeyPlace = Pick<SshTarget, 'host' | 'address' | 'port' | 'hostKeyName' | 'knownHostsFiles'>

/**
 * Our own store first, then the person's known_hosts; a revocation there wins over both, and an authority there vouches
 * for keys that change. Raises ssh/config-invalid.
 */
export async function readTrust(target: KeyPlace, keys: Pick<HostKeys, 'list'>): Promise<Trust> {
  const { host, port } = knownAs(target)
  const own = keys.list(host, port).map(
    (row): KnownKey => ({
      marker: undefined,
      hosts: knownName(row.host, row.port),
      type: row.type,
      blob: row.blob,
      since: row.firstSeen,
    }),
  )
  const files = await readKnownHosts(target.knownHostsFiles, target.host)
  return {
    own,
    order: hostKeyOrder([...own, ...files], host, port),
    judge({ blob }) {
      const byFiles = judgeHostKey(files, host, port, blob)
      if (byFiles.kind === 'revoked' || own.length === 0) return byFiles
      if (byFiles.kind === 'ok' && byFiles.authority) return byFiles
      const byOwn = judgeHostKey(own, host, port, blob)
      return byOwn.kind === 'other-type-known' && byFiles.kind === 'ok' ? byFiles : byOwn
    },
  }
}

/** Undefined when the key is trusted; else the fault that says why not. */
export function faultOfVerdict(host: string, key: HostKey, verdict: HostKeyVerdict): Fault | undefined {
  const params = { host, fingerprint: key.fingerprint, key_type: key.type }
  switch (verdict.kind) {
    case 'ok':
      return undefined
    case 'unknown':
    case 'other-type-known':
      return new Fault('ssh/host-key-unknown', 'permanent', params)
    case 'changed':
      return new Fault('ssh/host-key-changed', 'permanent', { ...params, known: fingerprintOf(verdict.known.blob) })
    case 'revoked':
      return new Fault('ssh/host-key-revoked', 'permanent', params)
    case 'invalid':
      return new Fault('ssh/protocol', 'transient', { host, detail: verdict.detail })
  }
}

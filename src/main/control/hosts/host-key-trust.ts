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
  judge(key: HostKey): HostKeyVerdict
}

/** Our own store first, then the person's known_hosts; a revocation there wins over both. Raises ssh/config-invalid. */
export async function readTrust(target: SshTarget, keys: HostKeys): Promise<Trust> {
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
    order: hostKeyOrder([...own, ...files], host, port),
    judge(key) {
      const byFiles = judgeHostKey(files, host, port, key.blob)
      if (byFiles.kind === 'revoked' || own.length === 0) return byFiles
      const byOwn = judgeHostKey(own, host, port, key.blob)
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

import { describe, expect, it } from 'vitest'
import { acceptOffered, OfferedKeys } from '../../../../../src/main/control/hosts/offered-keys.ts'
import type { HostKey } from '../../../../../src/main/control/hosts/ssh/host-keys.ts'
import { ManualClock } from '../a-clock.ts'
import { aHost, aStore, faultOf } from '../a-store.ts'

const KNOWN = `SHA256:${'k'.repeat(43)}`
const NEW = `SHA256:${'n'.repeat(43)}`
const aKey = (fingerprint: string, type = 'ssh-ed25519'): HostKey => ({
  type,
  fingerprint,
  blob: Buffer.from(fingerprint),
})
const at = { host: '192.0.2.7', port: 22 }

function rig() {
  const stores = aStore()
  const offered = new OfferedKeys()
  const tried: string[] = []
  const host = stores.hosts.create(aHost({ hostKeyFingerprint: KNOWN }))
  for (const type of ['ssh-ed25519', 'ssh-rsa'])
    stores.hostKeys.accept({ ...at, ...aKey(KNOWN, type), firstSeen: new Date(0), how: 'accepted' })
  const transaction = <T>(work: () => T): T => stores.db.transaction(work)
  const deps = {
    ...stores,
    offered,
    transaction,
    clock: new ManualClock(),
    links: { tryNow: (id: string) => void tried.push(id) },
  }
  return { ...stores, offered, tried, host, accept: (fingerprint: string) => acceptOffered(deps, host.id, fingerprint) }
}

describe('a changed host key that a person accepts', () => {
  it('takes the place of every key that was known, is pinned and audited, and the host is dialled', () => {
    const { offered, accept, hosts, hostKeys, host, tried, audit } = rig()
    offered.note(host.id, { ...aKey(NEW), ...at })
    accept(NEW)
    expect(hostKeys.list(at.host, at.port)).toMatchObject([{ fingerprint: NEW, how: 'accepted' }])
    expect(hosts.get(host.id).hostKeyFingerprint).toBe(NEW)
    expect(audit.list({ limit: 1 })).toMatchObject([
      { action: 'host.accept-key', hostId: host.id, detail: { fingerprint: NEW, known: KNOWN } },
    ])
    accept(NEW)
    expect(audit.list({ limit: 9 }).filter((row) => row.action === 'host.accept-key')).toHaveLength(1)
    expect(tried).toEqual([host.id, host.id])
  })

  it('is only the one the host offered at its last try', () => {
    const { offered, accept, hosts, host, tried } = rig()
    expect(faultOf(() => accept(NEW))).toMatchObject({ code: 'input/invalid', params: { field: 'fingerprint' } })
    offered.note(host.id, { ...aKey(NEW), ...at })
    expect(faultOf(() => accept(KNOWN))).toMatchObject({ params: { problem: `the host offered ${NEW}` } })
    offered.note(host.id, undefined)
    expect(faultOf(() => accept(NEW)).code).toBe('input/invalid')
    expect(hosts.get(host.id).hostKeyFingerprint).toBe(KNOWN)
    expect(tried).toEqual([])
  })
})

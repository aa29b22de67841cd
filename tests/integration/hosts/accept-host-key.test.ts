import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Fault } from '../../../src/ipc/faults.ts'
import { connectorOf } from '../../../src/main/control/hosts/connectors.ts'
import { HopPool } from '../../../src/main/control/hosts/hop-pool.ts'
import { HostLinks } from '../../../src/main/control/hosts/host-links.ts'
import { acceptOffered, OfferedKeys } from '../../../src/main/control/hosts/offered-keys.ts'
import { HostSecrets } from '../../../src/main/control/hosts/secrets.ts'
import type { LinkStatus } from '../../../src/main/control/sync/registry.ts'
import { startFakeAgent } from '../../support/fake-agent.ts'
import { type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'
import { silentLog, systemClock } from '../../support/ssh-login.ts'
import { aHost, aStore } from '../../unit/main/control/a-store.ts'

const impossible = privateSshdImpossible()

describe('a host of the fleet whose sshd shows another key', () => {
  const cleanup: (() => unknown)[] = []
  beforeEach((test) => test.skip(impossible !== undefined, impossible))
  afterEach(async () => {
    for (const step of cleanup.splice(0).reverse()) await step()
  })

  /** The links of a fleet with this one host, over the real connector and store. */
  function fleetOf(sshd: PrivateSshd, socketPath: string) {
    const stores = aStore()
    const { hosts, hostKeys, db } = stores
    const offered = new OfferedKeys()
    const { port, user, hostKey, keyFile: identityFile } = sshd
    const host = hosts.create(
      aHost({
        kind: 'ssh',
        ssh: { host: '127.0.0.1', hostname: 'lab', port, user, identityFile, identitiesOnly: true, useSudo: false },
        agent: { ...aHost().agent, socketPath, executable: '/nowhere/eitri-agent' },
        hostKeyFingerprint: hostKey.fingerprint,
      }),
    )
    hostKeys.accept({ host: '127.0.0.1', ...hostKey, port, firstSeen: new Date(0), how: 'accepted' })
    const secrets = new HostSecrets()
    const ssh = {
      ...{ hostKeys, secrets, offered, hops: new HopPool(systemClock), clock: systemClock, env: {} },
      ...{ sshDir: path.join(sshd.dir, 'no-ssh'), runDir: sshd.dir, setSsh: () => {} },
    }
    const local = { clock: systemClock, program: () => Promise.reject(new Fault('app/bug', 'bug')) }
    const seen: (LinkStatus | { state: 'session'; fingerprint: string })[] = []
    const links = new HostLinks({
      connectorOf: (hostId) => connectorOf({ hosts, ssh, local }, hostId),
      runSession: ({ connection, signal }) => {
        seen.push({ state: 'session', fingerprint: connection.hostKeyFingerprint })
        signal.addEventListener('abort', () => connection.close(new Fault('app/cancelled', 'cancelled')))
        return connection.closed
      },
      setLink: (_, status) => seen.push(status),
      ...{ secrets, clock: systemClock, log: silentLog },
    })
    cleanup.push(() => links.stop())
    const transaction = <T>(work: () => T): T => db.transaction(work)
    const accept = (fingerprint: string) =>
      acceptOffered({ hosts, hostKeys, links, offered, transaction, clock: systemClock }, host.id, fingerprint)
    links.add(host.id)
    return { ...stores, host, seen, accept, last: () => seen.at(-1), until: { timeout: 15_000 } }
  }

  it('is signed in to again once a person accepted exactly that key', async () => {
    const sshd = await startPrivateSshd()
    cleanup.push(() => sshd.close())
    const agent = await startFakeAgent(path.join(sshd.dir, 'agent.sock'))
    cleanup.push(() => agent.close())
    const fleet = fleetOf(sshd, agent.socketPath)
    const known = sshd.hostKey.fingerprint
    await expect.poll(fleet.last, fleet.until).toMatchObject({ fingerprint: known })

    await sshd.replaceHostKey()
    const { fingerprint } = sshd.hostKey
    const params = { fingerprint, known }
    await expect.poll(fleet.last, fleet.until).toMatchObject({ state: 'key_changed', fault: { params } })
    expect(() => fleet.accept(known)).toThrow(fingerprint)

    fleet.accept(fingerprint)
    await expect.poll(fleet.last, fleet.until).toMatchObject({ state: 'session', fingerprint })
    expect(fleet.hosts.get(fleet.host.id).hostKeyFingerprint).toBe(fingerprint)
  }, 60_000)
})

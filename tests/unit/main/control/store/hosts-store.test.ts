import { describe, expect, it } from 'vitest'
import { aHost, aStore, aVm, faultOf } from '../a-store.ts'

const FACTS = {
  hostname: 'rack2-07',
  os: 'Debian GNU/Linux 12 (bookworm)',
  platform: 'linux',
  arch: 'x86_64',
  kernel: '6.1',
  init: 'systemd',
  cpuModel: 'x',
  cpus: 8,
  memBytes: 2 ** 34,
  diskBytes: 2 ** 40,
  diskFreeBytes: 2 ** 39,
  acceleration: 'kvm',
  accelerationDetail: '',
  vmmVersion: 'QEMU 7.2',
  missing: [],
  runsAs: 'root',
  startedBy: 'systemd',
}

describe('hosts store', () => {
  it('gives back a host as it was put in, by id, name and identity', () => {
    const { hosts } = aStore()
    const ssh = { host: '10.0.0.7', port: 2222, user: 'ops', identityFile: '', hostname: 'rack', useSudo: true }
    const host = aHost({ name: 'rack', kind: 'ssh', ssh, facts: FACTS, hostKeyFingerprint: 'SHA256:abc' })
    hosts.create(host)
    expect(hosts.find(host.id)).toMatchObject({ ...host, status: 'enrolled', capacity: null, lastSeenAt: null })
    expect(hosts.resolve('default', 'rack').id).toBe(host.id)
    expect(hosts.resolve('default', host.id).id).toBe(host.id)
    expect(hosts.findByIdentity(host.agent.identityPublicKey)?.id).toBe(host.id)
    expect(faultOf(() => hosts.resolve('default', 'none')).code).toBe('host/not-found')
  })

  it('refuses a taken name, and a machine that is already here under another name', () => {
    const { hosts, audit } = aStore()
    const first = hosts.create(aHost({ name: 'rack' }))
    expect(faultOf(() => hosts.create(aHost({ name: 'rack' })))).toMatchObject({ code: 'host/name-taken' })
    expect(faultOf(() => hosts.create(aHost({ name: 'again', agent: first.agent })))).toMatchObject({
      code: 'host/already-added',
      params: { host: 'rack' },
    })
    expect(hosts.listAll()).toHaveLength(1)
    expect(audit.list({ limit: 10 })).toHaveLength(1)
  })

  it('what the agent does not say leaves what is known', () => {
    const { hosts } = aStore()
    const host = hosts.create(aHost({ facts: FACTS }))
    hosts.setTold(host.id, { agentVersion: '1.0', backend: 'qemu', guestCidr: '10.77.0.0/24' })
    hosts.setTold(host.id, { agentVersion: '', guestCidr: '' })
    expect(hosts.get(host.id)).toMatchObject({ facts: FACTS, agentVersion: '1.0', guestCidr: '10.77.0.0/24' })
  })

  it('equal facts change nothing', () => {
    const { db, hosts } = aStore()
    const host = hosts.create(aHost({ facts: FACTS }))
    const told = { facts: FACTS, capacity: { vcpus: 8, memMb: 1, diskGb: 1 }, agentVersion: '1' }
    hosts.setTold(host.id, told)
    let commits = 0
    db.onCommit(() => commits++)
    hosts.setTold(host.id, told)
    expect(commits).toBe(0)
  })

  it('one epoch never carries two contents', () => {
    const { hosts, vms } = aStore()
    const host = hosts.create(aHost())
    const first = hosts.stampSnapshot(host.id, 'aa')
    expect(hosts.stampSnapshot(host.id, 'aa')).toBe(first)
    expect(hosts.stampSnapshot(host.id, 'bb')).toBe(first + 1n)
    vms.create(aVm(host.id))
    expect(hosts.stampSnapshot(host.id, 'cc')).toBe(first + 2n)
  })

  it('forgets a host with its VM rows, and says so once', () => {
    const { hosts, vms, audit } = aStore()
    const host = hosts.create(aHost({ name: 'rack' }))
    vms.create(aVm(host.id))
    hosts.remove(host.id)
    hosts.remove(host.id)
    expect([hosts.listAll(), vms.listAll()]).toEqual([[], []])
    expect(audit.list({ hostId: host.id, limit: 10 }).filter((row) => row.action === 'host.remove')).toHaveLength(1)
  })
})

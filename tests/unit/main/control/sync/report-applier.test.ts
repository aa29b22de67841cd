import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import type { LogFields } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { HelloSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { ReportApplier } from '../../../../../src/main/control/sync/report-applier.ts'
import { ManualClock } from '../a-clock.ts'
import { aHost, anId, anImage, aStore, aVm, faultOf } from '../a-store.ts'

type Report = MessageInitShape<typeof ReportSchema>

function anApplier() {
  const stores = aStore()
  const registry = new Registry()
  const host = stores.hosts.create(aHost())
  const writes: string[] = []
  const certified: string[][] = []
  const forgotten: string[] = []
  const logged: { event: string; fields: LogFields | undefined }[] = []
  let failing: Fault | undefined
  let failingCommit: Fault | undefined
  const counted = {
    find: (id: string) => stores.vms.find(id),
    setStatus: (...args: Parameters<typeof stores.vms.setStatus>) => {
      writes.push('status')
      if (failing) throw failing
      return stores.vms.setStatus(...args)
    },
    setNetworkIp: (...args: Parameters<typeof stores.vms.setNetworkIp>) => {
      writes.push('network-ip')
      stores.vms.setNetworkIp(...args)
    },
    setHostPublicKey: (...args: Parameters<typeof stores.vms.setHostPublicKey>) => {
      writes.push('host-key')
      stores.vms.setHostPublicKey(...args)
    },
    reap: (...args: Parameters<typeof stores.vms.reap>) => stores.vms.reap(...args),
  }
  const log = (event: string, fields?: LogFields) => logged.push({ event, fields })
  const make = () =>
    new ReportApplier({
      registry,
      hosts: {
        find: (id) => stores.hosts.find(id),
        setTold: (id, told) => {
          writes.push('told')
          stores.hosts.setTold(id, told)
        },
      },
      vms: counted,
      images: stores.images,
      audit: stores.audit,
      push: { want() {} },
      certifier: {
        reported: (hostId, vmId, key) => {
          certified.push([hostId, vmId, key])
          if (key.includes('BAD')) throw new Error('parse reported host key: it is no key')
        },
        forget: (vmId) => forgotten.push(vmId),
      },
      transaction: (work) => {
        const result = stores.db.transaction(work)
        if (failingCommit) throw failingCommit
        return result
      },
      clock: new ManualClock(),
      log: { info: log, warn: log, error: log },
    })
  const session = { hostId: host.id, sessionId: 's', hello: create(HelloSchema) } as ActiveSession
  registry.sessionStarted(session)
  let applier = make()
  return {
    ...stores,
    registry,
    host,
    session,
    writes,
    certified,
    forgotten,
    logged,
    apply: (report: Report, as = session) => applier.apply(as, create(ReportSchema, report)),
    restart: () => {
      applier = make()
    },
    failCommits: (fault: Fault | undefined) => {
      failingCommit = fault
    },
    failWrites: (fault: Fault | undefined) => {
      failing = fault
    },
  }
}

const ready = (vmId: string, more: object = {}) => ({ vmId, phase: 'ready', power: 'running', ...more })

describe('report applier', () => {
  it('facts told late are kept; a probe that still runs overwrites no known acceleration', () => {
    const { hosts, host, apply } = anApplier()
    const facts = () => hosts.get(host.id).facts
    apply({ facts: { arch: 'x86_64', acceleration: 'tcg', accelerationDetail: 'KVM is broken.' } })
    expect(facts()).toMatchObject({ acceleration: 'tcg', accelerationDetail: 'KVM is broken.' })
    apply({ facts: { arch: 'x86_64', os: 'Debian', accelerationPending: true } })
    expect(facts()).toMatchObject({ os: 'Debian', acceleration: 'tcg', accelerationDetail: 'KVM is broken.' })
    apply({ facts: { arch: 'x86_64', acceleration: '', accelerationDetail: 'qemu is not installed.' } })
    expect(facts()).toMatchObject({ acceleration: '', accelerationDetail: 'qemu is not installed.' })
  })

  it('T27: repeated identical reports write nothing durable, not even after a restart', () => {
    const { vms, host, writes, apply, restart, db } = anApplier()
    const vm = vms.create(aVm(host.id))
    const report: Report = {
      vms: [ready(vm.id, { ip: '10.0.0.9', networkIp: '192.0.2.7', hostPublicKey: 'ssh-ed25519 AAAA' })],
      guestCidr: '10.77.0.0/24',
      hostUplinkAddr: '192.0.2.1',
      capacity: { vcpus: 8, memMb: 1n, diskGb: 1n },
    }
    apply(report)
    expect(writes.splice(0).sort()).toEqual(['host-key', 'network-ip', 'status', 'told'])
    apply(report)
    expect(writes).toEqual([])
    restart()
    const commits: unknown[] = []
    db.onCommit((changes) => commits.push(changes))
    apply(report)
    expect(writes).not.toContain('status')
    expect(commits).toEqual([])
  })

  it('what a host and its VMs take changes with every report and writes nothing durable', () => {
    const { vms, host, registry, writes, apply, db } = anApplier()
    const vm = vms.create(aVm(host.id))
    const report = (n: number): Report => ({
      vms: [ready(vm.id, { metrics: { cpuTimeMs: BigInt(n), rssBytes: BigInt(n), diskUsedBytes: BigInt(n) } })],
      metrics: { load1: n, memAvailableBytes: BigInt(n), diskFreeBytes: BigInt(n), uptimeS: BigInt(n) },
    })
    apply(report(1))
    writes.length = 0
    const commits: unknown[] = []
    db.onCommit((changes) => commits.push(changes))
    apply(report(2))
    expect([writes, commits]).toEqual([[], []])
    expect(registry.live(host.id).report?.metrics).toMatchObject({ load1: 2, uptimeS: 2n })
    expect(registry.live(host.id).vms?.get(vm.id)?.metrics).toMatchObject({ cpuTimeMs: 2n })
  })

  it('tells in the trail, once each, that a VM ended by itself, that it needs a person, and that it is back', () => {
    const { vms, host, audit, apply, restart } = anApplier()
    const vm = vms.create(aVm(host.id, { name: 'web' }))
    const report = (reason: string, detail: string, power = 'stopped', phase = 'failed') =>
      apply({ vms: [{ vmId: vm.id, phase, power, reason, detail }] })
    report('', '', 'running', 'ready')
    report('vm/exited', 'web ended by itself.')
    report('vm/exited', 'web ended by itself; next try in 4 s.')
    restart()
    report('vm/exited', 'web ended by itself; next try in 4 s.')
    report('vm/crash-loop', 'web ended 3 times.')
    report('', '', 'running', 'ready')
    report('vm/hung', 'web hangs.', 'running', 'ready')
    restart()
    report('vm/hung', 'web hangs.', 'running', 'ready')
    report('', '', 'stopped', 'ready')
    const told = audit.list({ vmId: vm.id, limit: 20 }).filter(({ action }) => action !== 'vm.create')
    expect(told.map(({ action, detail: d }) => [action, d['reason'], d['said']].join(' ').trim()).reverse()).toEqual([
      'vm.trouble vm/exited web ended by itself.',
      'vm.trouble vm/crash-loop web ended 3 times.',
      'vm.recovered vm/crash-loop',
      'vm.trouble vm/hung web hangs.',
    ])
  })

  it('keys of guests are certified before anything else of a report, and one that fails harms no other', () => {
    const { vms, host, apply, certified, logged, session } = anApplier()
    const [bad, good] = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    const row = (vmId: string, key: string) => ready(vmId, { hostPublicKey: key, ip: '10.0.0.9' })
    apply({ vms: [row(bad.id, 'ssh-ed25519 BAD1'), row(good.id, 'ssh-ed25519 GOOD')] })
    expect(certified).toEqual([
      [session.hostId, bad.id, 'ssh-ed25519 BAD1'],
      [session.hostId, good.id, 'ssh-ed25519 GOOD'],
    ])
    expect([vms.find(bad.id)?.status, vms.find(good.id)?.status]).toEqual(['ready', 'ready'])
    expect(logged).toMatchObject([
      { event: 'report.host-key', fields: { vm: bad.id, message: expect.stringContaining('parse reported host key') } },
    ])
  })

  it('what was certified is looked at afresh when the commit that held it fails', () => {
    const { vms, host, apply, forgotten, failCommits } = anApplier()
    const vm = vms.create(aVm(host.id))
    failCommits(new Fault('store/unavailable', 'transient'))
    apply({ vms: [ready(vm.id, { hostPublicKey: 'ssh-ed25519 AAAA' })] })
    expect(forgotten).toContain(vm.id)
  })

  it('a key reported while nobody owned the VM is stored once it is adopted', () => {
    const { vms, host, apply } = anApplier()
    const row = aVm(host.id)
    const report = (unowned: boolean) => apply({ vms: [ready(row.id, { unowned, hostPublicKey: 'ssh-ed25519 AAAA' })] })
    report(true)
    vms.create(row)
    report(false)
    expect(vms.find(row.id)?.hostPublicKey).toBe('ssh-ed25519 AAAA')
  })

  it('lets no host fill the trail', () => {
    const { vms, host, audit, apply } = anApplier()
    const vm = vms.create(aVm(host.id))
    for (let n = 0; n < 200; n++)
      apply({ vms: [ready(vm.id, { reason: n % 2 === 0 ? 'vm/hung' : 'vm/panicked', detail: 'x' })] })
    expect(audit.list({ vmId: vm.id, limit: 500 }).length).toBeLessThan(50)
  })

  it('only ready and failed are durable, other phases live in the registry', () => {
    const { vms, host, registry, writes, apply } = anApplier()
    const vm = vms.create(aVm(host.id))
    apply({ vms: [{ vmId: vm.id, phase: 'creating', detail: 'downloading image' }] })
    apply({ vms: [{ vmId: vm.id }] })
    expect(writes).not.toContain('status')
    apply({ vms: [{ vmId: vm.id, phase: 'creating', detail: 'booting' }] })
    expect(registry.live(host.id).vms?.get(vm.id)?.detail).toBe('booting')
  })

  it('a refused write is tried again by the next report', () => {
    const { vms, host, logged, apply, failWrites } = anApplier()
    const vm = vms.create(aVm(host.id))
    failWrites(new Fault('store/unavailable', 'transient', { detail: 'disk full' }))
    apply({ vms: [ready(vm.id)] })
    expect(vms.find(vm.id)?.status).toBe('')
    expect(logged.find((l) => l.event === 'report.vm')?.fields).toMatchObject({ vm: vm.id, code: 'store/unavailable' })
    failWrites(undefined)
    apply({ vms: [ready(vm.id)] })
    expect(vms.find(vm.id)?.status).toBe('ready')
  })

  it('what a failed commit lost is written again by the next report', () => {
    const { vms, host, writes, logged, apply, failCommits } = anApplier()
    const vm = vms.create(aVm(host.id))
    const report: Report = {
      vms: [ready(vm.id, { networkIp: '192.0.2.7', hostPublicKey: 'ssh-ed25519 AAAA' })],
      guestCidr: '10.77.0.0/24',
    }
    failCommits(new Fault('store/unavailable', 'transient', { detail: 'disk full' }))
    apply(report)
    expect(logged.map((l) => l.event)).toContain('report.not-stored')
    failCommits(undefined)
    writes.length = 0
    apply(report)
    expect(writes).toEqual(expect.arrayContaining(['network-ip', 'host-key', 'told']))
  })

  it.each([
    ['two lines', 'ssh-ed25519 AAAA web\nssh-ed25519 BBBB'],
    ['an escape', 'ssh-ed25519 AAAA \x1b[2J'],
    ['no key', 'ssh-ed25519'],
    ['a book', `ssh-ed25519 ${'A'.repeat(2_000)}`],
  ])('a host key that is %s is not stored', (_, hostPublicKey) => {
    const { vms, host, writes, apply } = anApplier()
    const vm = vms.create(aVm(host.id))
    apply({ vms: [ready(vm.id, { hostPublicKey })] })
    expect(writes).not.toContain('host-key')
  })

  it('one report is one commit', () => {
    const { vms, host, db, apply } = anApplier()
    const rows = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    let commits = 0
    db.onCommit(() => commits++)
    apply({ vms: rows.map((vm) => ready(vm.id)), guestCidr: '10.77.0.0/24' })
    expect(commits).toBe(1)
  })

  it('T28: an unusable address does not stand in the way of a later good one', () => {
    const { vms, host, apply } = anApplier()
    const vm = vms.create(aVm(host.id))
    apply({ vms: [ready(vm.id, { ip: 'not-an-address' })] })
    expect(vms.find(vm.id)?.assignedIp).toBe('')
    apply({ vms: [ready(vm.id, { ip: '10.0.0.9' })] })
    apply({ vms: [ready(vm.id, { ip: '' })] })
    expect(vms.find(vm.id)?.assignedIp).toBe('10.0.0.9')
  })

  it('the operator network address is kept in every phase', () => {
    const { vms, host, apply } = anApplier()
    const vm = vms.create(aVm(host.id))
    apply({ vms: [{ vmId: vm.id, phase: 'creating', networkIp: '192.0.2.7' }] })
    apply({ vms: [{ vmId: vm.id, phase: 'creating', networkIp: '' }] })
    expect(vms.find(vm.id)?.networkIp).toBe('192.0.2.7')
  })

  it('an address nobody told clears nothing on the host row', () => {
    const { hosts, host, apply } = anApplier()
    apply({ guestCidr: '10.77.0.0/24', hostUplinkAddr: '192.0.2.1', capacity: { vcpus: 8, memMb: 9n, diskGb: 10n } })
    apply({})
    expect(hosts.get(host.id)).toMatchObject({
      guestCidr: '10.77.0.0/24',
      uplinkAddress: '192.0.2.1',
      capacity: { vcpus: 8, memMb: 9, diskGb: 10 },
    })
  })

  it('a failing VM leaves the others of the report alone', () => {
    const { vms, host, apply, logged } = anApplier()
    const vm = vms.create(aVm(host.id))
    apply({ vms: [ready(anId()), ready(vm.id)] })
    expect(vms.find(vm.id)?.status).toBe('ready')
    expect(logged.map((l) => l.event)).toContain('report.vm')
  })

  it('T04: destroyed VMs are forgotten, audited and poked for once, and acks of live ones do nothing', () => {
    const { vms, host, audit, apply, db } = anApplier()
    const [dead, live] = [vms.create(aVm(host.id)), vms.create(aVm(host.id))]
    vms.edit(dead.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    let pokes = 0
    db.onCommit((changes) => {
      if (changes.some((c) => c.noun === 'desired')) pokes++
    })
    apply({ destroyed: [dead.id, live.id] })
    apply({ destroyed: [dead.id, live.id] })
    expect([vms.find(dead.id), vms.find(live.id)?.id, pokes]).toEqual([undefined, live.id, 1])
    expect(audit.list({ vmId: dead.id, limit: 1 })[0]?.action).toBe('vm.reap')
  })

  it("a host cannot touch another host's VM by naming it", () => {
    const { hosts, vms, apply } = anApplier()
    const other = hosts.create(aHost())
    const vm = vms.create(aVm(other.id))
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    const before = vms.find(vm.id)
    apply({
      vms: [ready(vm.id, { ip: '10.0.0.9', networkIp: '10.0.0.8', hostPublicKey: 'ssh-ed25519 AAAA' })],
      destroyed: [vm.id],
    })
    expect(vms.find(vm.id)).toEqual(before)
  })

  it('T22: a late report of a superseded session is dropped', () => {
    const { vms, host, registry, session, apply } = anApplier()
    const vm = vms.create(aVm(host.id))
    registry.sessionStarted({ ...session, sessionId: 'newer' })
    apply({ vms: [ready(vm.id)] }, session)
    expect(vms.find(vm.id)?.status).toBe('')
    expect(registry.live(host.id).report).toBeUndefined()
  })

  it('an agent ahead of this store is logged with both epochs', () => {
    const { apply, logged, host } = anApplier()
    apply({ lastSeenEpoch: 99n })
    expect(logged.find((l) => l.event === 'report.epoch')?.fields).toMatchObject({
      epoch: host.epoch,
      agentEpoch: 99n,
    })
  })

  it('learns the size of an image from a host that has it whole', () => {
    const { images, apply } = anApplier()
    const image = images.create(anImage())
    apply({ images: [{ sha256: image.sha256, sizeBytes: 1234n }] })
    expect(images.resolve(image.id).sizeBytes).toBe(1234)
  })

  it('T24: a report of a host that left the fleet ends its session', () => {
    const { hosts, host, apply } = anApplier()
    hosts.remove(host.id)
    expect(faultOf(() => apply({})).code).toBe('host/not-found')
  })
})

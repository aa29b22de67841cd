import { describe, expect, it } from 'vitest'
import { WAITING_FOR_CERTIFICATE } from '../../../../src/agent/reconcile/create-vm.ts'
import { WAITING_FOR_IMAGE } from '../../../../src/agent/reconcile/vm-image.ts'
import { faultLine } from '../../../../src/ipc/fault-text.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import { GiB } from '../../../../src/ipc/units.ts'
import { aVm, ID, OTHER, Rig, SHA } from './rig.ts'

const permanent = () => new Fault('vmm/missing', 'permanent', { detail: 'no QEMU' })

/** What the record of a create lacks that died before its proof. */
const UNPROVEN = { bootId: '', machine: '', startedUptimeMs: 0 }

describe('creating a VM', () => {
  it('tells its steps in order and ends running', async () => {
    await using rig = await Rig.open()
    rig.images.onFetch = async (progress) => progress(Math.round(0.4 * GiB), Math.round(3.7 * GiB))
    await rig.want(aVm())
    expect(rig.story).toEqual([
      'stopped/creating/waiting for a create slot on this host',
      'stopped/creating/downloading image',
      'stopped/creating/downloading image 0.4/3.7 GiB',
      'stopped/creating/preparing root disk',
      'stopped/creating/building seed',
      'stopped/creating/booting',
      'running/ready/',
    ])
    expect(rig.backend.calls).toEqual(['preflight', `prepareRootDisk ${ID}`, `boot ${ID}`])
  })

  it('a guest that lost its record and its directory is ended before it is made anew', async () => {
    await using rig = await Rig.open()
    rig.backend.guests.set(ID, { acceleration: 'tcg', startedAt: new Date(0) })
    await rig.want(aVm())
    expect(rig.backend.calls).toEqual([`destroy ${ID}`, 'preflight', `prepareRootDisk ${ID}`, `boot ${ID}`])
  })

  it.each(['running', 'stopped'])('never replaces the disk of a VM that was whole once: %s', async (power) => {
    await using rig = await Rig.open()
    await rig.want(aVm({ powerState: power }))
    await rig.records.save({ ...rig.records.of(ID)!, bootId: '' })
    rig.backend.calls.length = 0
    await rig.want(aVm({ powerState: power, memMb: 1024 }))
    expect(rig.row()).toMatchObject({ power, phase: 'ready' })
    expect(rig.backend.calls).toEqual([])
  })

  it('while a step runs its row is creating and says which, and nothing is proven yet', async () => {
    await using rig = await Rig.open()
    const release = rig.backend.hold('prepareRootDisk')
    await rig.send([aVm()])
    await expect.poll(() => rig.backend.calls).toContain(`prepareRootDisk ${ID}`)
    expect(rig.row()).toMatchObject({
      power: 'stopped',
      phase: 'creating',
      detail: 'preparing root disk',
      progress: { step: 3, steps: 5 },
    })
    expect(rig.records.of(ID)?.bootId).toBe('')
    release()
    await rig.engine.idle()
    expect(rig.row()?.progress).toBeUndefined()
  })

  it('an image that is here already is not fetched, and its step is passed straight through', async () => {
    await using rig = await Rig.open()
    rig.images.whole.add(SHA)
    await rig.want(aVm())
    expect(rig.images.fetches).toBe(0)
    expect(rig.story.slice(1, 3)).toEqual([
      'stopped/creating/downloading image',
      'stopped/creating/preparing root disk',
    ])
  })

  it('download progress is told a few times a second, waits for nobody and is not written down', async () => {
    await using rig = await Rig.open()
    const answers = new Set<unknown>()
    rig.images.onFetch = async (progress) => {
      const saves = rig.records.saved.length
      for (let ms = 0; ms < 1_000; ms++) {
        answers.add(progress(ms * 1_048_576, 1_000 * 1_048_576))
        rig.clock.advance(1)
      }
      expect(rig.records.saved).toHaveLength(saves)
    }
    await rig.want(aVm())
    expect(rig.story.filter((line) => line.includes('MiB'))).toHaveLength(4)
    expect([...answers]).toEqual([undefined])
    expect(rig.brief()).toBe('running/ready/')
  })

  it('however many creates are asked for, only as many as there are slots use the disk, and reports go on', async () => {
    await using rig = await Rig.open({ slots: 2 })
    let atOnce = 0
    let most = 0
    const gate = Promise.withResolvers<void>()
    rig.images.onFetch = async () => {
      most = Math.max(most, ++atOnce)
      await gate.promise
      atOnce--
    }
    const many = [1, 2, 3, 4, 5, 6].map((n) =>
      aVm({ vmId: `${n}`.repeat(32), name: `vm-${n}`, imageSha256: `${n}`.repeat(64) }),
    )
    await rig.send(many)
    await expect.poll(() => rig.images.fetches).toBe(2)
    const details = rig.engine.report().vms.map((vm) => vm.detail)
    expect(details.filter((detail) => detail.startsWith('waiting for a create slot'))).toHaveLength(4)
    gate.resolve()
    await rig.engine.idle()
    expect(most).toBe(2)
    expect(rig.engine.report().vms.map((vm) => vm.phase)).toEqual(Array(6).fill('ready'))
  })

  it('the boot id is written last, once the guest runs', async () => {
    await using rig = await Rig.open()
    const seen: string[] = []
    rig.records.onSave = (record) => seen.push(`${record.bootId || '-'} ${rig.backend.guests.size} guests`)
    await rig.want(aVm())
    expect(seen).toEqual(['- 0 guests', 'boot-1 1 guests'])
    expect(rig.records.of(ID)).toMatchObject({ bootId: 'boot-1', createAttempts: 0, lastError: '', machine: 'fake-1' })
  })

  it('a create that broke after its disk runs whole again, never converge', async () => {
    await using rig = await Rig.open()
    rig.backend.fail('boot', new Error('no'))
    await rig.want(aVm())
    expect(rig.records.of(ID)).toMatchObject({ bootId: '', createAttempts: 1 })
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'creating' })
    await rig.tick()
    expect(rig.backend.calls.filter((c) => c.startsWith('prepareRootDisk'))).toHaveLength(2)
    expect(rig.seeds).toHaveLength(2)
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a guest that does not start is no promise of another try once none is left', async () => {
    await using rig = await Rig.open()
    const why = () => new Fault('vm/start-failed', 'transient', { detail: 'QEMU ended at once' })
    rig.backend.fail('boot', why())
    await rig.want(aVm())
    expect(rig.row()).toMatchObject({ phase: 'creating', reason: 'vm/start-failed' })
    for (let tries = 0; tries < 20 && rig.row()?.phase === 'creating'; tries++) {
      rig.backend.fail('boot', why())
      await rig.tick()
    }
    expect(rig.row()).toMatchObject({ phase: 'failed', reason: 'vm/create-failed' })
    expect(rig.row()?.detail).toContain('QEMU ended at once')
  })

  it('a guest left running by a create that was never proven is ended before its disk is replaced', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.records.save({ ...rig.records.of(ID)!, ...UNPROVEN })
    await rig.tick()
    const again = rig.backend.calls.slice(3)
    expect(again).toEqual([`destroy ${ID}`, 'preflight', `prepareRootDisk ${ID}`, `boot ${ID}`])
  })

  it('a guest whose boot cannot be recorded is ended, and never runs under a row that says stopped', async () => {
    await using rig = await Rig.open()
    rig.records.onSave = (record) => {
      if (record.bootId !== '') throw new Fault('host/disk-full', 'transient', {})
    }
    await rig.want(aVm())
    for (let i = 0; i < 4; i++) {
      expect(rig.row()).toMatchObject({ power: 'stopped', reason: 'host/disk-full' })
      expect(rig.backend.guests.size).toBe(0)
      await rig.tick()
    }
    rig.records.onSave = () => {}
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a guest of a create that has no try left does not run on', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    await rig.records.save({ ...rig.records.of(ID)!, ...UNPROVEN, createAttempts: 3 })
    await rig.tick()
    expect(rig.backend.guests.size).toBe(0)
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'vm/create-cut-short' })
    expect(rig.row()?.detail).toMatch(
      /^web could not be created: the agent of its host ended during each try \(its log: \/.*\/agent\.log, or the journal\)\.$/,
    )
  })

  it('a create that no agent lived through says the next move where its log is not known too', () => {
    expect(faultLine('vm/create-cut-short', { vm: 'web' })).toBe(
      'web could not be created: the agent of its host ended during each try. It is not running. ' +
        'Run "eitri-agent doctor" on that host and read the log of its agent; starting or changing the VM tries again.',
    )
  })

  it('a power state this agent does not know is refused for good, before any download', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ powerState: 'suspended' }))
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'input/invalid' })
    expect(rig.images.fetches).toBe(0)
  })

  it('a VM refused for want of room holds nothing after an agent restart either', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 2 } })
    const refused = aVm({ vcpus: 3, hostCertRequired: true, sshHostCert: 'cert' })
    await rig.want(refused)
    expect(rig.row()?.reason).toBe('vm/over-capacity')
    expect(rig.records.of(ID)).toBeDefined()
    await rig.restart()
    expect(rig.row()?.reason).toBe('vm/over-capacity')
    await rig.want(refused, aVm({ vmId: OTHER, name: 'db', vcpus: 2 }))
    expect(rig.brief(OTHER)).toBe('running/ready/')
  })

  it('a create that failed for good keeps the room it was admitted with, over an agent restart too', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 1 } })
    rig.backend.fail('boot', permanent())
    await rig.want(aVm())
    await rig.restart()
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db' }))
    expect(rig.row(OTHER)?.reason).toBe('vm/over-capacity')
  })

  it('the attempt is counted before anything is done', async () => {
    await using rig = await Rig.open()
    rig.images.onFetch = async () => expect(rig.records.of(ID)?.createAttempts).toBe(1)
    await rig.want(aVm())
    expect(rig.images.fetches).toBe(1)
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a permanent preflight error fails at once and nothing is fetched', async () => {
    await using rig = await Rig.open()
    rig.backend.fail('preflight', permanent())
    await rig.want(aVm())
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'vmm/missing' })
    await rig.tick(3)
    expect(rig.backend.calls).toEqual(['preflight'])
    expect(rig.images.fetches).toBe(0)
  })

  it('permanence is found through wrapping', async () => {
    await using rig = await Rig.open()
    rig.backend.fail('boot', new Error('while booting', { cause: permanent() }))
    await rig.want(aVm())
    expect(rig.row()?.phase).toBe('failed')
  })

  it('three failures end it, with the last error', async () => {
    await using rig = await Rig.open()
    rig.backend.fail('boot', new Fault('vm/start-failed', 'transient', { detail: 'no luck' }), 9)
    await rig.want(aVm())
    expect(rig.brief()).toBe('stopped/creating/web did not start (no luck).')
    await rig.tick()
    expect(rig.row()?.phase).toBe('creating')
    await rig.tick(5)
    expect(rig.brief()).toBe('stopped/failed/web did not start (no luck).')
    expect(rig.backend.calls.filter((c) => c.startsWith('boot'))).toHaveLength(3)
  })

  it('a changed spec grants a fresh budget', async () => {
    await using rig = await Rig.open()
    rig.backend.fail('preflight', permanent())
    await rig.want(aVm())
    await rig.want(aVm({ memMb: 1024 }))
    expect(rig.brief()).toBe('running/ready/')
  })

  it('without its host certificate it waits, costs nothing and never boots', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ hostCertRequired: true }))
    await rig.tick(100)
    expect(rig.brief()).toBe(`stopped/creating/${WAITING_FOR_CERTIFICATE}`)
    expect(rig.row()?.hostPublicKey).toBe('ssh-ed25519 AAAA web')
    expect(rig.records.of(ID)?.createAttempts).toBe(0)
    expect(rig.backend.calls).toEqual([])
    await rig.want(aVm({ hostCertRequired: true, sshHostCert: 'ssh-ed25519-cert-v01@openssh.com BBBB' }))
    expect(rig.seeds[0]?.input.ssh.hostKey).toEqual({
      privateKey: 'PRIVATE',
      certificate: 'ssh-ed25519-cert-v01@openssh.com BBBB',
    })
    expect(rig.row()).toMatchObject({ phase: 'ready', hostPublicKey: 'ssh-ed25519 AAAA web' })
  })

  it('the seed has the keys, the user-data and the MAC; no host key without a CA', async () => {
    await using rig = await Rig.open()
    const cloudInit = Buffer.from('#!/bin/sh\n')
    await rig.want(aVm({ cloudInit, sshAuthorizedKeys: ['ssh-ed25519 K'], sshUserCaAuthorizedKeys: ['ssh-ed25519 C'] }))
    expect(rig.seeds[0]?.input).toMatchObject({
      vmId: ID,
      hostname: 'web',
      authorizedKeys: ['ssh-ed25519 K'],
      mac: expect.stringMatching(/^52:54:00:/),
      ssh: { userCas: ['ssh-ed25519 C'] },
    })
    expect(Buffer.from(rig.seeds[0]!.input.userData)).toEqual(cloudInit)
    expect(rig.seeds[0]?.input.ssh.hostKey).toBeUndefined()
  })

  it('a quota refusal costs nothing and boots when room is free', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 2 } })
    const other = aVm({ vmId: OTHER, name: 'db', vcpus: 2 })
    await rig.want(other)
    await rig.want(other, aVm())
    await rig.tick(10)
    expect(rig.row()).toMatchObject({ power: 'stopped', phase: 'failed', reason: 'vm/over-capacity' })
    expect(rig.row()?.detail).toContain('1 vCPUs wanted, 0 of 2 free')
    expect(rig.records.of(ID)?.createAttempts ?? 0).toBe(0)
    await rig.want(aVm({ vmId: OTHER, vcpus: 2, tombstone: { graceS: 3600n } }), aVm())
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('of two creates in one tick that together exceed a cap one is admitted, even if it fails', async () => {
    await using rig = await Rig.open({ caps: { memMb: 700 } })
    rig.backend.fail('boot', new Error('no'))
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db' }))
    const reasons = [rig.row()?.reason, rig.row(OTHER)?.reason].sort()
    expect(reasons).toEqual(['app/bug', 'vm/over-capacity'])
  })

  it('a VM waits for a slot with its row standing, and gets it when the other is done', async () => {
    await using rig = await Rig.open({ slots: 1 })
    const release = rig.backend.hold('boot')
    await rig.send([aVm({ vmId: OTHER, name: 'db' }), aVm()])
    await expect.poll(() => rig.backend.calls).toContain(`boot ${OTHER}`)
    expect(rig.brief()).toBe('stopped/creating/waiting for a create slot on this host')
    expect(rig.backend.calls).not.toContain(`prepareRootDisk ${ID}`)
    release()
    await rig.engine.idle()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a VM that waits for a slot has its room already: a slot is no admission', async () => {
    await using rig = await Rig.open({ slots: 1, caps: { vcpus: 2 } })
    const release = rig.backend.hold('boot')
    await rig.send([aVm({ vmId: OTHER, name: 'db' }), aVm()])
    await expect.poll(() => rig.brief()).toContain('waiting for a create slot')
    const third = aVm({ vmId: 'c'.repeat(32), name: 'late' })
    await rig.send([aVm({ vmId: OTHER, name: 'db' }), aVm(), third])
    await expect.poll(() => rig.row(third.vmId)?.reason).toBe('vm/over-capacity')
    release()
    await rig.engine.idle()
    expect([rig.brief(), rig.brief(OTHER)]).toEqual(['running/ready/', 'running/ready/'])
  })

  it('an image only the control plane has is wanted, costs nothing, and its arrival goes on at once', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ imageUrl: '' }))
    await rig.tick(5)
    expect(rig.brief()).toBe(`stopped/creating/${WAITING_FOR_IMAGE}`)
    expect(rig.records.saved).toEqual([])
    expect(rig.engine.report().wantedImages).toMatchObject([{ sha256: SHA, haveBytes: 7n }])
    rig.images.push(SHA)
    await rig.engine.idle()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.engine.report().wantedImages).toEqual([])
  })

  it('a VM that never got its image leaves no room taken when it goes', async () => {
    for (const gone of [[aVm({ imageUrl: '', tombstone: { graceS: 9n } })], []]) {
      await using rig = await Rig.open({ caps: { vcpus: 1 } })
      await rig.want(aVm({ imageUrl: '' }))
      await rig.want(...gone)
      await rig.want(...gone, aVm({ vmId: OTHER, name: 'db' }))
      expect(rig.brief(OTHER)).toBe('running/ready/')
    }
  })

  it('created stopped, it is whole without a boot, and starts later as wanted', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ powerState: 'stopped' }))
    expect(rig.brief()).toBe('stopped/ready/')
    expect(rig.records.of(ID)?.bootId).toBe('boot-1')
    expect(rig.backend.calls).not.toContain(`boot ${ID}`)
    await rig.want(aVm())
    expect(rig.story.join()).not.toContain('failed')
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a pass that runs out of time gets its attempt back, every time', async () => {
    await using rig = await Rig.open({ passTimeoutMs: 60_000 })
    rig.images.onFetch = (_progress, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    await rig.send([aVm()])
    for (let i = 0; i < 10; i++) {
      await expect.poll(() => rig.images.fetches).toBe(i + 1)
      rig.clock.advance(60_000)
      await rig.engine.idle()
      expect(rig.records.of(ID)?.createAttempts).toBe(0)
      expect(rig.row()).toMatchObject({ phase: 'creating', reason: 'app/timeout' })
      await rig.engine.dispatch()
    }
    rig.clock.advance(60_000)
    await rig.engine.idle()
  })

  it('a permanent error under an expired pass is refunded once, and is terminal the next time', async () => {
    await using rig = await Rig.open({ passTimeoutMs: 60_000 })
    rig.images.onFetch = (_progress, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(permanent()), { once: true }))
    await rig.send([aVm()])
    await expect.poll(() => rig.images.fetches).toBe(1)
    rig.clock.advance(60_000)
    await rig.engine.idle()
    expect(rig.records.of(ID)?.createAttempts).toBe(0)
    rig.images.onFetch = async () => Promise.reject(permanent())
    await rig.tick()
    expect(rig.row()?.phase).toBe('failed')
  })

  it('waiting for a slot past the deadline is refunded', async () => {
    await using rig = await Rig.open({ slots: 1, passTimeoutMs: 60_000 })
    const release = await rig.slots.take(AbortSignal.timeout(10_000))
    await rig.send([aVm()])
    await expect.poll(() => rig.brief()).toContain('waiting for a create slot')
    expect(rig.records.of(ID)?.createAttempts).toBe(1)
    rig.clock.advance(60_000)
    await rig.engine.idle()
    expect(rig.records.of(ID)?.createAttempts).toBe(0)
    expect(rig.row()).toMatchObject({ phase: 'creating', reason: 'app/timeout' })
    release()
    await rig.tick()
    expect(rig.brief()).toBe('running/ready/')
  })

  it('a network or a backend this host does not have is refused for good, before any download', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm({ network: 'lan' }), aVm({ vmId: OTHER, name: 'db', backend: 'vfkit' }))
    expect(rig.row()).toMatchObject({ phase: 'failed', reason: 'vm/network-unknown' })
    expect(rig.row(OTHER)).toMatchObject({ phase: 'failed', reason: 'vmm/missing' })
    expect(rig.images.fetches).toBe(0)
  })

  it('addresses the backend knows at boot are in the same row', async () => {
    await using rig = await Rig.open()
    rig.backend.addresses.set(ID, '10.0.0.2')
    rig.backend.networkAddresses.set(ID, '192.0.2.7')
    await rig.want(aVm())
    expect(rig.row()).toMatchObject({ ip: '10.0.0.2', networkIp: '192.0.2.7' })
  })

  it('a delete ends a create under way, and nothing of it is held against the VM', async () => {
    await using rig = await Rig.open()
    rig.images.onFetch = (_progress, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    await rig.send([aVm()])
    await expect.poll(() => rig.images.fetches).toBe(1)
    await rig.want(aVm({ tombstone: { graceS: 0n } }))
    expect(rig.engine.report()).toMatchObject({ vms: [], quarantined: [], destroyed: [ID] })
  })
})

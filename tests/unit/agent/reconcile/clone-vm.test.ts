import { describe, expect, it } from 'vitest'
import { aVm, ID, OTHER, Rig, SHA } from './rig.ts'

const THIRD = 'c'.repeat(32)
const source = (change = {}) => aVm({ powerState: 'stopped', ...change })
const clone = (change = {}) => aVm({ vmId: OTHER, name: 'web-clone', cloneOf: ID, ...change })
const copies = (rig: Rig) => rig.backend.calls.filter((call) => /^(clone|prepare)RootDisk/.test(call))
const tombstone = { $typeName: 'eitri.agent.v1.Tombstone' as const, graceS: 600n }

describe('a clone', () => {
  it('gets its disk from the stopped source, and an identity of its own', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    await rig.want(source(), clone({ hostCertRequired: true, sshHostCert: 'ssh-ed25519-cert-v01@openssh.com AAAA' }))
    expect(rig.brief(OTHER)).toBe('running/ready/')
    expect(copies(rig)).toEqual([`prepareRootDisk ${ID}`, `cloneRootDisk ${OTHER} ${ID}`])
    const [first, second] = rig.seeds
    expect(second!.input).toMatchObject({ vmId: OTHER, hostname: 'web-clone' })
    expect(second!.input.mac).not.toBe(first!.input.mac)
    expect(rig.row(OTHER)?.hostPublicKey).toBe('ssh-ed25519 AAAA web-clone')
    expect(rig.brief()).toBe('stopped/ready/')
  })

  it('is stopped when it is to be, and made once: later passes and agents copy nothing', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    await rig.want(source(), clone({ powerState: 'stopped' }))
    expect(rig.brief(OTHER)).toBe('stopped/ready/')
    await rig.tick()
    await rig.restart()
    await rig.want(source(), clone())
    expect(rig.brief(OTHER)).toBe('running/ready/')
    expect(copies(rig)).toHaveLength(2)
  })

  it('tells how much of the disk is copied, and asks for room before', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    const asked: number[] = []
    rig.images.requireRoom = async (bytes) => void asked.push(bytes)
    const release = rig.backend.hold('cloneRootDisk')
    await rig.send([source(), clone()])
    await expect
      .poll(() => rig.row(OTHER))
      .toMatchObject({
        phase: 'creating',
        detail: 'copying the disk of web',
        progress: { doneBytes: 250n, totalBytes: 1_000n },
      })
    expect(asked).toContain(1_000)
    release()
    await rig.engine.idle()
    expect(rig.brief(OTHER)).toBe('running/ready/')
  })

  it('keeps its source from starting while the disk is copied, and lets it start then', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    const release = rig.backend.hold('cloneRootDisk')
    await rig.send([source(), clone()])
    await expect.poll(() => rig.row(OTHER)?.detail).toBe('copying the disk of web')
    await rig.send([source({ powerState: 'running' }), clone()])
    await expect
      .poll(() => rig.brief())
      .toBe('stopped/ready/starts once its disk is copied to the VM that is made from it')
    expect(rig.backend.guests.size).toBe(0)
    release()
    await rig.engine.idle()
    expect(rig.brief()).toBe('running/ready/')
    expect(rig.brief(OTHER)).toBe('running/ready/')
  })

  it('asked for in one breath with the start of its source is made first', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    await rig.want(source({ powerState: 'running' }), clone())
    expect(rig.backend.calls.slice(-3)).toEqual([`cloneRootDisk ${OTHER} ${ID}`, `boot ${OTHER}`, `boot ${ID}`])
    expect(rig.brief(OTHER)).toBe('running/ready/')
  })

  it('of a running VM waits until it is stopped, without spending a try', async () => {
    await using rig = await Rig.open()
    await rig.want(source({ powerState: 'running' }))
    await rig.want(source({ powerState: 'running' }), clone())
    await rig.tick(5)
    expect(rig.brief(OTHER)).toBe(
      'stopped/creating/waiting for web to be stopped: its disk is copied only while nothing writes to it',
    )
    await rig.want(source(), clone())
    await rig.tick()
    expect(rig.brief(OTHER)).toBe('running/ready/')
    expect(copies(rig)).toHaveLength(2)
  })

  it('of a VM that is being started waits for it like for one that runs', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    const release = rig.backend.hold('boot')
    await rig.send([source({ powerState: 'running' })])
    await expect.poll(() => rig.backend.calls.at(-1)).toBe(`boot ${ID}`)
    await rig.send([source({ powerState: 'running' }), clone()])
    await expect.poll(() => rig.row(OTHER)?.detail).toContain('waiting for web to be stopped')
    release()
    await rig.engine.idle()
    await rig.tick()
    expect(copies(rig)).toHaveLength(1)
    expect(rig.row(OTHER)?.detail).toContain('waiting for web to be stopped')
  })

  it.each([
    ['deleted', [source({ tombstone })], 'web is deleted on this host, or was never there.'],
    ['not of this host', [], `${ID} is deleted on this host, or was never there.`],
  ])('of a VM that is %s fails for good and says so, and nothing is made', async (_what, others, detail) => {
    await using rig = await Rig.open()
    if (others.length > 0) await rig.want(source())
    await rig.want(...others)
    const before = copies(rig).length
    await rig.want(...others, clone())
    await rig.tick(3)
    expect(rig.row(OTHER)).toMatchObject({ phase: 'failed', reason: 'vm/clone-source-gone', detail })
    expect(copies(rig)).toHaveLength(before)
  })

  it('whose source came back is made once a person asks for its start', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    await rig.want(source({ tombstone }), clone())
    expect(rig.row(OTHER)?.reason).toBe('vm/clone-source-gone')
    await rig.want(source(), clone({ restartCount: 1n }))
    expect(rig.brief(OTHER)).toBe('running/ready/')
  })

  it('of a VM that is not made yet waits for it', async () => {
    await using rig = await Rig.open()
    await rig.want(source({ imageUrl: '', imageSha256: '2'.repeat(64) }), clone())
    await rig.tick()
    expect(rig.row(OTHER)?.detail).toBe('waiting for web, which it is a copy of, to be made')
  })

  it('of a VM whose record cannot be read waits for it', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    rig.records.unreadable.add(ID)
    await rig.want(source(), clone())
    expect(rig.row(OTHER)).toMatchObject({ phase: 'creating', detail: expect.stringContaining('cannot be read') })
    rig.records.unreadable.clear()
    await rig.tick()
    expect(rig.brief(OTHER)).toBe('running/ready/')
  })

  it('and its clone each keep what they were made from', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    await rig.want(source(), clone({ powerState: 'stopped' }))
    await rig.want(source(), clone({ powerState: 'stopped' }), aVm({ vmId: THIRD, name: 'third', cloneOf: OTHER }))
    expect(rig.brief(THIRD)).toBe('running/ready/')
    expect(copies(rig).at(-1)).toBe(`cloneRootDisk ${THIRD} ${OTHER}`)
  })

  it('that copies for longer than a pass may take goes on as long as bytes come, and fails when none do', async () => {
    await using rig = await Rig.open({ passTimeoutMs: 60_000 })
    await rig.want(source())
    const told = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    rig.backend.cloneRootDisk = async ({ progress }, signal) => {
      for (let done = 1; done <= 5; done++) {
        rig.clock.advance(50_000)
        progress(done, 10)
      }
      signal.throwIfAborted()
      told.resolve()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    }
    await rig.send([source(), clone()])
    await told.promise
    rig.engine.onChange(() => {
      if (rig.row(OTHER)?.reason === 'app/timeout') ended.resolve()
    })
    rig.clock.advance(60_000)
    await ended.promise
    expect(rig.records.of(OTHER)?.createAttempts).toBe(0)
  })

  it('is not made by a hypervisor that cannot, and says so', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    Object.assign(rig.backend, { cloneRootDisk: undefined })
    await rig.want(source(), clone())
    expect(rig.row(OTHER)).toMatchObject({ phase: 'failed', reason: 'vmm/failed' })
  })

  it('of a host without room waits, and the source is free meanwhile', async () => {
    await using rig = await Rig.open({ caps: { vcpus: 2 } })
    await rig.want(source({ vcpus: 2 }))
    await rig.want(source({ vcpus: 2 }), clone())
    expect(rig.row(OTHER)).toMatchObject({ phase: 'failed', reason: 'vm/over-capacity' })
    await rig.want(source({ vcpus: 2, powerState: 'running' }), clone())
    expect(rig.brief()).toBe('running/ready/')
  })

  it('refers to the image its disk lies on', async () => {
    await using rig = await Rig.open()
    await rig.want(source())
    await rig.want(source(), clone())
    expect(rig.records.of(OTHER)?.spec.imageSha256).toBe(SHA)
  })
})

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chPlaces } from '../../../src/agent/backends/cloud-hypervisor/ch-places.ts'
import { tapName } from '../../../src/agent/network/tap.ts'
import { run } from '../../../src/agent/os/exec.ts'
import { FAILPOINTS, onHit, type Phase, phasesOf } from '../../../src/agent/os/failpoints.ts'
import { linuxProcesses } from '../../../src/agent/os/process.ts'
import { agentLayout, type VmLayout } from '../../../src/agent/records/layout.ts'
import { ConsoleHub } from '../../../src/agent/serial/console-hub.ts'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { backendContract } from './backend-contract.ts'
import { bootFirst, live, SPEC, VM_ID } from './boot-first.ts'
import { type ChRig, chRig } from './cloud-hypervisor-rig.ts'
import { pidsIn, processContract } from './process-contract.ts'

backendContract('cloud-hypervisor with its scripted peer', () => chRig())
processContract('cloud-hypervisor with its scripted peer', () => chRig())

/** Of the other backends. */
const QEMU_ONLY = new Set(['vmm.ask-machines', 'vmm.ask-tool', 'vmm.ask-version', 'vmm.spawn'])
const calm = () => new AbortController().signal

/** One request past the backend, as another hand on the host would make it. */
async function press(vm: VmLayout, endpoint: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const asked = request({
    socketPath: join(vm.dir, chPlaces(vm).apiSocketName),
    method: 'PUT',
    path: `/api/v1/${endpoint}`,
    agent: false,
  })
  asked.on('response', (answer) => resolve(answer.resume().statusCode ?? 0)).on('error', reject)
  asked.end()
  return await promise
}

/** What the VMM says of its VM. */
async function info(vm: VmLayout): Promise<any> {
  const { promise, resolve, reject } = Promise.withResolvers<Readable>()
  const path = '/api/v1/vm.info'
  request({ socketPath: join(vm.dir, chPlaces(vm).apiSocketName), path, agent: false })
    .on('response', resolve)
    .on('error', reject)
    .end()
  return await json(await promise)
}

describe('cloud-hypervisor', () => {
  let rig: ChRig
  let vm: VmLayout
  beforeEach(async () => {
    rig = await chRig()
    vm = agentLayout(rig.stateDir).vmDir(VM_ID)
    await mkdir(vm.dir, { recursive: true })
  })
  afterEach(async () => {
    onHit(undefined)
    await rig.open().destroy(vm)
    await rig.close()
    await rm(rig.stateDir, { recursive: true, force: true })
  })
  const again = () => rig.backend.boot({ vm, spec: SPEC, image: rig.image, machine: '' }, live())
  const stop = (graceMs = 0) => rig.backend.shutdown(vm, { graceMs, hurry: calm() }, live())
  const serialText = () => readFile(vm.serialLog, 'utf8').catch(() => '')

  it('is asked in order: is it there, is there a VM, make it, boot it', async () => {
    await bootFirst(rig, vm)
    const asked = (await rig.asked(vm)).filter((name, i, all) => name !== all[i - 1])
    expect(asked).toEqual(['vmm.ping', 'vm.info', 'vm.create', 'vm.boot'])
  })

  it('is told of the tap of its guest, which is there before it starts and gone once destroyed', async () => {
    await bootFirst(rig, vm)
    expect([...rig.taps.names]).toEqual([tapName(VM_ID)])
    await stop()
    expect([...rig.taps.names]).toEqual([tapName(VM_ID)])
    await rig.backend.destroy(vm)
    expect([...rig.taps.names]).toEqual([])
  })

  it('is told of the taps that were made for it, and makes none', async () => {
    const nics = [
      { mac: '52:54:00:00:00:01', tap: 'eitri-000000001' },
      { mac: '52:54:00:00:00:02', tap: 'eil-00000000002' },
    ]
    await bootFirst(rig, vm, nics)
    expect([...rig.taps.names]).toEqual([])
    expect((await info(vm)).config.net).toMatchObject([
      { id: 'net0', ...nics[0] },
      { id: 'net1', ...nics[1] },
    ])
  })

  it('shows the command line it is started with, each part with what it is for', async () => {
    const parts = await rig.backend.command({ vm, spec: SPEC, image: rig.image, machine: '' })
    expect(parts.flatMap(({ args }) => args).slice(1)).toEqual([
      '--api-socket',
      'path=api.sock',
      '--event-monitor',
      'path=events.log',
    ])
    expect(await readdir(vm.dir)).toEqual([])
  })

  it('without its firmware runs no disk image, and says where it looked', async () => {
    const backend = rig.open({ firmwareDirs: ['/nowhere'] })
    await expect(backend.prepareRootDisk(vm, SPEC, rig.image, live())).rejects.toMatchObject({
      code: 'vmm/missing',
      disposition: 'permanent',
      params: { detail: expect.stringContaining('CLOUDHV.fd is in none of /nowhere') },
    })
  })

  describe('refusing', () => {
    it.each([
      ['vm.create', 400, 'permanent'],
      ['vm.create', 500, 'transient'],
      ['vm.boot', 500, 'transient'],
    ] as const)(
      '%s with %i fails the boot with its own words, and leaves no process',
      async (endpoint, status, disposition) => {
        await rig.misbehave(vm, {
          answers: { [endpoint]: { status, body: '["Error from API","The device root is locked"]' } },
        })
        await expect(bootFirst(rig, vm)).rejects.toMatchObject({
          code: 'vm/start-failed',
          disposition,
          params: { detail: expect.stringMatching(`^PUT ${endpoint}: ${status} .*The device root is locked$`) },
        })
        expect(await pidsIn(vm.dir)).toEqual([])
        await rig.misbehave(vm, {})
        await again()
        expect(await rig.backend.running(vm)).toBeDefined()
      },
    )

    it.each(['vm.create', 'vm.boot', 'vm.info'])(
      'to answer %s whole, it is ended, and the next boot begins anew',
      async (endpoint) => {
        await rig.misbehave(vm, { answers: { [endpoint]: 'close' } })
        await expect(bootFirst(rig, vm)).rejects.toMatchObject({ code: 'vm/start-failed' })
        expect(await pidsIn(vm.dir)).toEqual([])
        await rig.misbehave(vm, {})
        await again()
      },
    )

    it('to answer at all, it is ended at the deadline, though it had done what it was asked', async () => {
      await rig.misbehave(vm, { answers: { 'vm.boot': 'done-silence' } })
      const hasty = rig.open({ deadlineMs: 1_000 })
      await rig.backend.prepareRootDisk(vm, SPEC, rig.image, live())
      await writeFile(vm.seed, '')
      const boot = hasty.boot({ vm, spec: SPEC, image: rig.image, machine: '' }, live())
      await expect(boot).rejects.toMatchObject({ params: { detail: 'PUT vm.boot: no answer in time' } })
      expect(await pidsIn(vm.dir)).toEqual([])
    })

    it('the disk that is not there, it names it', async () => {
      await bootFirst(rig, vm)
      await stop()
      await rm(rig.disk(vm))
      await expect(again()).rejects.toMatchObject({ params: { detail: expect.stringContaining('disk.raw') } })
    })

    it('a wrong order by either of its statuses is understood alike', async () => {
      for (const documentedStatuses of [false, true]) {
        await rig.misbehave(vm, { documentedStatuses, deaf: true })
        await bootFirst(rig, vm)
        expect(await press(vm, 'vm.boot')).toBe(documentedStatuses ? 405 : 500)
        expect(await press(vm, 'vm.resume')).toBe(documentedStatuses ? 405 : 500)
        expect(await press(vm, 'vm.shutdown')).toBe(204)
        expect(await press(vm, 'vm.shutdown')).toBe(documentedStatuses ? 405 : 500)
        expect(await rig.backend.running(vm)).toBeUndefined()
        await again()
        expect(await rig.backend.running(vm)).toBeDefined()
        await rig.backend.destroy(vm)
      }
    })
  })

  describe('whose guest ends', () => {
    it('by itself is told of, and is known to have meant it, also by an agent that was not there', async () => {
      await bootFirst(rig, vm)
      const told = Promise.withResolvers<string>()
      rig.backend.onExit(told.resolve)
      await press(vm, 'vm.power-button')
      expect(await told.promise).toBe(VM_ID)
      for (const backend of [rig.backend, rig.open()]) {
        expect(await backend.running(vm)).toBeUndefined()
        expect(await backend.failureReason(vm)).toBe('the guest powered itself off')
        expect(backend.endedCleanly(vm)).toBe(true)
      }
    })

    it('by a signal is not', async () => {
      await bootFirst(rig, vm)
      await rig.kill(vm)
      await expect.poll(() => rig.backend.running(vm)).toBeUndefined()
      expect(rig.backend.endedCleanly(vm)).toBe(false)
      expect(await rig.backend.failureReason(vm)).toBe('')
    })

    it('when it is booted has left its words in the log', async () => {
      await rig.misbehave(vm, { dieAtBoot: 'Error: chain:\n  0: Cannot boot VM\n  1: Cannot open tap interface' })
      await expect(bootFirst(rig, vm)).rejects.toMatchObject({
        params: { detail: 'Cannot boot VM: Cannot open tap interface' },
      })
    })
  })

  describe('being stopped', () => {
    it('is let run first when its guest is paused, and then hears the button', async () => {
      await bootFirst(rig, vm)
      await press(vm, 'vm.pause')
      expect(await rig.backend.running(vm)).toBeDefined()
      expect(rig.backend.complaint(vm)).toMatchObject({ paused: true })
      await stop(60_000)
      expect((await rig.asked(vm)).slice(-3)).toEqual(['vm.info', 'vm.resume', 'vm.power-button'])
    })

    it('has its guest shut down before itself when the guest is deaf', async () => {
      await bootFirst(rig, vm)
      await rig.misbehave(vm, { deaf: true })
      await stop(300)
      expect((await rig.asked(vm)).slice(-3)).toEqual(['vm.power-button', 'vm.shutdown', 'vmm.shutdown'])
    })

    it.each([
      ['told by a signal when its API is broken', {}],
      ['killed when it ignores that too', { ignoreSigterm: true }],
    ])('is %s', async (_what, script) => {
      await bootFirst(rig, vm)
      await rig.misbehave(vm, { ...script, answers: { 'vm.shutdown': 'close' } })
      await stop()
      expect(await pidsIn(vm.dir)).toEqual([])
    })

    it('while it hangs is ended all the same, and was named as hung before', async () => {
      await bootFirst(rig, vm)
      const [pid] = await pidsIn(vm.dir)
      let now = 0
      const backend = rig.open({ deadlineMs: 200, clock: { ...systemClock, monotonic: () => now + performance.now() } })
      process.kill(pid!, 'SIGSTOP')
      expect(await backend.running(vm)).toBeDefined()
      expect(backend.complaint(vm)).toBeUndefined()
      now = 20_000
      expect(await backend.running(vm)).toBeDefined()
      expect(backend.complaint(vm)).toMatchObject({ code: 'vm/hung' })
      await backend.shutdown(vm, { graceMs: 0, hurry: calm() }, live())
      expect(await pidsIn(vm.dir)).toEqual([])
    })
  })

  describe('with its console', () => {
    it('has all its guest printed in one log, across guests and agents', async () => {
      await bootFirst(rig, vm)
      await expect.poll(serialText).toBe('guest: up\r\n')
      await rig.backend.close()
      const next = rig.open()
      await next.running(vm)
      await next.shutdown(vm, { graceMs: 60_000, hurry: calm() }, live())
      expect(await serialText()).toMatch(/^guest: up\r\n(guest: power off\r\n)?$/)
      await again()
      await expect.poll(serialText).toMatch(/guest: up\r\n$/)
      expect((await serialText()).match(/guest: up/g)).toHaveLength(2)
    })

    it('takes what is typed on the one line that is recorded', async () => {
      const hub = new ConsoleHub({ logPathOf: () => vm.serialLog })
      const backend = rig.open({ serial: hub })
      await bootFirst({ ...rig, backend }, vm)
      await expect.poll(serialText).toBe('guest: up\r\n')
      expect(await hub.input(VM_ID, Buffer.from('uptime\r'))).toBeUndefined()
      await expect.poll(serialText).toBe('guest: up\r\nuptime\r')
      expect(await hub.input(VM_ID, Buffer.from('ls\r'))).toBeUndefined()
      await expect.poll(serialText).toBe('guest: up\r\nuptime\rls\r')
      await hub.close()
    })
  })

  it('goes on where an agent was cut off that had only started it', async () => {
    await rig.backend.prepareRootDisk(vm, SPEC, rig.image, live())
    await writeFile(vm.seed, '')
    const leaving = new AbortController()
    onHit((point) => {
      if (point === 'ch.create') leaving.abort(new Error('the agent stops'))
    })
    const boot = rig.backend.boot({ vm, spec: SPEC, image: rig.image, machine: '' }, leaving.signal)
    await expect(boot).rejects.toThrow('the agent stops')
    onHit(undefined)
    const [pid] = await pidsIn(vm.dir)
    expect(await rig.open().running(vm)).toBeUndefined()
    await again()
    expect(await pidsIn(vm.dir)).toEqual([pid])
    expect(await rig.backend.running(vm)).toBeDefined()
  })

  describe('under an agent that is killed', () => {
    /** Every step there is, the rare ones included. */
    async function life(): Promise<void> {
      const broken = { ...rig.image, file: '/nowhere' } as typeof rig.image
      const backend = rig.open()
      await backend.preflight(live())
      await backend.prepareRootDisk(vm, SPEC, broken, live()).catch((error) => {
        if ((error as Error).message === 'killed') throw error
      })
      await bootFirst({ ...rig, backend }, vm)
      await expect.poll(serialText).not.toBe('')
      await press(vm, 'vm.pause')
      await rig.misbehave(vm, { deaf: true })
      await backend.shutdown(vm, { graceMs: 100, hurry: calm() }, live())
      await backend.boot({ vm, spec: SPEC, image: rig.image, machine: '' }, live())
      await rig.misbehave(vm, { answers: { 'vm.shutdown': 'close' } })
      await backend.shutdown(vm, { graceMs: 0, hurry: calm() }, live())
      await backend.boot({ vm, spec: SPEC, image: rig.image, machine: '' }, live())
      await backend.destroy(vm)
    }
    const points = FAILPOINTS.filter((name) => /^(ch|ch-disk|serial|vmm)\./.test(name) && !QEMU_ONLY.has(name))

    it.each(points)('at %s, the next agent finds one process or none, and finishes', async (point) => {
      for (const phase of phasesOf(point)) {
        expect(await cutAt(point, phase), `${point} ${phase} is reached`).toBe(true)
        expect((await pidsIn(vm.dir)).length).toBeLessThanOrEqual(1)
        await rig.misbehave(vm, {})
        await bootFirst({ ...rig, backend: rig.open() }, vm)
        expect(await pidsIn(vm.dir)).toHaveLength(1)
        await rig.open().destroy(vm)
        expect(await pidsIn(vm.dir)).toEqual([])
        expect([...rig.taps.names]).toEqual([])
      }
    })

    /** Lives until the point is hit; from then on the agent does nothing more. False = it never was. */
    async function cutAt(point: string, phase: Phase): Promise<boolean> {
      let dead = false
      onHit((at, when) => {
        dead ||= at === point && when === phase
        if (dead && when !== 'between') throw new Error('killed')
      })
      await life().catch(() => {})
      onHit(undefined)
      return dead
    }
  })

  it('that hangs after an agent lost its note is still a guest that runs', async () => {
    await bootFirst(rig, vm)
    await rm(rig.note(vm))
    const backend = rig.open({ deadlineMs: 200 })
    expect(await backend.running(vm)).toBeDefined()
    process.kill((await pidsIn(vm.dir))[0]!, 'SIGSTOP')
    expect(await backend.running(vm)).toBeDefined()
  })

  it.each(['killed', 'ended'])('runs on when its agent is %s, and so does its guest', async (end) => {
    const program = join(import.meta.dirname, '../../support/cloud-hypervisor/boot-and-die.ts')
    const { code, stderr } = await run('ch.ask-tool', process.execPath, [program, rig.stateDir, end], {
      timeoutMs: 60_000,
    })
    expect([code, stderr]).toEqual([end === 'killed' ? null : 0, ''])
    const [pid] = await pidsIn(vm.dir)
    expect(await rig.backend.running(vm)).toMatchObject({ identity: { pid } })
    expect(await press(vm, 'vm.pause')).toBe(204)
  })

  it('of an earlier life that nobody noted is found by asking it, and no other process is', async () => {
    await bootFirst(rig, vm)
    const [pid] = await pidsIn(vm.dir)
    await rm(rig.note(vm))
    const elsewhere = { ...linuxProcesses(), cwd: () => '/somewhere/else', pidsIn: () => [] }
    expect(await rig.open({ processes: elsewhere }).running(vm)).toBeUndefined()
    await rig.open().destroy(vm)
    expect(linuxProcesses().identify(pid!)).toBeUndefined()
  })
})

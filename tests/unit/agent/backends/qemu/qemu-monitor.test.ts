import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isClean } from '../../../../../src/agent/backends/qemu/qemu-ending.ts'
import { HUNG_MS, QemuMonitor } from '../../../../../src/agent/backends/qemu/qemu-monitor.ts'
import { stopQemu } from '../../../../../src/agent/backends/qemu/qemu-stop.ts'
import type { QmpDeadlines } from '../../../../../src/agent/backends/qemu/qmp-client.ts'
import type { Processes } from '../../../../../src/agent/os/process.ts'
import { connectUnix } from '../../../../../src/agent/os/unix-socket.ts'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import {
  begins,
  done,
  FakeQmp,
  hangsUp,
  polite,
  type QmpStep,
  says,
  silent,
  takes,
  tells,
} from '../../../../support/fake-qmp.ts'
import { FakeClock } from '../../reconcile/rig.ts'

const identity = { pid: 77, startTime: '1', bootId: 'boot' }
const noRoom = async () => false
const room = async () => true

describe('what a QEMU tells of its guest', () => {
  let dir: string
  let peer: FakeQmp
  let monitor: QemuMonitor
  let clock: FakeClock
  /** What broke each monitor that closed by itself. */
  let closings: string[]
  let deadlines: QmpDeadlines
  let resumes: number
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-qmp-'))
    clock = new FakeClock()
    closings = []
    resumes = 0
    deadlines = { greetingMs: 10_000, commandMs: 10_000 }
  })
  afterEach(async () => {
    monitor.close()
    await peer.close()
    await rm(dir, { recursive: true })
    expect(peer.problems).toEqual([])
  })

  /** A peer with one script per connection, not attached to yet. */
  const facing = async (...scripts: QmpStep[][]) => {
    peer = await FakeQmp.listen(join(dir, 'q'), ...scripts)
    monitor = new QemuMonitor({
      vmId: 'web',
      pid: 77,
      clock,
      connect: () => connectUnix(dir, 'q', 1_000),
      onClosed: (broken) => closings.push(broken),
      onResume: () => resumes++,
      deadlines,
    })
  }
  /** Everything sent so far is taken in once a later answer is. */
  const settled = async () => void (await (await monitor.attach()).execute('x'))
  const complaint = () => monitor.complaint(clock.mono)

  describe('that it goes on after standing still', () => {
    it('is not undone by an answer that was overtaken', async () => {
      const overtaken: QmpStep = async (line) => {
        line.send({ event: 'STOP' })
        const { id } = (await line.next())!
        // In one piece, as they come from a guest that is let go on at once.
        line.socket.write(
          [
            { return: { status: 'paused' }, id },
            { event: 'RESUME', data: {}, timestamp: { seconds: 0, microseconds: 0 } },
          ]
            .map((message) => `${JSON.stringify(message)}\r\n`)
            .join(''),
        )
      }
      await facing([begins, overtaken, polite])
      await monitor.look(noRoom)
      await monitor.look(noRoom)
      expect(resumes).toBe(1)
    })

    it('once for each time, whoever let it', async () => {
      await facing([begins, tells('STOP'), tells('RESUME'), tells('STOP'), tells('RESUME'), polite])
      await settled()
      expect(resumes).toBe(2)
    })

    it('after a full disk too', async () => {
      await facing([
        begins,
        ...[tells('BLOCK_IO_ERROR', { action: 'stop', nospace: true }), tells('STOP'), tells('RESUME'), polite],
      ])
      await settled()
      expect(resumes).toBe(1)
    })

    it('not when it only starts, resets or was never seen standing', async () => {
      await facing([begins, tells('RESUME'), tells('RESET', { guest: true }), polite])
      await settled()
      expect(resumes).toBe(0)
    })

    it('also when it went on while nobody listened', async () => {
      await facing([begins, tells('STOP'), hangsUp], [begins, polite])
      await monitor.attach().catch(() => {})
      await expect.poll(() => closings).toHaveLength(1)
      expect(resumes).toBe(0)
      await settled()
      expect(resumes).toBe(1)
    })
  })

  describe('by its events', () => {
    it('a reset by the host, as at the start, is no trouble however often it comes', async () => {
      const resets = Array.from({ length: 9 }, () => tells('RESET', { guest: false, reason: 'host-qmp-system-reset' }))
      await facing([begins, ...resets, polite])
      await settled()
      expect(complaint()).toBeUndefined()
    })

    it('five resets by the guest within two minutes are, until two minutes went by', async () => {
      await facing([begins, ...Array.from({ length: 5 }, () => tells('RESET', { guest: true })), polite])
      await settled()
      expect(complaint()).toEqual({ code: 'vm/resetting', detail: '5 times within 2 minutes', paused: false })
      clock.advance(120_000)
      expect(complaint()).toBeUndefined()
    })

    it('a panicked kernel is named while its process lives, and a reset ends that', async () => {
      await facing([begins, tells('GUEST_PANICKED', { action: 'pause' }), tells('STOP'), polite])
      await settled()
      expect(complaint()).toMatchObject({ code: 'vm/panicked', paused: true })
      peer.event('RESET', { guest: false })
      await settled()
      expect(complaint()).toBeUndefined()
      expect(monitor.ending).toBeUndefined()
    })

    it('a disk the host has no room for is named, and the pause that follows does not hide it', async () => {
      await facing([begins, tells('BLOCK_IO_ERROR', { action: 'stop', nospace: true }), tells('STOP'), polite])
      await settled()
      expect(complaint()).toEqual({ code: 'vm/io-error', detail: 'no space left', paused: true })
    })

    it('an error of the disk that the guest is told of is none of ours', async () => {
      await facing([begins, tells('BLOCK_IO_ERROR', { action: 'report', nospace: false }), polite])
      await settled()
      expect(complaint()).toBeUndefined()
    })

    it.each([
      ['guest-shutdown', 'the guest powered itself off', true],
      ['guest-panic', 'the kernel of the guest panicked', false],
      ['host-qmp-quit', 'it was ended over its monitor', false],
      ['host-signal', 'its process was told to end', false],
      ['of-later-days', 'of-later-days', false],
    ])('SHUTDOWN by %s without a STOP is kept as the ending', async (reason, words, clean) => {
      await facing([begins, tells('SHUTDOWN', { reason }), hangsUp])
      await monitor.attach()
      await monitor.drained()
      expect(monitor.ending).toEqual({ reason, words })
      expect(isClean(monitor.ending)).toBe(clean)
    })

    it('the first ending told stands: the quit after a power-off is not the cause', async () => {
      const reasons = ['guest-shutdown', 'host-qmp-quit'].map((reason) => tells('SHUTDOWN', { reason }))
      await facing([begins, ...reasons, hangsUp])
      await monitor.attach()
      await monitor.drained()
      expect(monitor.ending?.reason).toBe('guest-shutdown')
    })

    it('a panic told before SHUTDOWN is the ending even when that says something else', async () => {
      await facing([begins, tells('GUEST_PANICKED', { action: 'poweroff' }), tells('SHUTDOWN'), hangsUp])
      await monitor.attach()
      await monitor.drained()
      expect(monitor.ending?.reason).toBe('guest-panic')
    })
  })

  describe('when it is attached to again', () => {
    it.each([
      ['guest-panicked', 'vm/panicked'],
      ['io-error', 'vm/io-error'],
      ['internal-error', 'vmm/failed'],
    ])('a guest found in %s is in trouble without any event', async (status, code) => {
      await facing([begins, polite])
      peer.status = status
      await monitor.attach()
      expect(complaint()).toMatchObject({ code, paused: true })
    })

    it('it says what really runs the guest', async () => {
      await facing([begins, polite])
      peer.kvm = true
      expect(monitor.acceleration).toBe('')
      await monitor.attach()
      expect(monitor.acceleration).toBe('kvm')
    })

    it('what broke its monitor is told, and the next connection is a fresh one', async () => {
      await facing([begins, takes('x'), says('garbage\n'), silent], [begins, polite])
      await expect(settled()).rejects.toThrow('its monitor closed')
      expect(closings).toEqual(['a line that is no message'])
      await settled()
      expect(peer.connections).toBe(2)
    })
  })

  describe('when it is looked at', () => {
    it('a silent one is hung after 20 s, is asked nothing more meanwhile, and is well again with its answer', async () => {
      const gate = Promise.withResolvers<void>()
      const late: QmpStep = async (line) => {
        const asked = await line.next()
        await gate.promise
        line.send({ return: { status: 'running' }, id: asked?.id })
      }
      await facing([begins, late, polite])
      await monitor.attach()
      deadlines.commandMs = 1
      await monitor.look(noRoom)
      clock.advance(HUNG_MS - 1)
      expect(complaint()).toBeUndefined()
      clock.advance(1)
      for (let i = 0; i < 3; i++) await monitor.look(noRoom)
      expect(complaint()).toEqual({ code: 'vm/hung', detail: '', paused: false })
      gate.resolve()
      await expect.poll(complaint).toBeUndefined()
      expect(peer.commands.filter((command) => command === 'query-status')).toHaveLength(2)
    })

    it('one that greets nobody is hung too', async () => {
      await facing([silent])
      void monitor.look(noRoom)
      await expect.poll(() => peer.connections).toBe(1)
      clock.advance(HUNG_MS)
      expect(complaint()?.code).toBe('vm/hung')
    })

    it('a guest paused by a full disk is left paused while there is no room', async () => {
      await facing([begins, polite])
      peer.status = 'io-error'
      await monitor.look(noRoom)
      expect(peer.commands).not.toContain('cont')
      expect(complaint()?.code).toBe('vm/io-error')
    })

    it('and is let go on once there is', async () => {
      const goesOn: QmpStep = async (line) => {
        await takes('query-status', done({ status: 'io-error' }))(line)
        await takes('cont', done())(line)
        line.peer.status = 'running'
        line.send({ event: 'RESUME' })
      }
      await facing([begins, goesOn, polite])
      peer.status = 'io-error'
      await monitor.look(room)
      expect(complaint()).toBeUndefined()
    })

    it('a guest somebody paused on purpose is never let go on', async () => {
      await facing([begins, polite])
      peer.status = 'paused'
      await monitor.look(room)
      expect(peer.commands).not.toContain('cont')
    })
  })

  describe('when it is stopped', () => {
    let alive: boolean
    let signals: string[]
    beforeEach(() => {
      alive = true
      signals = []
    })
    const stop = (graceMs: number) => {
      const processes = {
        alive: () => alive,
        signal: (_point: string, _who: object, signal: string) => {
          signals.push(signal)
          alive = false
          return true
        },
      } as unknown as Processes
      // Sleeping is what moves this clock: no wait of a stop takes time.
      const brisk = Object.assign(clock, { sleep: async (ms: number) => clock.advance(ms) })
      const options = { graceMs, hurry: new AbortController().signal }
      return stopQemu({ processes, clock: brisk, log: silentLog }, identity, monitor, options, options.hurry)
    }

    it('the end of its monitor in place of an answer to quit is no reason to kill it', async () => {
      const ends: QmpStep = async (line) => {
        await takes('quit')(line)
        line.socket.destroy()
        alive = false
      }
      await facing([begins, ends])
      await stop(0)
      expect(signals).toEqual([])
    })

    it('one that answers quit and does not end is killed', async () => {
      await facing([begins, polite])
      await stop(0)
      expect(signals).toEqual(['SIGKILL'])
    })

    it('the power button of a panicked guest is not pressed: it goes at once to quit', async () => {
      await facing([begins, polite])
      peer.status = 'guest-panicked'
      await stop(60_000)
      expect(peer.commands).not.toContain('system_powerdown')
      expect(peer.commands).toContain('quit')
    })

    it('a paused guest is let run before its power button is pressed', async () => {
      const obeys: QmpStep = async (line) => {
        await takes('query-status', done({ status: 'paused' }))(line)
        await takes('cont', done())(line)
        await takes('system_powerdown', done())(line)
        line.send({ event: 'SHUTDOWN', data: { reason: 'guest-shutdown' } })
        alive = false
        line.socket.destroy()
      }
      await facing([begins, obeys])
      peer.status = 'paused'
      await stop(60_000)
      expect(signals).toEqual([])
      expect(monitor.ending?.reason).toBe('guest-shutdown')
    })
  })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { cwdOf, darwinProcesses, pidsWith, startOf } from '../../../../src/agent/os/darwin-processes.ts'
import { type Look, look } from '../../../../src/agent/os/exec.ts'
import type { Kill } from '../../../../src/agent/os/process.ts'

const LSTART = 'Ss   Mon Nov 30 15:58:02 2026'
const START = String(Date.UTC(2026, 10, 30, 15, 58, 2) / 1000)

/** A Mac with one process, 77, whose answers and signals a test can bend. */
function mac() {
  const host = {
    ps: { code: 0, stdout: `${LSTART}\n` },
    boot: 'B007-ID\n',
    now: 0,
    looks: [] as string[],
    signals: [] as string[],
    refuse: undefined as string | undefined,
  }
  const answer: Look = (command) => {
    host.looks.push(command)
    if (command === 'sysctl') return { code: 0, stdout: host.boot }
    return command === 'ps' ? host.ps : { code: 0, stdout: 'p77\nfcwd\nn/vms/a\n' }
  }
  const kill: Kill = (pid, signal) => {
    const code = pid === 77 ? host.refuse : 'ESRCH'
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    if (signal !== 0) host.signals.push(signal)
  }
  const processes = darwinProcesses({ look: answer, kill, monotonic: () => host.now, now: () => 1_000_000_000_000 })
  return { host, processes, identity: processes.identify(77)! }
}

describe('processes of macOS', () => {
  it('are told apart by pid, start second and boot session', () => {
    const { identity, processes } = mac()
    expect(identity).toEqual({ pid: 77, startTime: START, bootId: 'B007-ID' })
    expect(processes.alive(identity)).toBe(true)
    expect(processes.alive({ ...identity, startTime: '1' })).toBe(false)
    expect(processes.identify(78)).toBeUndefined()
    for (const pid of [0, 1, -77, 1.5, Number.NaN]) expect(processes.identify(pid)).toBeUndefined()
  })

  it('of an earlier boot are not alive and get no signal', () => {
    const { host, identity, processes } = mac()
    const earlier = { ...identity, bootId: 'BEFORE' }
    expect(processes.alive(earlier)).toBe(false)
    expect(processes.signal('vmm.kill', earlier, 'SIGKILL')).toBe(false)
    expect(host.signals).toEqual([])
  })

  it('get a signal only after a fresh look, since the pid may be another’s by now', () => {
    const { host, identity, processes } = mac()
    expect(processes.signal('vmm.kill', identity, 'SIGTERM')).toBe(true)
    host.ps = { code: 0, stdout: LSTART.replace(':02 ', ':09 ') }
    expect(processes.signal('vmm.kill', identity, 'SIGKILL')).toBe(false)
    expect(host.signals).toEqual(['SIGTERM'])
  })

  it('that may not be signalled say so, and are alive', () => {
    const { host, identity, processes } = mac()
    host.refuse = 'EPERM'
    expect(() => processes.signal('vmm.kill', identity, 'SIGKILL')).toThrow('EPERM')
    expect(processes.alive(identity)).toBe(true)
  })

  it('that are gone are seen without ps, at once', () => {
    const { host, identity, processes } = mac()
    host.refuse = 'ESRCH'
    const looks = host.looks.length
    expect(processes.alive(identity)).toBe(false)
    expect(host.looks.slice(looks)).toEqual([])
  })

  it('are looked at again after ten seconds, not before', () => {
    const { host, identity, processes } = mac()
    const looks = () => host.looks.filter((command) => command === 'ps').length
    host.now = 9_999
    processes.alive(identity)
    expect(looks()).toBe(1)
    host.now = 10_000
    processes.alive(identity)
    expect(looks()).toBe(2)
  })

  it('are not taken for gone when nobody could look', () => {
    const { host, processes } = mac()
    for (const ps of [
      { code: 1, stdout: 'ps: out of memory' },
      { code: 0, stdout: '' },
      { code: 0, stdout: 'Ss gibberish' },
    ]) {
      host.ps = ps
      expect(() => processes.identify(77)).toThrow('ps says')
    }
    expect(() => look('/no/such/program', [])).toThrow('ENOENT')
  })

  it('that ended or are zombies are gone', () => {
    expect(startOf({ code: 1, stdout: '' })).toBeUndefined()
    expect(startOf({ code: 0, stdout: LSTART.replace('Ss', 'Z+') })).toBeUndefined()
  })

  it('have an age and a directory', () => {
    const { identity, processes } = mac()
    expect(processes.ageMs(identity)).toBe(1_000_000_000_000 - Number(START) * 1000)
    expect(processes.cwd(77)).toBe('/vms/a')
    expect(cwdOf('p77\nfcwd\n')).toBeUndefined()
  })

  it('are found by an argument and the directory they work in', () => {
    const look: Look = (command, args) => {
      if (command === 'ps')
        return { code: 0, stdout: '   77 vfkit --pidfile /vms/a/p\n  78 vfkit --pidfile /vms/a/p2\n' }
      return { code: 0, stdout: `p${args[2]}\nfcwd\nn${args[2] === '77' ? '/vms/a' : '/vms/b'}\n` }
    }
    const processes = darwinProcesses({ look })
    expect(processes.pidsIn!('/vms/a', '/vms/a/p')).toEqual([77])
    expect(processes.pidsIn!('/vms/b', '/vms/a/p')).toEqual([])
    expect(pidsWith('77 a --x\n', '--y')).toEqual([])
  })

  it('need a boot session', () => {
    const look: Look = () => ({ code: 0, stdout: '' })
    expect(() => darwinProcesses({ look }).bootId()).toThrow('kern.bootsessionuuid')
  })

  it('are seen by the real ps, whatever time zone this computer is in', async () => {
    const zone = process.env['TZ']
    const child = spawn('sleep', ['60'])
    const sysctl: Look = (command, args) => (command === 'sysctl' ? { code: 0, stdout: 'x' } : look(command, args))
    try {
      const started = ['Asia/Tokyo', 'America/Lima'].map((tz) => {
        process.env['TZ'] = tz
        return darwinProcesses({ look: sysctl }).identify(child.pid!)
      })
      expect(started[0]).toBeDefined()
      expect(started[1]).toEqual(started[0])
      expect(Math.abs(darwinProcesses({ look: sysctl }).ageMs(started[0]!))).toBeLessThan(60_000)
    } finally {
      if (zone === undefined) delete process.env['TZ']
      else process.env['TZ'] = zone
      child.kill()
      await once(child, 'exit')
    }
  })
})

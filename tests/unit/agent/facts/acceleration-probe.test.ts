import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { devNull, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { probeAcceleration, probeSector } from '../../../../src/agent/facts/acceleration-probe.ts'
import type { Run, RunResult } from '../../../../src/agent/os/exec.ts'

const RAN = 33
const result = (change: Partial<RunResult>): RunResult => ({
  code: 0,
  stdout: '',
  stderr: '',
  timedOut: false,
  ...change,
})
const answering =
  (byAccel: { kvm: RunResult | Error; tcg: RunResult | Error }, seen: string[] = []): Run =>
  async (_point, _program, args) => {
    const accel = args[args.indexOf('-accel') + 1] === 'kvm' ? 'kvm' : 'tcg'
    seen.push(accel)
    const answer = byAccel[accel]
    if (answer instanceof Error) throw answer
    return answer
  }
let parent: string
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'eitri-probe-'))
})
afterEach(() => rmSync(parent, { recursive: true }))
const probe = (run: Run, kvmDevice = devNull) =>
  probeAcceleration({ run, qemu: 'qemu', arch: 'x64', dir: join(parent, 'probe'), kvmDevice })

describe('the acceleration probe', () => {
  it('is one boot sector with its signature', () => {
    const sector = probeSector()
    expect(sector.length).toBe(512)
    expect([...sector.subarray(510)]).toEqual([0x55, 0xaa])
  })

  it('says kvm only when a guest really ran there', async () => {
    const seen: string[] = []
    expect(await probe(answering({ kvm: result({ code: RAN }), tcg: result({}) }, seen))).toEqual({
      kind: 'kvm',
      detail: '',
    })
    expect(seen).toEqual(['kvm'])
  })

  it('a device that opens but runs nothing in time is no KVM, and the detail says why', async () => {
    const slow = result({ code: null, timedOut: true })
    expect(await probe(answering({ kvm: slow, tcg: result({ code: RAN }) }))).toEqual({
      kind: 'tcg',
      detail: 'KVM did not run a one-sector guest within 2 s.',
    })
    const refused = result({ code: 1, stderr: 'x\nioctl(KVM_CREATE_VM) failed: \x1b[31m16\n' })
    expect((await probe(answering({ kvm: refused, tcg: result({ code: RAN }) }))).detail).toBe(
      'KVM did not run a guest: ioctl(KVM_CREATE_VM) failed: 16.',
    )
  })

  it('does not start a guest on a KVM that is not there', async () => {
    const seen: string[] = []
    const found = await probe(answering({ kvm: result({}), tcg: result({ code: RAN }) }, seen), '/nonexistent/kvm')
    expect(found).toMatchObject({ kind: 'tcg', detail: expect.stringContaining('There is no /nonexistent/kvm') })
    expect(seen).toEqual(['tcg'])
  })

  it('is empty, with words, when nothing runs', async () => {
    const absent = Object.assign(new Error('spawn'), { code: 'ENOENT' })
    expect(await probe(answering({ kvm: absent, tcg: absent }))).toEqual({ kind: '', detail: 'qemu is not installed.' })
  })

  it.each([
    ['ends the guest that an agent which was killed left in it', 'probe', 'SIGKILL'],
    ['lets be what only has the pid of such a guest', '.', null],
  ])('%s', async (_, where, signal) => {
    const dir = join(parent, 'probe')
    mkdirSync(dir)
    const left = spawn('/bin/sleep', ['60'], { cwd: join(parent, where) })
    const ended = once(left, 'exit')
    writeFileSync(join(dir, 'qemu.pid'), `${left.pid}\n`)
    await probe(answering({ kvm: result({ code: RAN }), tcg: result({}) }))
    if (signal === null) expect(left.kill('SIGTERM')).toBe(true)
    expect((await ended)[1]).toBe(signal ?? 'SIGTERM')
  })

  it('leaves no file behind', async () => {
    const images: string[] = []
    await probe(async (_point, _program, args) => {
      images.push(
        args
          .find((arg) => arg.startsWith('file='))!
          .slice(5)
          .split(',')[0]!,
      )
      expect(existsSync(images[0]!)).toBe(true)
      return result({ code: RAN })
    })
    expect(readdirSync(parent)).toEqual([])
  })
})

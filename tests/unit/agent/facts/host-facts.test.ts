import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostLooker } from '../../../../src/agent/facts/host-facts.ts'
import type { RunResult } from '../../../../src/agent/os/exec.ts'

const RAN = 33
const result = (change: Partial<RunResult>): RunResult => ({
  ...{ code: 0, stdout: '', stderr: '', timedOut: false },
  ...change,
})

let stateDir: string
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'eitri-facts-'))
})
afterEach(() => rmSync(stateDir, { recursive: true }))

/** A host whose probe ends when the test says so. */
function looker() {
  const probe = Promise.withResolvers<RunResult>()
  const facts = new HostLooker({
    stateDir,
    needed: ['qemu-img'],
    hypervisor: 'qemu-of-a-test',
    run: async (_point, _program, args) =>
      args[0] === '--version' ? result({ stdout: 'QEMU emulator version 7.2\n' }) : probe.promise,
  })
  return { facts, end: (outcome: RunResult) => probe.resolve(outcome) }
}

describe('facts of a host', () => {
  it('do not wait for the probe, and say that it still runs', async () => {
    const { facts, end } = looker()
    expect(await facts.host()).toMatchObject({
      acceleration: '',
      accelerationDetail: '',
      accelerationPending: true,
      vmmVersion: 'QEMU emulator version 7.2',
    })
    end(result({ code: RAN }))
    expect(await facts.whole()).toMatchObject({
      acceleration: expect.stringMatching(/^(kvm|tcg)$/),
      accelerationPending: false,
    })
    expect(await facts.host()).toMatchObject({ accelerationPending: false })
  })

  it('keep the words for a host where nothing runs while it is probed again', async () => {
    const { facts, end } = looker()
    end(result({ code: 1, stderr: 'no luck' }))
    const { accelerationDetail } = await facts.whole()
    expect(accelerationDetail).toContain('no luck')
    expect(await facts.host()).toMatchObject({ acceleration: '', accelerationDetail, accelerationPending: true })
  })
})

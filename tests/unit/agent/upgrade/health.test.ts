import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { HEALTHY_WITHIN_MS, HealthJudge, type Sight } from '../../../../src/agent/upgrade/health.ts'
import { GetStatusResponseSchema } from '../../../../src/ipc/gen/eitri/agent/v1/host_pb.js'

const NEW = { target: '/l/2.0.0/eitri-agent', version: '2.0.0', digest: 'd' }
const silent = { running: false, reason: 'missing' } as const
const says = (attached: boolean, pid = 7, agentVersion = '2.0.0', agentDigest = 'd') => ({
  running: true as const,
  status: create(GetStatusResponseSchema, { agentVersion, agentDigest, pid, attached }),
})
const judge = (...sights: Sight[]) => {
  const health = new HealthJudge(NEW)
  return sights.map((sight) => health.look(sight)).at(-1)
}

describe('a new agent', () => {
  it('is well once a control plane has been attached to it for three seconds on end', () => {
    expect(judge({ atMs: 1_000, answer: says(true) }, { atMs: 3_900, answer: says(true) })).toBe('wait')
    expect(judge({ atMs: 1_000, answer: says(true) }, { atMs: 4_000, answer: says(true) })).toBe('healthy')
  })

  it('is not well yet when it lost its session or is another process in between', () => {
    const at = (atMs: number, attached: boolean, pid = 7) => ({ atMs, answer: says(attached, pid) })
    expect(judge(at(0, true), at(2_000, false), at(3_500, true))).toBe('wait')
    expect(judge(at(0, true), at(2_000, true, 8), at(3_500, true, 8))).toBe('wait')
  })

  it('is not the old one, and not another build of its version', () => {
    for (const answer of [says(true, 7, '1.0.0'), says(true, 7, '2.0.0', 'other')])
      expect(judge({ atMs: 0, answer }, { atMs: 5_000, answer })).toBe('wait')
  })

  it('that ended and that nobody starts again is given up with its last words', () => {
    const died = (atMs: number): Sight => ({ atMs, answer: silent, died: 'boom' })
    expect(judge(died(500), died(3_400))).toBe('wait')
    expect(judge(died(500), died(3_500))).toEqual({ failed: 'it ended: boom' })
    expect(judge(died(500), { atMs: 2_000, answer: says(false), died: 'boom' }, died(4_000))).toBe('wait')
  })

  it.each([
    ['did not answer', [silent], 'it did not answer within 60 s'],
    ['answered once', [says(false), silent], 'it answered once and then no longer within 60 s'],
    ['has no control plane', [says(false)], 'it answers, but no control plane could attach to it within 60 s'],
  ])('that %s within its time is given up, and it is said how', (_, answers, failed) => {
    const sights = answers.map((answer, n) => ({ atMs: n, answer }))
    const last = { atMs: HEALTHY_WITHIN_MS, answer: answers.at(-1)! }
    expect(judge(...sights, { ...last, atMs: HEALTHY_WITHIN_MS - 1 })).toBe('wait')
    expect(judge(...sights, last)).toEqual({ failed })
  })
})

import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { AuditEntrySchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import { ClockActSchema, GuestClockSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/clock_pb.js'
import { HistorySampleSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/metrics_pb.js'
import { VmSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { clockStory, MAX_EVENTS } from '../../../../../src/renderer/features/clock/clock-story.ts'
import { AT_ONCE, resyncedWords, resyncMany } from '../../../../../src/renderer/features/clock/resync-many.ts'
import { clockRows, resumeCheck, sinceWords } from '../../../../../src/renderer/features/clock/view-model.ts'
import { type History, sampleOf } from '../../../../../src/renderer/features/metrics/series.ts'

const MINUTE = 60_000
const T = new Date(2026, 10, 30, 12).getTime()

/** Offsets in ms, one each minute; undefined = not measured. */
const history = (offsets: (number | undefined)[]): History => ({
  ...{ stepMs: MINUTE, spanMs: 24 * 60 * MINUTE },
  askedAt: T + offsets.length * MINUTE,
  samples: offsets.flatMap((ms, i) =>
    ms === undefined
      ? []
      : [
          sampleOf(
            create(HistorySampleSchema, { at: timestampFromMs(T + i * MINUTE), clockOffsetUs: BigInt(ms * 1000) }),
          ),
        ],
  ),
})
const story = (change: Partial<Parameters<typeof clockStory>[0]>) =>
  clockStory({ history: undefined, act: undefined, asked: [], startedAtMs: undefined, ...change }).map(
    ({ atMs, text }) => [(atMs - T) / MINUTE, text],
  )

describe('what happened to a clock', () => {
  it('are the turns of its offset, newest first', () => {
    expect(story({ history: history([1, 2, -41_200, -41_200, -300, 3]) })).toEqual([
      [5, 'In step again after 3 min.'],
      [4, 'Drifting: 300 ms behind.'],
      [2, 'Jumped: 41.2 s behind.'],
    ])
  })

  it('are the times in which nobody measured it', () => {
    expect(story({ history: history([1, 1, ...Array.from({ length: 8 }, () => undefined), 1]) })).toEqual([
      [2, 'Not measured for 8 min.'],
    ])
  })

  it('are what was done, who asked, and its start', () => {
    const act = create(ClockActSchema, {
      ...{ cause: 'resume', means: 'set_time', result: 'done', offsetBeforeUs: -41_200_000n, offsetAfterUs: 2000n },
      at: timestampFromMs(T + 5 * MINUTE),
    })
    const asked = [
      create(AuditEntrySchema, {
        ...{ action: 'vm.set_clock', user: 'ops', detail: { result: 'failed' }, at: timestampFromMs(T + 4 * MINUTE) },
      }),
      create(AuditEntrySchema, { action: 'vm.start', user: 'ops', at: timestampFromMs(T) }),
    ]
    expect(story({ act, asked, startedAtMs: T })).toEqual([
      [5, 'Set (after it was resumed, was 41.2 s behind, then 2 ms ahead).'],
      [4, 'ops asked for a re-sync, which failed.'],
      [0, 'Started.'],
    ])
  })

  it('are nothing while nothing is known, and never more than a page', () => {
    expect(story({})).toEqual([])
    const flapping = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? 0 : 500))
    expect(story({ history: history(flapping) }).length).toBe(MAX_EVENTS)
  })
})

describe('the look after a guest stood still', () => {
  const clock = (cause: string, result: string, means = 'set_time') =>
    create(GuestClockSchema, { lastAct: { cause, result, means, at: timestampFromMs(T) } })

  it('is good once it was seen right, bad when it could not be set, and busy meanwhile', () => {
    expect(resumeCheck(clock('resume', 'done'), T)).toMatchObject({ word: 'In step 12:00:00', tone: 'good' })
    expect(resumeCheck(clock('host_wake', 'failed'), T)).toMatchObject({ word: 'Not set 12:00:00', tone: 'bad' })
    expect(resumeCheck(clock('stall', ''), T)).toMatchObject({ word: 'Being checked', tone: 'busy' })
    expect(resumeCheck(clock('restore', 'failed', 'none'), T)).toMatchObject({ word: 'Left alone 12:00:00' })
  })

  it('says since when a clock is off that nobody set right', () => {
    expect(sinceWords(clock('resume', 'failed'), T)).toBe(' since it was resumed at 12:00:00')
    expect([sinceWords(clock('resume', 'done'), T), sinceWords(clock('asked', 'failed'), T)]).toEqual(['', ''])
  })

  it('is nothing for one that never stood still', () => {
    expect([resumeCheck(undefined, T), resumeCheck(clock('offset', 'done'), T)]).toEqual([undefined, undefined])
  })
})

describe('rows of clocks', () => {
  it('are the same ones as before while nothing of them changes, until the minute does', () => {
    const vm = create(VmSchema, { id: 'v', name: 'db', power: 'running' })
    const [first] = clockRows([], [vm], T)
    expect(clockRows([], [vm], T)[0]).toBe(first)
    expect(clockRows([], [{ ...vm }], T)[0]).not.toBe(first)
    expect(clockRows([], [vm], T + MINUTE)[0]).not.toBe(first)
  })
})

describe('many clocks set at once', () => {
  const vms = Array.from({ length: 10 }, (_, i) => create(VmSchema, { id: String(i), name: `vm-${i}` }))

  it('are asked for a few at a time, and one that fails keeps no other back', async () => {
    let open = 0
    let most = 0
    const seen: number[] = []
    const set = async ({ name }: { name: string }) => {
      most = Math.max(most, ++open)
      await new Promise((resolve) => setImmediate(resolve))
      open--
      if (name === 'vm-3') throw new Fault('clock/not-running', 'permanent', { vm: name })
    }
    const result = await resyncMany(vms, set, (done) => seen.push(done))
    expect([result.done, result.failed.length, most, seen.at(-1)]).toEqual([9, 1, AT_ONCE, 10])
    expect(resyncedWords(result)).toMatch(/^The clocks of 9 guests are set\. 1 could not be set: .*vm-3/)
  })

  it('are told in one sentence when all are set', () => {
    expect(resyncedWords({ done: 1, failed: [] })).toBe('The clock of 1 guest is set.')
    expect(resyncedWords({ done: 0, failed: ['a.', 'b.', 'c.', 'd.'] })).toBe(
      '4 could not be set: a. b. c. And 1 more.',
    )
  })
})

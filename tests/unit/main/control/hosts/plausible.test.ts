import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { GetHistoryResponseSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/history_pb.js'
import { HelloSchema, ReportSchema, SyncResponseSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { makePlausible, refusedIn } from '../../../../../src/main/control/hosts/plausible.ts'

const LARGEST = BigInt(Number.MAX_SAFE_INTEGER)

describe('what a host says', () => {
  it('has no number larger than every client can count', () => {
    const report = create(ReportSchema, { lastSeenEpoch: 2n ** 64n - 1n, vms: [{ consoleEnd: 2n ** 63n }] })
    makePlausible(ReportSchema, report)
    expect(report).toMatchObject({ lastSeenEpoch: LARGEST, vms: [{ consoleEnd: LARGEST }] })
  })

  it('has no time that is none: it is unknown then, wherever it stands', () => {
    const never = { seconds: 2n ** 62n }
    const report = create(ReportSchema, {
      builtAt: { seconds: 0n, nanos: -1 },
      vms: [
        { vmId: 'a', startedAt: never },
        { vmId: 'b', startedAt: { seconds: 7n } },
      ],
      quarantined: [{ destroyAt: never }],
    })
    const message = create(SyncResponseSchema, { message: { case: 'report', value: report } })
    makePlausible(SyncResponseSchema, message)
    expect(report.builtAt).toBeUndefined()
    expect(report.vms.map((vm) => vm.startedAt?.seconds)).toEqual([undefined, 7n])
    expect(report.quarantined[0]?.destroyAt).toBeUndefined()
  })

  it('has no load that is no number', () => {
    const report = create(ReportSchema, { metrics: { load1: Number.NaN, uptimeS: 3n } })
    makePlausible(ReportSchema, report)
    expect(report.metrics?.load1).not.toBeNaN()
    expect(report.metrics?.uptimeS).toBe(3n)
  })

  it('is otherwise left as it was', () => {
    const value = {
      vms: [{ vmId: 'a', detail: 'x', progress: { step: 1, steps: 2, doneBytes: 3n } }],
      destroyed: ['b'],
    }
    const report = create(ReportSchema, value)
    makePlausible(ReportSchema, report)
    expect(report).toEqual(create(ReportSchema, value))
  })
})

type Said = MessageInitShape<typeof ReportSchema>
const VM = 'ab12cd34'.repeat(4)
const heard = (said: Said) => {
  const report = create(ReportSchema, said)
  makePlausible(ReportSchema, report)
  return { report, refused: refusedIn(report) }
}
/** A kind of value that no machine has, what is said, and what is told of it. */
const LIES: [kind: string, said: Said, refused: string][] = [
  ['a load that is no number', { metrics: { load1: Number.NaN } }, 'NaN for metrics load1'],
  ['an endless load', { metrics: { load15: Number.POSITIVE_INFINITY } }, 'Infinity for metrics load15'],
  ['a negative load', { metrics: { load5: -0.5 } }, '-0.5 for metrics load5'],
  ['more work than all CPUs', { metrics: { cpuBusyPermille: 4_000_000 } }, '4000000 for metrics cpu busy permille'],
  ['more CPUs than are built', { metrics: { cpus: 4_294_967_295 } }, '4294967295 for metrics cpus'],
  [
    'memory past an exbibyte',
    { metrics: { memTotalBytes: 2n ** 64n - 1n } },
    `${2n ** 64n - 1n} for metrics mem total bytes`,
  ],
  ['a disk past an exbibyte', { metrics: { diskFreeBytes: 2n ** 61n } }, `${2n ** 61n} for metrics disk free bytes`],
  ['an uptime of ages', { metrics: { uptimeS: 2n ** 50n } }, `${2n ** 50n} for metrics uptime s`],
  [
    'a counter of a VM',
    { vms: [{ vmId: VM, metrics: { netRxBytes: 2n ** 63n } }] },
    `${2n ** 63n} for VM ab12cd34 metrics net rx bytes`,
  ],
  ['a clock off by centuries', { clock: { offsetUs: -(2n ** 62n) } }, `${-(2n ** 62n)} for clock offset us`],
  [
    'a time that is none',
    { clock: { measuredAt: { seconds: 2n ** 62n } } },
    `a time ${2n ** 62n} s from 1970 for clock measured at`,
  ],
  ['a capacity past all machines', { capacity: { vcpus: 1, memMb: 2n ** 63n } }, `${2n ** 63n} for capacity mem mb`],
  [
    'connections past counting',
    { exposures: [{ sessions: { active: 2n ** 60n } }] },
    `${2n ** 60n} for exposures 1 sessions active`,
  ],
  ['a name that moves the cursor', { facts: { hostname: 'a\x1b[2Jb' } }, '"a\\u001b[2Jb" for facts hostname'],
  ['a name that turns what is around it', { facts: { cpuModel: 'x\u202egnp' } }, '"x\\u202egnp" for facts cpu model'],
  [
    'a name of a megabyte',
    { facts: { os: 'x'.repeat(1_000_000) } },
    `"${'x'.repeat(40)}" and 999960 letters more for facts os`,
  ],
]

describe('a host that lies', () => {
  it.each(LIES)('is told: %s', (_, said, refused) => {
    expect(heard(said).refused).toEqual([refused])
  })

  it('has nothing in the place of what it said where absence can be told', () => {
    const { report } = heard({
      metrics: { load1: Number.NaN, memTotalBytes: 2n ** 63n, uptimeS: 5n },
      capacity: { vcpus: 4, memMb: 1n, diskGb: 2n ** 60n },
      facts: { os: 'a\nb', arch: 'x86_64', missing: ['qemu', 'b\rad'] },
      clock: { offsetUs: 2n ** 62n, state: 'synchronised' },
    })
    expect(report.metrics).toMatchObject({ uptimeS: 5n })
    expect(report.metrics?.load1).toBeUndefined()
    expect(report.metrics?.memTotalBytes).toBeUndefined()
    expect(report.capacity).toBeUndefined()
    expect(report.facts).toMatchObject({ os: '', arch: 'x86_64', missing: ['qemu'] })
    expect(report.clock).toMatchObject({ state: 'synchronised' })
    expect(report.clock?.offsetUs).toBeUndefined()
  })

  it('may say long and odd sentences: they are cut and stripped, which is no lie', () => {
    const { report, refused } = heard({ notices: ['a\x1b[31mb\nc', 'x'.repeat(10_000)] })
    expect(report.notices[0]).toBe('a [31mb\nc')
    expect(report.notices[1]).toHaveLength(4_096)
    expect(refused).toEqual([])
  })

  it('is told at the report and the Hello themselves, also when they come in an envelope', () => {
    const hello = create(HelloSchema, { agentVersion: '1\u0007' })
    makePlausible(SyncResponseSchema, create(SyncResponseSchema, { message: { case: 'hello', value: hello } }))
    expect(refusedIn(hello)).toEqual(['"1\\u0007" for agent version'])
  })

  it('is told of twenty lies at most', () => {
    const metrics = { rssBytes: 2n ** 63n }
    expect(heard({ vms: Array.from({ length: 500 }, () => ({ vmId: VM, metrics })) }).refused).toHaveLength(20)
  })

  it('has no such points in its charts', () => {
    const answer = create(GetHistoryResponseSchema, { samples: [{ memUsedBytes: 2n ** 63n, cpuBusyPermille: 3 }] })
    makePlausible(GetHistoryResponseSchema, answer)
    expect(answer.samples[0]?.memUsedBytes).toBeUndefined()
    expect(answer.samples[0]?.cpuBusyPermille).toBe(3)
  })

  it('whose clock fell back to 1970, or is in 2106, only has a wrong clock', () => {
    const offsetUs = -1_800_000_000_000_000n
    expect(heard({ builtAt: { seconds: 5n }, clock: { offsetUs } })).toMatchObject({
      refused: [],
      report: { clock: { offsetUs } },
    })
  })
})

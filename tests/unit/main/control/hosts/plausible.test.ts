import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ReportSchema, SyncResponseSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { makePlausible } from '../../../../../src/main/control/hosts/plausible.ts'

const LARGEST = BigInt(Number.MAX_SAFE_INTEGER)

describe('what a host says', () => {
  it('has no number larger than every client can count', () => {
    const report = create(ReportSchema, { lastSeenEpoch: 2n ** 64n - 1n, capacity: { vcpus: 1, memMb: 2n ** 63n } })
    makePlausible(ReportSchema, report)
    expect(report).toMatchObject({ lastSeenEpoch: LARGEST, capacity: { vcpus: 1, memMb: LARGEST } })
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

import { describe, expect, it } from 'vitest'
import { buildReport } from '../../../../src/agent/reconcile/report.ts'
import { ID } from './rig.ts'

describe('a report', () => {
  it('RPT-01, RPT-04: has a row that is all unknown, never stopped, for a VM nobody has looked at yet', () => {
    const { vms } = buildReport({
      epoch: 1n,
      fenced: false,
      results: new Map([[ID, undefined]]),
      destroyed: [],
      capacity: undefined,
      images: [],
      imageBytes: () => 0,
      consoleEnd: () => 7n,
      bootId: 'boot-1',
      now: 0,
      notices: [],
    })
    expect(vms).toMatchObject([{ vmId: ID, detail: '', reason: '', ip: '', consoleEnd: 7n }])
    expect([vms[0]?.power, vms[0]?.phase]).toEqual([undefined, undefined])
  })
})

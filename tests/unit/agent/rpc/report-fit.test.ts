import { create, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { fitReport } from '../../../../src/agent/rpc/report-fit.ts'
import { ReportSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'

const big = create(ReportSchema, {
  vms: Array.from({ length: 100 }, (_, i) => ({
    vmId: String(i),
    unowned: true,
    spec: { vmId: String(i), cloudInit: new Uint8Array(1000) },
  })),
  quarantined: [{ vmId: 'q', specJson: 'x'.repeat(1000) }],
  notices: ['one'],
})

describe('a report that must fit one message', () => {
  it('is passed on untouched when it does', () => {
    expect(fitReport(big, 1_000_000)).toBe(big)
  })

  it('loses only the specs meant for people, keeps every row, and says so', () => {
    const small = fitReport(big, 50_000)
    expect(toBinary(ReportSchema, small).length).toBeLessThan(50_000)
    expect(small.vms.map((row) => row.vmId)).toEqual(big.vms.map((row) => row.vmId))
    expect(small.vms.every((row) => row.spec === undefined && row.unowned)).toBe(true)
    expect(small.notices).toEqual([expect.stringContaining('too large'), 'one'])
    expect(big.vms[0]?.spec).toBeDefined()
  })

  it('loses what guests complain of as well when that is not enough, and keeps their states', () => {
    const modules = Array.from({ length: 32 }, () => ({ name: 'm', stage: 'init', detail: 'x'.repeat(300) }))
    const guest = { guestAgent: 'answering', cloudInit: 'error', modules, fleetPayloadDetail: 'y'.repeat(300) }
    const clock = { source: 'guest_agent', offsetUs: 1n, lastAct: { cause: 'resume', detail: 'z'.repeat(300) } }
    const loud = create(ReportSchema, {
      vms: Array.from({ length: 10 }, (_, i) => ({ vmId: String(i), guest, clock })),
    })
    const small = fitReport(loud, 2_000)
    expect(toBinary(ReportSchema, small).length).toBeLessThan(2_000)
    for (const row of small.vms) {
      expect(row.guest).toMatchObject({ guestAgent: 'answering', cloudInit: 'error', modules: [] })
      expect(row.clock).toMatchObject({ offsetUs: 1n, lastAct: { cause: 'resume', detail: '' } })
    }
  })
})

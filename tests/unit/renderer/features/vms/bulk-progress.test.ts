import { describe, expect, it } from 'vitest'
import type { Vm } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { BulkAct } from '../../../../../src/renderer/features/vms/bulk-plan.ts'
import { type BulkItem, bulkItemView, bulkSummary } from '../../../../../src/renderer/features/vms/bulk-progress.ts'
import { at, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = 1_000_000
const item = (change: Partial<BulkItem> = {}): BulkItem => ({
  ...{ id: 'v1', name: 'web-1', hostName: 'rack2-07', asked: 'accepted' },
  ...change,
})
const view = (act: BulkAct['do'], vm: Vm | undefined, change: Partial<BulkItem> = {}) =>
  bulkItemView({ do: act } as BulkAct, item(change), vm, NOW)

describe('how far a VM of a bulk act is', () => {
  it('is done by what its host says, not by what was asked', () => {
    expect(view('stop', aVm({ desiredPower: 'stopped' }))).toMatchObject({ step: 'working', text: 'Stopping' })
    expect(view('stop', aVm({ desiredPower: 'stopped', power: 'stopped' }))).toMatchObject({
      step: 'done',
      text: 'Stopped',
    })
    expect(view('start', aVm({ power: 'stopped' }))).toMatchObject({ step: 'working', text: 'Starting' })
    expect(view('delete', aVm({ deletedAt: at(NOW) })).step).toBe('working')
    expect(view('delete', aVm({ deletedAt: at(NOW), quarantineEndsAt: at(NOW + 1) })).step).toBe('done')
  })

  it('waits for a host that does not answer, and is never called done or failed', () => {
    const silent = aVm({ desiredPower: 'stopped', power: 'stopped', hostUnknown: true })
    expect(view('stop', silent)).toMatchObject({ step: 'held', text: 'waits for rack2-07, which does not answer' })
  })

  it('is failed with the words and the next move of what was refused', () => {
    const fault = { code: 'vm/protected', disposition: 'permanent', params: { vm: 'web-1' }, id: 'x' } as const
    const refused = view('delete', aVm(), { asked: 'refused', fault })
    expect(refused).toMatchObject({ step: 'failed', text: 'web-1 is protected from deletion.' })
    expect(refused.next).toContain('Take that away first')
  })

  it('is failed when its host gave it up', () => {
    const vm = aVm({ power: 'stopped', phase: 'failed', reason: 'vm/crash-loop', detail: 'It ended 3 times.' })
    expect(view('start', vm)).toMatchObject({ step: 'failed', text: 'It ended 3 times.' })
  })

  it('is not failed by what was wrong with it before', () => {
    const vm = aVm({ phase: 'failed', reason: 'vm/crash-loop', deletedAt: at(NOW) })
    expect(view('delete', vm)).toMatchObject({ step: 'working', text: 'deleted; rack2-07 has not confirmed it yet' })
  })

  it('is done when this app keeps the wish alone', () => {
    expect(view('protect', aVm({ hostUnknown: true })).step).toBe('done')
  })

  it('is not asked yet, or not asked any more', () => {
    expect(view('stop', aVm(), { asked: 'waiting' }).step).toBe('waiting')
    expect(view('stop', aVm(), { asked: 'skipped' }).step).toBe('skipped')
    expect(view('stop', undefined).text).toBe('gone')
  })

  it('is summed up without parts that are none', () => {
    const stopping = view('stop', aVm({ desiredPower: 'stopped' }))
    const done = view('stop', aVm({ desiredPower: 'stopped', power: 'stopped' }))
    expect(bulkSummary([done, done, stopping], 'stopped')).toBe('2 stopped · 1 at work')
  })
})

import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../src/ipc/faults.ts'
import { HostSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { VmSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { TIMES } from '../../../../src/ipc/units.ts'
import { HostWord } from '../../../../src/main/cli/host-word.ts'
import { ManualClock } from '../control/a-clock.ts'

const host = (reportedEpoch: bigint) => create(HostSchema, { link: 'connected', epoch: 7n, reportedEpoch })
const vm = (lifecycle: string) => create(VmSchema, { name: 'web', lifecycle })
const fault = () => new Fault('vm/crash-loop', 'permanent')

describe('the failure a VM was asked out of', () => {
  it('is real once its host still reports it two reports after it knew what was asked', async () => {
    const clock = new ManualClock()
    const word = new HostWord(true, clock)
    expect(word.isFailure(vm('failed'), host(6n), fault)).toBe(false)
    await clock.advance(10 * TIMES.reportMs)
    expect(word.believed.signal.aborted).toBe(false)
    expect(word.isFailure(vm('failed'), host(7n), fault)).toBe(false)
    await clock.advance(2 * TIMES.reportMs)
    expect(word.believed.signal.reason).toMatchObject({ code: 'vm/crash-loop' })
  })

  it('is over once the VM was seen otherwise; the next one is told at once', async () => {
    const clock = new ManualClock()
    const word = new HostWord(true, clock)
    word.isFailure(vm('failed'), host(7n), fault)
    expect(word.isFailure(vm('stopped'), host(7n), fault)).toBe(false)
    await clock.advance(2 * TIMES.reportMs)
    expect(word.believed.signal.aborted).toBe(false)
    expect(word.isFailure(vm('failed'), host(7n), fault)).toBe(true)
  })

  it('is told at once where nothing was asked', () => {
    expect(new HostWord(false).isFailure(vm('failed'), host(7n), fault)).toBe(true)
  })
})

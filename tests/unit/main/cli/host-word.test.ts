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

describe('a host that is sent nothing because it has newer data', () => {
  const held = create(HostSchema, { name: 'rack', link: 'connected', reportedEpoch: 9n, newerData: {} })

  it('ends a wait for what was asked, and answers nothing of it', () => {
    expect(new HostWord(true).isAnswer(held)).toBe(false)
    expect(new HostWord(true).silence(held)).toMatchObject({ code: 'host/newer-data', params: { host: 'rack' } })
  })

  it('is heard like any other where nothing was asked', () => {
    expect(new HostWord(false).isAnswer(held)).toBe(true)
    expect(new HostWord(false).silence(held)).toBeUndefined()
  })
})

describe('a host that is not heard', () => {
  const linked = (link: string, code = '') =>
    create(HostSchema, {
      name: 'rack',
      link,
      ...(code ? { linkFault: { id: 'x', code, disposition: 'transient' } } : {}),
    })

  it('ends a wait that begins so, and one that a person has to mend ends every wait', () => {
    expect(new HostWord(false).silence(linked('unreachable', 'ssh/lost'))).toMatchObject({ params: { host: 'rack' } })
    const word = new HostWord(false)
    expect(word.silence(linked('connected'))).toBeUndefined()
    expect(word.silence(linked('held_by_other', 'agent/foreign-controller'))).toBeDefined()
  })

  it('has time to come back when its link breaks during the wait, and while it is only just dialled', () => {
    const word = new HostWord(false)
    expect(word.silence(linked('connecting'))).toBeUndefined()
    expect(word.silence(linked('connected'))).toBeUndefined()
    expect(word.silence(linked('unreachable', 'ssh/lost'))).toBeUndefined()
    expect(word.silence(linked('held_by_other', 'agent/superseded'))).toBeUndefined()
  })
})

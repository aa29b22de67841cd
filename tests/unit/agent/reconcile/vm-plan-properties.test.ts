import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isCrashLoop, noteExit } from '../../../../src/agent/reconcile/crash-loop.ts'
import { type BootTime, counting, standing } from '../../../../src/agent/reconcile/quarantine-clock.ts'
import { planVm, type VmPlan, type Wanted } from '../../../../src/agent/reconcile/vm-plan.ts'
import { newRecord, type Quarantine, type VmRecord } from '../../../../src/agent/records/vm-record.ts'
import { aVm } from './rig.ts'

/** One VM's world, as small as it gets. */
interface State {
  record: VmRecord | undefined
  running: boolean
  now: BootTime
}

const boots = fc.constantFrom('boot-1', 'boot-2')
const anyMs = fc.oneof(fc.nat(2_000_000), fc.constantFrom(0, -5, Number.MAX_SAFE_INTEGER))
const quarantines: fc.Arbitrary<Quarantine> = fc.record({
  elapsedMs: anyMs,
  sinceUptimeMs: fc.option(anyMs, { nil: undefined }),
  bootId: boots,
  tombstone: fc.constantFrom('', '5', '7'),
})
const records: fc.Arbitrary<VmRecord> = fc
  .record({
    bootId: fc.oneof(boots, fc.constant('')),
    createAttempts: fc.nat(4),
    stopRequested: fc.boolean(),
    restartCount: fc.bigInt(0n, 3n),
    startedUptimeMs: anyMs,
    quickEnds: fc.nat(5),
    crashes: fc.nat(5),
    exit: fc.option(fc.record({ uptimeMs: anyMs, reason: fc.string(), clean: fc.boolean() }), { nil: undefined }),
    quarantine: fc.option(quarantines, { nil: undefined }),
  })
  .map((change) => ({ ...newRecord(aVm()), ...change }))
const states: fc.Arbitrary<State> = fc
  .record({
    record: fc.option(records, { nil: undefined }),
    running: fc.boolean(),
    now: fc.record({ bootId: boots, uptimeMs: anyMs }),
  })
  // A guest without a record is nobody's; one in quarantine has its own plan.
  .map((state) => (state.record ? state : { ...state, running: false }))
const wishes: fc.Arbitrary<Wanted> = fc.oneof(
  fc
    .record({
      powerState: fc.oneof(fc.constantFrom('running', 'stopped', ''), fc.string()),
      restartCount: fc.bigInt(0n, 3n),
      forceStop: fc.boolean(),
      autostart: fc.boolean(),
    })
    .map((change): Wanted => ({ kind: 'live', spec: aVm(change) })),
  fc
    .record({ graceMs: fc.nat(2_000_000), since: fc.constantFrom('', '5', '7') })
    .map((change): Wanted => ({ kind: 'tombstone', spec: aVm(), ...change })),
  fc.boolean().map((unowned): Wanted => ({ kind: 'absent', unowned })),
)

const plan = (wanted: Wanted, { record, running, now }: State): VmPlan => {
  // A pass brings the record up to what is wanted before it plans; a wanted VM is in no quarantine.
  const claimed = wanted.kind === 'live' && record ? { ...record, spec: wanted.spec, quarantine: undefined } : record
  return planVm(wanted, { record: claimed, running, now })
}

/** What carrying out a plan does to the world; what fails leaves what a crash in the middle of it would. */
function carryOut(step: VmPlan, wanted: Wanted, state: State, works: boolean): State {
  const { now } = state
  const record = state.record ?? newRecord(aVm())
  const whole = { ...record, bootId: now.bootId, stopRequested: false, exit: undefined }
  const restarted = wanted.kind === 'live' ? wanted.spec.restartCount : 0n
  switch (step.do) {
    case 'create': {
      const stopped = wanted.kind === 'live' && wanted.spec.powerState === 'stopped'
      if (!works) return { ...state, record, running: !stopped }
      return { ...state, record: { ...whole, restartCount: restarted, stopRequested: stopped }, running: !stopped }
    }
    case 'boot': {
      const noted = step.because === 'exited' ? noteExit(record, { reason: '', clean: false }, now) : record
      if (!works || (step.because === 'exited' && isCrashLoop(noted))) return { ...state, record: noted }
      return { ...state, record: { ...whole, restartCount: restarted }, running: true }
    }
    case 'restart':
      return works
        ? { ...state, record: { ...whole, restartCount: restarted }, running: true }
        : { ...state, record: { ...record, stopRequested: true }, running: false }
    case 'stop':
      return { ...state, record: { ...record, stopRequested: true, exit: undefined }, running: !works }
    case 'quarantine': {
      const since = wanted.kind === 'tombstone' ? wanted.since : ''
      const quarantine = counting(record.quarantine, now, since)
      return { ...state, record: { ...record, quarantine, stopRequested: true }, running: state.running && !works }
    }
    case 'hold':
      return {
        ...state,
        record: { ...record, quarantine: standing(record.quarantine!, now) },
        running: state.running && !works,
      }
    case 'destroy':
      return works ? { ...state, record: undefined, running: false } : state
    case 'rest':
    case 'ask':
    case 'leave':
    case 'acknowledge':
      return state
  }
}

/** '' = nothing more can be done, and here is where it was to get; else what is wrong with standing still. */
function unsettled(step: VmPlan, wanted: Wanted, state: State): string {
  if (step.do === 'ask' || step.do === 'acknowledge' || step.do === 'leave') return ''
  if (step.do === 'hold' || step.do === 'quarantine') return state.running ? `${step.do} while it runs` : ''
  if (step.do !== 'rest') return `${step.do} is work`
  if (step.detail !== '') return ''
  const up = wanted.kind === 'live' && wanted.spec.powerState !== 'stopped'
  return up === state.running && (step.power === 'running') === up ? '' : 'at rest, not as wanted and without a reason'
}

const OF_KIND: Record<Wanted['kind'], VmPlan['do'][]> = {
  live: ['create', 'boot', 'restart', 'stop', 'rest', 'ask'],
  tombstone: ['acknowledge', 'quarantine', 'destroy'],
  absent: ['acknowledge', 'hold', 'leave'],
}

describe('the plan for one VM, whatever the facts', () => {
  it('is there, and is the same for the same facts', () => {
    fc.assert(
      fc.property(wishes, states, (wanted, { record, running, now }) => {
        const facts = { record, running, now }
        const before = structuredClone({ ...facts, record: record && { ...record, spec: undefined } })
        const first = planVm(wanted, facts)
        expect(planVm(wanted, facts)).toEqual(first)
        expect({ ...facts, record: record && { ...record, spec: undefined } }).toEqual(before)
      }),
    )
  })

  it('never makes and unmakes one VM: on the whole way there are steps of one kind only', () => {
    fc.assert(
      fc.property(wishes, states, fc.array(fc.boolean(), { maxLength: 12 }), (wanted, start, luck) => {
        let state = start
        for (const works of luck) {
          const step = plan(wanted, state)
          expect(OF_KIND[wanted.kind]).toContain(step.do)
          state = carryOut(step, wanted, state, works)
        }
      }),
    )
  })

  it('gets where it is wanted in at most three steps that work, however many failed before, or says what it waits for', () => {
    fc.assert(
      fc.property(wishes, states, fc.array(fc.boolean(), { maxLength: 6 }), (wanted, start, luck) => {
        let state = start
        for (const works of luck) state = carryOut(plan(wanted, state), wanted, state, works)
        for (let i = 0; i < 3 && unsettled(plan(wanted, state), wanted, state) !== ''; i++)
          state = carryOut(plan(wanted, state), wanted, state, true)
        expect(unsettled(plan(wanted, state), wanted, state)).toBe('')
      }),
    )
  })

  it('changes something with each step that works, until nothing is left to do', () => {
    fc.assert(
      fc.property(wishes, states, (wanted, state) => {
        const step = plan(wanted, state)
        if (unsettled(step, wanted, state) === '') return
        const next = carryOut(step, wanted, state, true)
        expect({ ...next, step: plan(wanted, next) }).not.toEqual({ ...state, step })
      }),
    )
  })

  it('destroys only what is deleted, and only once its whole grace has passed in quarantine for that deletion', () => {
    fc.assert(
      fc.property(wishes, states, (wanted, state) => {
        if (plan(wanted, state).do !== 'destroy') return
        if (wanted.kind !== 'tombstone') throw new Error(`destroys what is ${wanted.kind}`)
        const q = state.record!.quarantine
        const same = q && (q.tombstone === wanted.since || q.tombstone === '' || wanted.since === '')
        const counts = q?.bootId === state.now.bootId && q.sinceUptimeMs !== undefined
        const spent = same ? q.elapsedMs + (counts ? Math.max(0, state.now.uptimeMs - q.sinceUptimeMs!) : 0) : 0
        expect(spent).toBeGreaterThanOrEqual(wanted.graceMs)
      }),
    )
  })

  it('never starts what is to be stopped, nor, after a host reboot, what is not started by itself', () => {
    fc.assert(
      fc.property(states, records, fc.boolean(), (state, record, autostart) => {
        const down = { ...state, record, running: false }
        const stopped: Wanted = { kind: 'live', spec: aVm({ powerState: 'stopped', autostart }) }
        if (record.bootId !== '') expect(plan(stopped, down)).toMatchObject({ do: 'rest', power: 'stopped' })
        const lost = { ...record, bootId: 'boot-0', stopRequested: false, restartCount: 0n }
        const wanted: Wanted = { kind: 'live', spec: aVm({ autostart: false }) }
        expect(['rest', 'ask']).toContain(plan(wanted, { ...down, record: lost }).do)
      }),
    )
  })

  it('brings back after a host reboot what ran before it, unless it keeps crashing', () => {
    fc.assert(
      fc.property(states, records, (state, record) => {
        const lost = { ...record, bootId: 'boot-0', stopRequested: false }
        const wanted: Wanted = { kind: 'live', spec: aVm({ restartCount: record.restartCount }) }
        const step = plan(wanted, { ...state, record: lost, running: false })
        expect(step).toEqual(isCrashLoop(lost) ? { do: 'ask' } : { do: 'boot', because: 'host-rebooted' })
      }),
    )
  })
})

import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { HelloSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { TIMES } from '../../../../../src/ipc/units.ts'
import { ClockVerdicts } from '../../../../../src/main/control/clock/clock-verdicts.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { ManualClock } from '../a-clock.ts'

const HOUR = 3_600_000

function aFleet() {
  const clock = new ManualClock()
  const registry = new Registry()
  const verdicts = new ClockVerdicts(registry, clock)
  const attach = (hostId: string, roundTripMs: number | undefined = 4): ActiveSession => {
    const hello = create(HelloSchema)
    const session = { hostId, sessionId: hostId, hello, connection: { roundTripMs } } as unknown as ActiveSession
    registry.sessionStarted(session)
    return session
  }
  const report = (session: ActiveSession, offsetMs: number, state = 'synchronised') =>
    registry.reported(
      session,
      create(ReportSchema, { builtAt: timestampFromMs(clock.now() + offsetMs), clock: { state } }),
      { date: new Date(clock.now()), monotonic: clock.monotonic() },
    )
  return { clock, registry, verdicts, attach, report }
}

describe('whose clock is wrong in a fleet', () => {
  it('follows what hosts say next', () => {
    const { verdicts, attach, report } = aFleet()
    const [a, b] = [attach('a'), attach('b')]
    report(a, HOUR)
    expect(verdicts.of('a')).toBe('app')
    report(b, 0)
    expect([verdicts.of('a'), verdicts.of('b')]).toEqual(['host', ''])
  })

  it('hears no host that does not answer any more, and none that was never compared', async () => {
    const { clock, registry, verdicts, attach, report } = aFleet()
    const [a, silent] = [attach('a'), attach('silent')]
    report(silent, 0)
    await clock.advance(TIMES.staleMs + 1)
    report(a, HOUR)
    expect([verdicts.of('a'), verdicts.of('silent')]).toEqual(['app', ''])
    const near = attach('near', undefined)
    report({ ...near, connection: {} } as ActiveSession, 0)
    report(a, HOUR)
    expect(verdicts.of('a')).toBe('app')
    registry.sessionEnded(a)
    expect(verdicts.of('a')).toBe('')
    registry.forget('a')
    expect(verdicts.of('a')).toBe('')
  })

  it('a new session starts without what was measured on another way', () => {
    const { registry, verdicts, attach, report } = aFleet()
    report(attach('a'), HOUR)
    const again = attach('a')
    expect(registry.live('a').clockSamples).toBeUndefined()
    report(again, 0)
    expect(verdicts.of('a')).toBe('')
  })
})

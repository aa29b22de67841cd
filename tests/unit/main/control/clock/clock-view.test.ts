import { create, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf'
import { TimestampSchema, timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { CLOCK_STALE_MS } from '../../../../../src/ipc/clock-words.ts'
import { GuestClockSchema as ToldSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/clock_pb.js'
import { GuestStateSchema as ToldStateSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/guest_pb.js'
import { ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { GuestClockSchema, HostClockSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/clock_pb.js'
import { GuestStateSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/guest_pb.js'
import { withSample } from '../../../../../src/main/control/clock/app-offset.ts'
import {
  guestClockView,
  guestView,
  type Heard,
  hostClockView,
} from '../../../../../src/main/control/clock/clock-view.ts'
import type { HostLive } from '../../../../../src/main/control/sync/registry.ts'

const NOW = Date.UTC(2026, 0, 2)
/** That host lives an hour ahead. */
const THERE = NOW + 3_600_000
const heard = (change: Partial<Heard> = {}): Heard => ({
  reportedAt: new Date(NOW),
  reportedMonotonic: 1000,
  monotonicNow: 1000,
  builtAt: timestampFromMs(THERE),
  ...change,
})
const guest = (told: MessageInitShape<typeof ToldSchema>, when = heard()) =>
  create(GuestClockSchema, guestClockView(create(ToldSchema, told), when))
const measuredAgo = (ms: number) => ({ source: 'guest_agent', offsetUs: 1n, measuredAt: timestampFromMs(THERE - ms) })

describe('a clock as clients see it', () => {
  it('has all its times by the clock of this computer', () => {
    const { measuredAt, lastAct } = guest({
      ...measuredAgo(20_000),
      lastAct: { cause: 'resume', at: timestampFromMs(THERE - 60_000) },
    })
    expect([measuredAt, lastAct?.at].map((at) => at && timestampMs(at))).toEqual([NOW - 20_000, NOW - 60_000])
  })

  it('takes no moment for later than it was heard', () => {
    const { measuredAt } = guest(measuredAgo(-86_400_000))
    expect(measuredAt && timestampMs(measuredAt)).toBe(NOW)
  })

  it('is stale once the measurement is old, however fresh the report or old the connection', () => {
    expect(guest(measuredAgo(CLOCK_STALE_MS)).stale).toBe(false)
    expect(guest(measuredAgo(CLOCK_STALE_MS + 1)).stale).toBe(true)
    expect(guest(measuredAgo(0), heard({ monotonicNow: 1001 + CLOCK_STALE_MS })).stale).toBe(true)
    expect(guest({ source: '' }).stale).toBe(false)
  })

  it('keeps what was not measured absent', () => {
    expect(guest({ detail: 'no guest agent answers' })).toMatchObject({ source: '', detail: 'no guest agent answers' })
    expect(toJson(GuestClockSchema, guest({}))).toEqual({})
  })

  it('is bounded and can be shown, whatever a host claims', () => {
    const long = 'x'.repeat(100_000)
    const ancient = { seconds: -62_135_596_800n, nanos: 0 }
    const view = guest({
      ...{
        source: long,
        detail: long,
        offsetUs: -(2n ** 53n) + 1n,
        uncertaintyUs: 2n ** 53n - 1n,
        measuredAt: ancient,
      },
      lastAct: { cause: long, means: long, result: long, detail: long, at: ancient },
    })
    expect(JSON.stringify(toJson(GuestClockSchema, view)).length).toBeLessThan(1_200)
    const state = create(ToldStateSchema, {
      ...{ guestAgent: long, cloudInit: long, fleetPayload: long, fleetPayloadDetail: long, asOf: ancient },
      modules: Array.from({ length: 5000 }, () => ({ name: long, stage: long, result: long, detail: long })),
    })
    const shown = create(GuestStateSchema, guestView(state, heard()))
    expect(shown).toMatchObject({ guestAgent: '', fleetPayload: '', modules: { length: 20 } })
    expect(JSON.stringify(toJson(GuestStateSchema, shown)).length).toBeLessThan(12_000)
  })
})

describe('what a guest or its host says in words', () => {
  it('does nothing to the terminal it is printed on', () => {
    const said = '\x1b[2Jgone\x1b]0;title\x07\x9b31m\u202e\nok'
    const words = [
      guest({ source: said, detail: said, lastAct: { cause: said, means: said, result: said, detail: said } }),
      create(
        GuestStateSchema,
        guestView(
          create(ToldStateSchema, {
            ...{ guestAgentVersion: said, cloudInit: said, fleetPayloadDetail: said },
            modules: [{ name: said, stage: said, detail: said }],
          }),
          heard(),
        ),
      ),
    ]
    const kept = JSON.stringify(words)
    expect(kept).toContain('gone')
    expect(kept).not.toMatch(/\\u001b|\\u0007|\\n|[\x80-\x9f\u202e]/)
  })
})

describe('a host as clients see its clock', () => {
  const live = (report: MessageInitShape<typeof ReportSchema>, change: Partial<HostLive> = {}): HostLive => ({
    link: { state: 'connected' },
    report: create(ReportSchema, { builtAt: timestampFromMs(THERE), ...report }),
    reportedAt: new Date(NOW),
    reportedMonotonic: 1000,
    ...change,
  })
  const host = (from: HostLive) => {
    const view = hostClockView(from, 'host', 1000)
    return view && create(HostClockSchema, view)
  }

  it('is compared with this computer although nothing there tells how it is kept', () => {
    const clockSamples = [{ rawMs: 3_600_000, roundTripMs: 4, baseMs: 0 }]
    expect(host(live({}, { clockSamples }))).toMatchObject({
      ...{ state: '', appOffsetUs: 3_600_002_000n, appUncertaintyUs: 3_000n, wrong: 'host' },
    })
  })

  it('is told as its daemon told it, and not compared where no round trip is known', () => {
    const shown = host(live({ clock: { state: 'synchronised', offsetUs: -5n, stratum: 2, daemon: 'chrony' } }))
    expect(shown).toMatchObject({ state: 'synchronised', offsetUs: -5n, stratum: 2, daemon: 'chrony' })
    expect(shown?.appOffsetUs).toBeUndefined()
  })

  it.each([2n ** 63n - 1n, -(2n ** 63n)])('can be told whatever time the host claims: %d s', (seconds) => {
    const builtAt = { seconds, nanos: 0 }
    const clockSamples = withSample([], {
      rawMs: timestampMs(create(TimestampSchema, builtAt)),
      roundTripMs: 4,
      baseMs: 0,
    })
    const shown = host(
      live({ builtAt, clock: { measuredAt: builtAt, since: { seconds: -seconds - 1n } } }, { clockSamples }),
    )
    expect(shown && toBinary(HostClockSchema, shown).length).toBeGreaterThan(8)
  })

  it('is absent where nothing is known, and of no state where the word is not one', () => {
    expect(host({ link: { state: 'unreachable' } })).toBeUndefined()
    expect(host(live({}))).toBeUndefined()
    expect(host(live({ clock: { state: 'fine' } }))?.state).toBe('')
  })
})

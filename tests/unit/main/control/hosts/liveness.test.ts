import { describe, expect, it } from 'vitest'
import { LINK_DEAD_MS, LINK_IDLE_MS, watchLiveness } from '../../../../../src/main/control/hosts/liveness.ts'

/** A link whose time and bytes the test moves by hand. */
function aLink() {
  let now = 0
  let rx = 0
  let tick = () => {}
  const seen = { probes: 0, dead: 0, stopped: false }
  const liveness = watchLiveness({
    rxBytes: () => rx,
    probe: () => seen.probes++,
    onDead: () => seen.dead++,
    clock: { monotonic: () => now },
    every: (_ms, fn) => {
      tick = fn
      return () => {
        seen.stopped = true
        tick = () => {}
      }
    },
  })
  const pass = (ms: number, bytesPerSecond = 0) => {
    for (let left = ms; left > 0; left -= 1_000) {
      now += 1_000
      rx += bytesPerSecond
      tick()
    }
  }
  return {
    seen,
    liveness,
    pass,
    receive: (bytes: number) => {
      rx += bytes
    },
    sleepFor: (ms: number) => {
      now += ms
      tick()
    },
  }
}

describe('liveness of a link', () => {
  it('leaves a link alone that receives anything at all', () => {
    const { seen, pass } = aLink()
    pass(120_000, 1)
    expect(seen).toEqual({ probes: 0, dead: 0, stopped: false })
  })

  it('probes once after a silence, and is content with any byte', () => {
    const link = aLink()
    link.pass(LINK_IDLE_MS + 2_000)
    expect(link.seen.probes).toBe(1)
    link.receive(1)
    link.pass(LINK_IDLE_MS - 1_000)
    expect(link.seen).toMatchObject({ probes: 1, dead: 0 })
  })

  it('calls a link dead that answers no probe, within 15 s, once', () => {
    const { seen, pass } = aLink()
    pass(LINK_DEAD_MS - 1_000)
    expect(seen.dead).toBe(0)
    pass(15_000 - (LINK_DEAD_MS - 1_000))
    expect(seen).toEqual({ probes: 1, dead: 1, stopped: true })
    pass(60_000)
    expect(seen.dead).toBe(1)
  })

  it('probes before it judges when the computer slept', () => {
    const link = aLink()
    link.sleepFor(3_600_000)
    expect(link.seen).toMatchObject({ probes: 1, dead: 0 })
    link.receive(1)
    link.pass(4_000)
    expect(link.seen.dead).toBe(0)
  })

  it('still finds a link dead that did not come through the sleep', () => {
    const link = aLink()
    link.sleepFor(3_600_000)
    link.pass(LINK_DEAD_MS - LINK_IDLE_MS)
    expect(link.seen.dead).toBe(1)
  })

  it('probes at once when told to check', () => {
    const { seen, liveness, pass } = aLink()
    pass(1_000)
    liveness.check()
    expect(seen.probes).toBe(1)
    pass(LINK_DEAD_MS - LINK_IDLE_MS)
    expect(seen.dead).toBe(1)
  })
})

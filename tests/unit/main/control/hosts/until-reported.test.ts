import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../src/ipc/base/clock.ts'
import { untilReported } from '../../../../../src/main/control/hosts/until-reported.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'

const reporting = (registry: Registry, reported: { yet: boolean }) => ({
  live: () => (reported.yet ? { reportedAt: new Date() } : {}),
  onChange: (fn: (hostId: string) => void) => registry.onChange(fn),
})

describe('an added host', () => {
  it('is shown as added once its lasting link has reported', async () => {
    const registry = new Registry()
    const reported = { yet: false }
    const added = untilReported(reporting(registry, reported), 'a', systemClock)
    registry.setLink('a', { state: 'connecting' })
    reported.yet = true
    registry.setLink('b', { state: 'connected' })
    expect(await Promise.race([added.then(() => 'added'), Promise.resolve('waits')])).toBe('waits')
    registry.setLink('a', { state: 'connected' })
    await added
  })

  it('is shown as added all the same when no report comes in time', async () => {
    const clock = { ...systemClock, sleep: async () => {} }
    await untilReported(new Registry(), 'a', clock)
  })
})

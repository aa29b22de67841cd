import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { HelloSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { Hub } from '../../../../../src/main/control/sync/hub.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'

const aSession = (sessionId: string): ActiveSession =>
  ({ hostId: 'h', sessionId, hello: create(HelloSchema) }) as ActiveSession

describe('registry', () => {
  it('the late end of an older session leaves the newer one', () => {
    const registry = new Registry()
    const [older, newer] = [aSession('1'), aSession('2')]
    const seen: (string | undefined)[] = []
    registry.onSession('h', (session) => seen.push(session?.sessionId))
    registry.sessionStarted(older)
    registry.sessionStarted(newer)
    registry.sessionEnded(older)
    expect(registry.active('h')).toBe(newer)
    registry.sessionEnded(newer)
    expect(registry.active('h')).toBeUndefined()
    expect(seen).toEqual(['1', '2', undefined])
  })

  it('a host that connected and never reported has no report and no age', () => {
    const registry = new Registry()
    registry.sessionStarted(aSession('1'))
    expect(registry.live('h').reportedAt).toBeUndefined()
    expect(registry.live('h').session).toBeDefined()
  })

  it('forgets a host wholly, and telling stops when asked', () => {
    const registry = new Registry()
    const changed: string[] = []
    const stop = registry.onChange((id) => changed.push(id))
    registry.setLink('h', { state: 'unreachable' })
    stop()
    registry.forget('h')
    expect([registry.live('h'), changed]).toEqual([{ link: { state: 'connecting' } }, ['h']])
  })
})

describe('hub', () => {
  const signal = new AbortController().signal

  it('pokes while the listener is busy become one', async () => {
    const hub = new Hub()
    const pokes = hub.subscribe('h')
    for (const id of ['h', 'h', 'other', 'h']) hub.poke(id)
    await pokes.next(signal)
    let again = false
    void pokes.next(signal).then(() => {
      again = true
    })
    await new Promise(setImmediate)
    expect(again).toBe(false)
    hub.poke('h')
    await new Promise(setImmediate)
    expect(again).toBe(true)
  })

  it('stops waiting when the session ends', async () => {
    const pokes = new Hub().subscribe('h')
    const stop = new AbortController()
    const waiting = pokes.next(stop.signal)
    stop.abort(new Error('over'))
    await expect(waiting).rejects.toThrow('over')
  })
})

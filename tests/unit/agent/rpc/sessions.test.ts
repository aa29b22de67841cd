import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AgentSession, AgentSessions } from '../../../../src/agent/rpc/sessions.ts'
import { type Attach, AttachSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { AGENT_PROTOCOL, TIMES } from '../../../../src/ipc/units.ts'
import { FakeEngine, FakeIdentity, FLEET, OTHER_FLEET } from '../../../support/agent-wire.ts'

const attach = (fleetId: string, takeOver = false): Attach =>
  create(AttachSchema, {
    protocolVersion: AGENT_PROTOCOL,
    fleetId,
    nonce: new Uint8Array(32),
    controllerName: fleetId.slice(0, 1),
    takeOver,
  })

async function rig() {
  const identity = new FakeIdentity()
  const engine = new FakeEngine()
  const sessions = new AgentSessions(identity, engine)
  const begin = async (fleetId: string, takeOver = false) => {
    const session = await sessions.attach(attach(fleetId, takeOver))
    if (!(session instanceof AgentSession)) throw new Error(session.code)
    return session
  }
  return { identity, engine, sessions, begin, mine: await begin(FLEET) }
}

describe('a change of owner', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('waits for what the old owner has under way, and then takes nothing more from it', async () => {
    const { identity, engine, sessions, begin, mine } = await rig()
    const order: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const first = sessions.whileCurrent(mine, async () => {
      await promise
      order.push(`first under ${identity.controllerName}`)
    })
    const theirs = begin(OTHER_FLEET, true)
    await vi.advanceTimersByTimeAsync(10)
    const second = sessions.whileCurrent(mine, async () => order.push('second'))
    resolve()
    expect((await theirs).id).toBe(sessions.current?.id)
    await Promise.all([first, second])
    expect(order).toEqual(['first under f'])
    expect(mine.ending).toMatchObject({ code: 'foreign_controller', controllerName: 'e' })
    expect(engine.disowned).toBe(1)
  })

  it('leaves the old owner as it was when it cannot be recorded', async () => {
    const { identity, engine, sessions, begin, mine } = await rig()
    identity.adoptFails = new Error('disk full')
    await expect(begin(OTHER_FLEET, true)).rejects.toThrow('disk full')
    expect(sessions.current).toBe(mine)
    expect(mine.ending).toBeUndefined()
    expect(await sessions.whileCurrent(mine, async () => 'done')).toBe('done')
    expect(engine.disowned).toBe(0)
  })

  it('is given up when the old owner’s work does not end', async () => {
    const { identity, sessions, begin, mine } = await rig()
    void sessions.whileCurrent(mine, () => new Promise(() => {}))
    const refused = expect(begin(OTHER_FLEET, true)).rejects.toMatchObject({ code: 'app/timeout' })
    await vi.advanceTimersByTimeAsync(TIMES.attachMs)
    await refused
    expect(identity.fleetId).toBe(FLEET)
    const again = begin(FLEET)
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await again).id).toBe(sessions.current?.id)
  })
})

describe('a session', () => {
  it('that is over does nothing more, and its late end leaves the newer one', async () => {
    const { sessions, begin, mine } = await rig()
    const newer = await begin(FLEET)
    expect(mine.ending?.code).toBe('superseded')
    expect(await sessions.whileCurrent(mine, async () => 'done')).toBeUndefined()
    sessions.release(mine)
    expect(sessions.current).toBe(newer)
    expect(await sessions.whileCurrent(newer, async () => 'done')).toBe('done')
    sessions.release(newer)
    expect(sessions.current).toBeUndefined()
  })

  it('of the same fleet begins after what the one before it had on its way: Hello tells of that', async () => {
    const { sessions, begin, mine } = await rig()
    const order: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const accepting = sessions.whileCurrent(mine, () => promise.then(() => order.push('accepted')))
    const newer = begin(FLEET).then(() => order.push('begun'))
    await vi.waitFor(() => expect(mine.ending?.code).toBe('superseded'))
    expect(await sessions.whileCurrent(mine, async () => 'done')).toBeUndefined()
    resolve()
    await Promise.all([accepting, newer])
    expect(order).toEqual(['accepted', 'begun'])
  })

  it('of the same fleet displaces another whose work hangs within a second', async () => {
    const { engine, sessions, begin, mine } = await rig()
    void sessions.whileCurrent(mine, () => new Promise(() => {}))
    expect((await begin(FLEET)).id).toBe(sessions.current?.id)
    expect(engine.disowned).toBe(0)
  })
})

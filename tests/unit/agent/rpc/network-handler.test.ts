import { describe, expect, it } from 'vitest'
import { fromConnectError } from '../../../../src/ipc/fault-wire.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import { attached, wireClient, wireRig } from '../../../support/agent-wire.ts'

/** Notes what it was asked. */
function aDoctor() {
  const asked: string[] = []
  const found = [{ id: 'forward-drop', severity: 'blocks', what: 'w', effect: 'e' }]
  const answer = (what: string) => {
    asked.push(what)
    return Promise.resolve(found)
  }
  return {
    asked,
    check: () => answer('check'),
    mend: (id: string) =>
      id === 'gone'
        ? Promise.reject(new Fault('network/not-mendable', 'permanent', { finding: id }))
        : answer(`mend ${id}`),
    undo: (id: string) => answer(`undo ${id}`),
  }
}

describe('the network calls of an agent', () => {
  it('look, mend and undo for whoever is attached', async () => {
    const network = aDoctor()
    await using rig = await wireRig({ network })
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    expect((await link.client.checkNetwork({ sessionId })).findings).toMatchObject([{ id: 'forward-drop' }])
    await link.client.mendNetwork({ sessionId, findingId: 'forward-drop' })
    await link.client.mendNetwork({ sessionId, findingId: 'forward-drop', undo: true })
    expect(network.asked).toEqual(['check', 'mend forward-drop', 'undo forward-drop'])
    const fault = await link.client.mendNetwork({ sessionId, findingId: 'gone' }).catch(fromConnectError)
    expect(fault).toMatchObject({ code: 'network/not-mendable', params: { finding: 'gone' } })
  })

  it.each(['', 'of another session'])('do nothing with the session id %j', async (sessionId) => {
    const network = aDoctor()
    await using rig = await wireRig({ network })
    using link = wireClient(rig.socketPath)
    await attached(link.client)
    await expect(link.client.checkNetwork({ sessionId })).rejects.toThrow()
    await expect(link.client.mendNetwork({ sessionId, findingId: 'forward-drop' })).rejects.toThrow()
    expect(network.asked).toEqual([])
  })
})

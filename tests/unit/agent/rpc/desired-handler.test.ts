import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { fromConnectError } from '../../../../src/ipc/fault-wire.ts'
import { DesiredStateSchema, SnapshotSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { attached, OTHER_FLEET, snapshotFrame, wireClient, wireRig } from '../../../support/agent-wire.ts'
import { aVm, ID, Rig } from '../reconcile/rig.ts'

describe('what a host was last told', () => {
  it('is given whole to the attached control plane, and to nobody else', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const refused = async (sessionId: string) =>
      fromConnectError(await link.client.getDesired({ sessionId }).catch((error: unknown) => error)).code
    expect(await refused('')).toBe('agent/auth-rejected')
    const { sync, sessionId } = await attached(link.client)
    expect(await link.client.getDesired({ sessionId })).toMatchObject({ epoch: 0n })
    expect((await link.client.getDesired({ sessionId })).state).toBeUndefined()
    sync.requests.push(snapshotFrame(3n))
    await sync.until('report', (report) => report.lastSeenEpoch === 3n)
    const { epoch, contentSha256, state } = await link.client.getDesired({ sessionId })
    const [sent] = rig.engine.accepted
    expect({ epoch, contentSha256, state }).toEqual({
      epoch: 3n,
      contentSha256: sent?.contentSha256,
      state: sent?.state,
    })
    using other = wireClient(rig.socketPath)
    await attached(other.client, { fleetId: OTHER_FLEET, takeOver: true })
    expect(await refused(sessionId)).toBe('agent/auth-rejected')
  })

  it('outlives the agent, tombstones and ports with it', async () => {
    await using rig = await Rig.open()
    expect(rig.engine.held()).toBeUndefined()
    const gone = aVm({ vmId: 'b'.repeat(32), name: 'old', tombstone: { graceS: 900n } })
    await rig.send([aVm(), gone], 5n, [])
    await rig.restart()
    expect(rig.engine.held()).toMatchObject({
      epoch: 5n,
      state: { vms: [{ vmId: ID }, { tombstone: { graceS: 900n } }] },
    })
  })

  it('is nothing once the host has a new owner, and unknown when it cannot be read', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm())
    rig.desiredProblem = 'torn'
    await rig.restart()
    expect(rig.engine.held()).toBeUndefined()
    rig.desiredProblem = ''
    await rig.restart()
    expect(rig.engine.held()?.state?.vms).toHaveLength(1)
    await rig.engine.disown()
    expect(rig.engine.held()).toBeUndefined()
    await rig.restart()
    expect(rig.engine.held()).toBeUndefined()
  })

  it('a fenced snapshot changes nothing of it', async () => {
    await using rig = await Rig.open()
    await rig.send([aVm()], 5n)
    const stale = create(SnapshotSchema, { epoch: 4n, state: create(DesiredStateSchema) })
    expect(await rig.engine.accept(stale)).toBe('fenced')
    expect(rig.engine.held()?.epoch).toBe(5n)
  })
})

import { createHash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { AgentProcess, Session } from '../support/agent-process.ts'
import { wireClient } from '../support/agent-wire.ts'
import { bootSector } from '../support/boot-sector.ts'

const ID = 'c10c0002'.repeat(4)
const codeOf = (error: unknown) => fromConnectError(error, 'app/bug').code

describe('the clocks a real agent tells of', () => {
  it("are its host's own, and none of a guest in which nothing answers, which cannot be set either", async () => {
    await using agent = new AgentProcess()
    await agent.start()
    using session = await Session.open(agent.socketPath)
    const { clock } = await session.report((report) => report.clock !== undefined)
    expect(['', 'synchronised', 'not_synchronised']).toContain(clock?.state)
    expect(clock?.state === 'synchronised' || clock?.detail !== '').toBe(true)
    await expect(session.setClock(ID).catch((error: unknown) => Promise.reject(codeOf(error)))).rejects.toBe(
      'clock/not-running',
    )

    const image = bootSector()
    const imageSha256 = createHash('sha256').update(image).digest('hex')
    const spec = { vmId: ID, name: 'web', imageSha256, imageFormat: 'raw', vcpus: 1, memMb: 64, diskGb: 1 }
    session.want(1n, [create(VmSpecSchema, spec)])
    await session.report((report) => report.wantedImages.length > 0)
    await session.push(image, imageSha256)
    const report = await session.report(({ vms }) => vms.some((row) => row.guest && row.clock))
    expect(report.vms[0]).toMatchObject({
      guest: { guestAgent: 'silent', cloudInit: '', modules: [], fleetPayload: '' },
      clock: { source: '' },
    })
    expect(report.vms[0]?.clock?.detail).not.toBe('')
    expect((await session.setClock(ID))?.lastAct).toMatchObject({ cause: 'asked', means: 'none', result: 'failed' })

    session.want(2n, [create(VmSpecSchema, { ...spec, powerState: 'stopped', forceStop: true })])
    const off = await session.report(({ vms }) => vms.some((row) => row.power === 'stopped' && row.phase === 'ready'))
    expect([off.vms[0]?.guest, off.vms[0]?.clock]).toEqual([undefined, undefined])
  }, 120_000)

  it('are not set for who is not attached', async () => {
    await using agent = new AgentProcess()
    await agent.start()
    using link = wireClient(agent.socketPath)
    const asked = link.client.setGuestClock({ sessionId: 'x', vmId: ID })
    await expect(asked.catch((error: unknown) => Promise.reject(codeOf(error)))).rejects.toBe('agent/auth-rejected')
  }, 60_000)
})

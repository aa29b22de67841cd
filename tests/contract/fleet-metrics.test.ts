import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { GetHistoryRequest } from '../../src/ipc/gen/eitri/agent/v1/history_pb.js'
import type { FleetClient } from '../../src/main/fleet-client.ts'
import type { FakeSyncAgent } from '../support/fake-sync-agent.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

let rack: ScriptedHost
let agent: FakeSyncAgent
let client: FleetClient
let asked: GetHistoryRequest[]

beforeEach(async () => {
  rack = await ScriptedHost.open()
  ;({ agent, client } = rack)
  asked = []
})
afterEach(() => rack[Symbol.asyncDispose]())

/** What that host answers, its newest step at this moment of its own clock. */
function keeps(at: number) {
  agent.answers.getHistory = (request) => {
    asked.push(request)
    return { stepS: 10, samples: [{ at: timestampFromMs(at), cpuBusyPermille: 250, diskReadBps: 4096n }] }
  }
}

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => Promise.reject(new Error('nothing was raised')),
    (error: unknown) => fromConnectError(error),
  )

describe('the history of a host and its VMs', () => {
  it('is what the host kept, with an hour of 360 samples where nothing is said', async () => {
    const now = Date.now()
    keeps(now)
    expect(await client.metrics.getHistory({ host: 'rack' })).toMatchObject({
      stepS: 10,
      samples: [{ at: timestampFromMs(now), cpuBusyPermille: 250, diskReadBps: 4096n }],
    })
    expect(asked).toMatchObject([{ vmId: '', spanS: 3600, samples: 360 }])
  })

  it('is of one VM by its name, and of no measure that was not taken', async () => {
    const vmId = await rack.vm('db')
    keeps(Date.now())
    const { samples } = await client.metrics.getHistory({ vm: 'db', spanS: 86_400, samples: 720 })
    expect(asked).toMatchObject([{ vmId, spanS: 86_400, samples: 720 }])
    expect([samples[0]?.netRxBps, samples[0]?.clockOffsetUs]).toEqual([undefined, undefined])
  })

  it('is told by the clock of this computer where that of the host is an hour ahead', async () => {
    const there = Date.now() + 3_600_000
    agent.report({ builtAt: timestampFromMs(there) })
    keeps(there)
    await expect
      .poll(async () => {
        const { samples } = await client.metrics.getHistory({ host: 'rack' })
        return Math.abs(timestampMs(samples[0]!.at!) - (there - 3_600_000)) <= 5_000
      })
      .toBe(true)
  })

  it('is of a host or of a VM, never of both or of none', async () => {
    for (const request of [
      {},
      { host: 'rack', vm: 'db' },
      { host: 'rack', spanS: 90_000 },
      { host: 'rack', samples: 1 },
    ])
      expect(await refusal(client.metrics.getHistory(request))).toMatchObject({ code: 'input/invalid' })
  })

  it('is not known of a host whose agent is of before it, nor of one that does not answer', async () => {
    expect(await refusal(client.metrics.getHistory({ host: 'rack' }))).toMatchObject({ code: 'agent/version-skew' })
    await agent.stop()
    await expect
      .poll(async () => (await refusal(client.metrics.getHistory({ host: 'rack' }))).code)
      .toBe('host/no-answer')
  })
})

describe("the command line of a VM's hypervisor", () => {
  it('is what its host says of it', async () => {
    const vmId = await rack.vm('db')
    let of = ''
    agent.answers.showCommand = (request) => {
      of = request.vmId
      const parts = [{ args: ['-m', '512'], why: 'memory', where: 'both' }]
      return { backend: 'qemu', cwd: '/var/lib/eitri/vms', pid: 812, runsKnown: true, parts }
    }
    expect(await client.vms.getVmCommand({ vm: 'db' })).toMatchObject({
      ...{ backend: 'qemu', cwd: '/var/lib/eitri/vms', pid: 812, runsKnown: true, nextUnknown: '' },
      parts: [{ args: ['-m', '512'], why: 'memory', where: 'both' }],
    })
    expect(of).toBe(vmId)
  })

  it('is refused by an agent of before it, with the name of its host', async () => {
    await rack.vm('db')
    const fault = await refusal(client.vms.getVmCommand({ vm: 'db' }))
    expect(fault).toMatchObject({ code: 'agent/version-skew', params: { host: 'rack' } })
  })
})

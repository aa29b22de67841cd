import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fromBinary } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AGENT_FEATURES } from '../../src/ipc/agent-features.ts'
import { HelloSchema, ReportSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { requireFeature } from '../../src/main/control/hosts/agent-features.ts'
import type { FakeSyncAgent } from '../support/fake-sync-agent.ts'
import { HOST, ScriptedHost } from '../support/scripted-host.ts'

const SOON = { timeout: 5_000, interval: 20 }
const recorded = JSON.parse(
  readFileSync(join(import.meta.dirname, '../support/recorded/older-agent.json'), 'utf8'),
) as {
  hello: string
  report: string
}
const HELLO = fromBinary(HelloSchema, Buffer.from(recorded.hello, 'base64'))
const REPORT = fromBinary(ReportSchema, Buffer.from(recorded.report, 'base64'))

let rack: ScriptedHost
let agent: FakeSyncAgent

/** What an agent of the release before said, by an agent that has no call that came after it. */
beforeEach(async () => {
  rack = await ScriptedHost.open()
  ;({ agent } = rack)
  const { identityPublicKey, signature, sessionId, hostId, $typeName, ...said } = HELLO
  agent.hello = said
  const before = agent.attaches.length
  agent.cut()
  await expect.poll(() => agent.attaches.length, SOON).toBeGreaterThan(before)
  await expect.poll(() => agent.attached, SOON).toBe(1)
  agent.report(REPORT)
})
afterEach(() => rack[Symbol.asyncDispose]())

const host = async () => (await rack.eitri('host', 'show', HOST, '--json')).json()

describe('an agent of the release before', () => {
  it('said nothing of what it could not do yet, and what it said is read as it was', () => {
    expect(HELLO).toMatchObject({ features: [], joinToken: '', agentVersion: expect.stringMatching(/^\d+\.\d+\.\d+/) })
    expect(REPORT.upgrade).toBeUndefined()
    expect(REPORT.credentialEndsAt).toBeUndefined()
  })

  it('keeps working: it is connected, reports, and runs the VMs it is told to', async () => {
    await rack.vm('web')
    await expect.poll(() => agent.snapshots.at(-1)?.state?.vms.map((vm) => vm.name), SOON).toEqual(['web'])
    await expect.poll(host, SOON).toMatchObject({ link: 'connected', stale: false, agent_version: HELLO.agentVersion })
  })

  it('is offered nothing that came after it', async () => {
    await rack.vm('web')
    const refused = await rack.eitri('host', 'upgrade', 'rack')
    expect(refused.code).not.toBe(0)
    expect(refused.err).toMatch(/too old for an upgrade from here\. Nothing was changed\./)
    for (const { state } of agent.snapshots) expect(state?.agentUpgrade).toBeUndefined()
    expect((await rack.eitri('vm', 'clone', 'web', 'copy')).code).not.toBe(0)
    for (const { state } of agent.snapshots) expect(state?.vms.map((vm) => vm.name)).not.toContain('copy')
  })

  it.each(AGENT_FEATURES)('refuses by name what needs %s, and says what to do', (feature) => {
    let fault: unknown
    try {
      requireFeature({ hello: HELLO }, 'rack', feature)
    } catch (error) {
      fault = error
    }
    expect(fault).toMatchObject({
      code: 'agent/too-old',
      params: { host: 'rack', version: HELLO.agentVersion, what: expect.stringMatching(/\w/) },
    })
  })
})

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toConnectError } from '../../src/ipc/fault-wire.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { GetStatusResponseSchema } from '../../src/ipc/gen/eitri/agent/v1/host_pb.js'
import type { AgentUpgrade } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { PutAgentResponseSchema } from '../../src/ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { decodeJoinBlob } from '../../src/ipc/join-blob.ts'
import { fleetClient } from '../../src/main/fleet-client.ts'
import type { FakeSyncAgent } from '../support/fake-sync-agent.ts'
import { ARTEFACTS, HOST, ScriptedHost } from '../support/scripted-host.ts'

const SOON = { timeout: 5_000, interval: 20 }
const PROGRAM = Buffer.from('an agent of tomorrow')
const SHA = createHash('sha256').update(PROGRAM).digest('hex')
const BUILD = 'b'.repeat(64)

/** One agent of 2.0.0 for x86_64, as a build leaves it. */
function sowArtefacts(dir: string): void {
  const packed = gzipSync(PROGRAM)
  const name = 'eitri-agent-linux-x64'
  mkdirSync(join(dir, ARTEFACTS))
  writeFileSync(join(dir, ARTEFACTS, name), PROGRAM)
  writeFileSync(join(dir, ARTEFACTS, `${name}.gz`), packed)
  const files = {
    [name]: { sha256: SHA, size_bytes: PROGRAM.length },
    [`${name}.gz`]: { sha256: createHash('sha256').update(packed).digest('hex'), size_bytes: packed.length },
  }
  const manifest = { version: '2.0.0', build_digest: BUILD, files }
  writeFileSync(join(dir, ARTEFACTS, 'manifest.json'), JSON.stringify(manifest))
}

let rack: ScriptedHost
let agent: FakeSyncAgent

beforeEach(async () => {
  rack = await ScriptedHost.open((_, dir) => sowArtefacts(dir))
  ;({ agent } = rack)
})
afterEach(() => rack[Symbol.asyncDispose]())

const eitri = (...argv: string[]) => rack.eitri(...argv)
const host = async () => (await eitri('host', 'show', HOST, '--json')).json()
const offered = (): AgentUpgrade | undefined => agent.snapshots.at(-1)?.state?.agentUpgrade

/** An agent that takes what it is sent, and says what the test says when it is offered. */
function takesUpgrades(onOffer: (offer: AgentUpgrade) => unknown): { received: Buffer[] } {
  const received: Buffer[] = []
  agent.hello = { features: ['upgrade'], agentVersion: '1.0.0' }
  agent.answers.getStatus = () =>
    create(GetStatusResponseSchema, { agentVersion: '1.0.0', program: 'executable', facts: { arch: 'x86_64' } })
  agent.answers.putAgent = async (requests) => {
    const parts: Uint8Array[] = []
    for await (const { message } of requests) if (message.case === 'chunk') parts.push(message.value)
    received.push(Buffer.concat(parts))
    queueMicrotask(() => void watch())
    return create(PutAgentResponseSchema, { stagedPath: '/var/lib/eitri/staged/x' })
  }
  const watch = async () => {
    await expect.poll(offered, SOON).toBeDefined()
    await onOffer(offered()!)
  }
  return { received }
}

const says = (state: string, detail = '') =>
  agent.report({ upgrade: { version: '2.0.0', sha256: SHA, state, detail, at: timestampFromMs(Date.now()) } })

async function reattached(): Promise<void> {
  const before = agent.attaches.length
  agent.cut()
  await expect.poll(() => agent.attaches.length, SOON).toBeGreaterThan(before)
  await expect.poll(() => agent.attached, SOON).toBe(1)
}

describe('a host through its life', () => {
  it('is renamed and labelled by the command line, and says so', async () => {
    expect((await eitri('host', 'rename', 'rack', 'shelf', '--json')).json()).toMatchObject({ name: 'shelf', id: HOST })
    expect((await eitri('host', 'label', 'shelf', 'row=7', 'dc=west', '--json')).json().labels).toEqual({
      row: '7',
      dc: 'west',
    })
    expect((await eitri('host', 'label', 'shelf', '--remove-label', 'dc', '--json')).json().labels).toEqual({
      row: '7',
    })
    const wrong = await eitri('host', 'label', 'shelf', 'no key=1')
    expect(wrong).toMatchObject({ code: 2, out: '' })
    expect(wrong.err).toMatch(/labels.*letters, digits.*Nothing was changed/)
    expect((await eitri('host', 'rename', 'shelf', 'No Name')).code).toBe(2)
    expect((await eitri('host', 'show', 'shelf')).out).toMatch(/labels: +row=7/)
  })

  it('takes no VMs while it is drained, and its VMs are stopped or left as asked', async () => {
    await rack.vm('web')
    expect((await eitri('host', 'drain', 'rack')).out).toBe('rack takes no new VMs. Running on: web.\n')
    const refused = await eitri('vm', 'create', 'more', '--image-url', 'https://x.example/i', '--image-sha256', SHA)
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.err).toMatch(
      /^rack is drained and takes no new VMs\. Nothing was changed\. .*host drain rack --undo/,
    )
    const stopped = (await eitri('host', 'drain', 'rack', '--stop', '--json')).json()
    expect(stopped).toMatchObject({ host: { draining: 'stop' }, stopping: ['web'], left_running: [] })
    await expect.poll(() => agent.snapshots.at(-1)?.state?.vms[0]?.powerState, SOON).toBe('stopped')
    expect((await eitri('host', 'drain', 'rack', '--undo')).out).toBe('rack takes VMs again.\n')
    await rack.vm('more')
  })

  it('revoked, it loses its session at its next report and is not dialled again', async () => {
    expect((await eitri('host', 'revoke', 'rack', '--json')).json()).toMatchObject({ credential: 'revoked' })
    expect(agent.attached).toBe(1)
    agent.report({})
    await expect.poll(() => agent.attached, SOON).toBe(0)
    const before = agent.attaches.length
    expect(await host()).toMatchObject({ link: 'sign_in_needed', link_fault: { code: 'host/revoked' } })
    await eitri('host', 'doctor', 'rack')
    await rack.client.hosts.reconnectHost({ host: 'rack' })
    await expect.poll(async () => (await host()).link, SOON).toBe('sign_in_needed')
    expect(agent.attaches.length).toBe(before)
  })

  it('of another tenant is revoked, renamed, drained and upgraded by nobody, as if it were not there', async () => {
    await rack.client.tenants.createTenant({ name: 'lab' })
    const lab = fleetClient(rack.apiSocket, { client: 'cli', tenant: 'lab' })
    const missing = await lab.hosts.revokeHost({ host: 'nobody' }).catch((error: unknown) => String(error))
    for (const call of [
      lab.hosts.revokeHost({ host: HOST }),
      lab.hosts.updateHost({ host: 'rack', name: 'mine' }),
      lab.hosts.drainHost({ host: 'rack', drain: true }),
      lab.hosts.upgradeHost({ host: HOST }),
    ])
      await expect(
        call.catch((error: unknown) => String(error).replace(/no host \w+/, 'no host nobody')),
      ).resolves.toBe(missing)
    expect(await host()).toMatchObject({ name: 'rack', credential: 'login', draining: '' })
  })

  it('is forgotten with what is left on it said, though it does not answer', async () => {
    await rack.vm('web')
    agent.refuseWith = { code: 'transient' }
    agent.cut()
    const gone = await eitri('host', 'forget', 'rack', '--yes')
    expect(gone.out).toBe('Host rack forgotten. Left behind there: web. Added again, it shows them to be adopted.\n')
    expect((await eitri('host', 'list', '--json')).json().hosts).toEqual([])
  })

  it('is forgotten only by a yes that knows what is left on it, what is lost and what the orderly way is', async () => {
    const [web, db, old] = [await rack.vm('web'), await rack.vm('db'), await rack.vm('old')]
    await eitri('vm', 'set', 'db', '--protect')
    await eitri('vm', 'delete', 'old')
    agent.report({
      vms: [
        { vmId: web, phase: 'ready', power: 'running' },
        { vmId: db, phase: 'ready', power: 'stopped' },
      ],
      quarantined: [{ vmId: old, destroyAt: timestampFromMs(Date.now() + 60_000) }],
    })
    await expect.poll(async () => (await eitri('vm', 'show', 'web', '--json')).json().power, SOON).toBe('running')
    const { code, err } = await eitri('host', 'forget', 'rack')
    expect(code).toBe(2)
    expect(err).toMatch(/web \(running\)/)
    expect(err).toMatch(/db \(protected\)/)
    expect(err).toMatch(/old \(in quarantine\)/)
    expect(err).toMatch(/protection and labels are lost.*connected.*"eitri host drain rack".*"eitri host remove rack"/)
    expect((await host()).name).toBe('rack')
  })

  it('gets a join blob that nobody can read out of the store, once on standard output', async () => {
    const { code, out, err } = await eitri('host', 'join-blob', '--expires', '5m')
    expect(code).toBe(0)
    expect(out).toMatch(/^[A-Za-z0-9_-]+\n$/)
    expect(err).not.toContain(out.trim())
    const blob = decodeJoinBlob(out)
    expect(blob.publicKey).toMatch(/^ssh-ed25519 /)
    expect(blob.expiresAt - Date.now() / 1000).toBeGreaterThan(290)
    expect(blob.expiresAt - Date.now() / 1000).toBeLessThanOrEqual(300)
    const again = decodeJoinBlob((await eitri('host', 'join-blob', '--json')).json().blob)
    expect(again).toMatchObject({ fleetId: blob.fleetId, publicKey: blob.publicKey })
    expect(again.token).not.toBe(blob.token)
    const trail = JSON.stringify((await eitri('audit', '--json')).json())
    expect(trail).toContain('host.join-blob')
    expect(trail).not.toContain(blob.token)
    expect((await eitri('host', 'join-blob', '--expires', '10s')).code).toBe(2)
  })

  it('is examined: what is wrong, what that breaks, what mends it', async () => {
    agent.report({ notices: ['A disk is old.'] })
    await expect.poll(async () => (await host()).notices.length, SOON).toBeGreaterThan(0)
    const { code, json } = await eitri('host', 'doctor', 'rack', '--json')
    const parts = Object.fromEntries(json().checks.map((c: { part: string; state: string }) => [c.part, c.state]))
    expect(parts).toMatchObject({ link: 'ok', report: 'ok', agent: 'warning', notice: 'warning' })
    expect(json()).toMatchObject({ host: 'rack', ok: false })
    expect(code).toBe(0)
    expect((await eitri('host', 'doctor', 'rack')).out).toMatch(/mend: eitri host upgrade rack/)
    expect((await eitri('host', 'doctor', 'nobody')).code).toBe(1)
  })
})

describe('a host that is upgraded', { timeout: 30_000 }, () => {
  it('gets the agent over the link there is, is offered it, and the command waits until it reports', async () => {
    const { received } = takesUpgrades(async () => {
      says('verifying')
      agent.hello = { features: ['upgrade'], agentVersion: '2.0.0', agentDigest: BUILD }
      await reattached()
      says('done')
    })
    await reattached()
    expect(await host()).toMatchObject({
      agent_version: '1.0.0',
      upgrade_available: '2.0.0',
      notices: ['Its agent is 1.0.0, this app brings 2.0.0: "eitri host upgrade rack" puts that there.'],
    })
    const { code, json, err } = await eitri('host', 'upgrade', 'rack', '--json')
    expect({ code, err }).toMatchObject({ code: 0 })
    expect(json()).toMatchObject({ agent_version: '2.0.0', upgrade_available: '', upgrade_outcome: { state: 'done' } })
    expect(json().pending_upgrade ?? null).toBeNull()
    expect(gunzipSync(received[0]!)).toEqual(PROGRAM)
    expect(offered()).toBeUndefined()
    const again = await eitri('host', 'upgrade', 'rack')
    expect(again).toMatchObject({ code: 0, err: "rack has this app's agent already.\n" })
  })

  it('that goes back says why, and its older agent is named with what became of the newer', async () => {
    takesUpgrades(async () => {
      says('restarting')
      await reattached()
      says('rolled_back', 'it ended: no luck')
    })
    await reattached()
    const { code, err } = await eitri('host', 'upgrade', 'rack')
    expect(code).toBe(1)
    expect(err).toMatch(
      /The new agent 2\.0\.0 on rack did not come up \(it ended: no luck\)\. The older one runs again/,
    )
    expect(await host()).toMatchObject({
      agent_version: '1.0.0',
      upgrade_outcome: { version: '2.0.0', state: 'rolled_back', detail: 'it ended: no luck' },
    })
    await expect.poll(offered, SOON).toBeUndefined()
    expect((await eitri('host', 'show', 'rack')).out).toMatch(
      /upgrade: +2\.0\.0 is here; 2\.0\.0 was taken back: it ended/,
    )
  })

  it('that refuses says why, and so does one that has no room for the file', async () => {
    takesUpgrades(() => says('refused', 'identity: it is damaged'))
    await reattached()
    const refused = await eitri('host', 'upgrade', 'rack')
    expect(refused.err).toMatch(/not upgraded to 2\.0\.0 \(identity: it is damaged\)\. The older one runs on/)
    agent.answers.putAgent = async () => {
      throw toConnectError(new Fault('host/disk-full', 'permanent', { free: '1 MiB', needed: '2 MiB' }))
    }
    expect((await eitri('host', 'upgrade', 'rack')).err).toMatch(/rack has 1 MiB free; this needs 2 MiB/)
    expect(offered()).toBeUndefined()
  })

  it('shows what is offered and how long, until the task is cancelled: then nothing is offered any more', async () => {
    takesUpgrades(() => says('verifying'))
    await reattached()
    const { task } = await rack.client.hosts.upgradeHost({ host: 'rack' })
    await expect.poll(async () => (await host()).pending_upgrade?.version, SOON).toBe('2.0.0')
    expect((await rack.client.hosts.upgradeHost({ host: 'rack' })).task?.id).toBe(task?.id)
    await rack.client.tasks.cancelTask({ id: task!.id })
    await expect.poll(offered, SOON).toBeUndefined()
    expect((await host()).pending_upgrade ?? null).toBeNull()
  })

  it('loses its offer with the control plane that made it', async () => {
    takesUpgrades(() => says('verifying'))
    await reattached()
    await rack.client.hosts.upgradeHost({ host: 'rack' })
    await expect.poll(offered, SOON).toBeDefined()
    rack = await rack.restart()
    await expect.poll(offered, SOON).toBeUndefined()
    expect(await host()).toMatchObject({ upgrade_available: '2.0.0' })
    expect((await host()).pending_upgrade ?? null).toBeNull()
  })

  it('by an agent that takes no offers is offered none: the command says what to do', async () => {
    agent.hello = { agentVersion: '1.0.0' }
    await reattached()
    const { code, err } = await eitri('host', 'upgrade', 'rack')
    expect(code).toBe(1)
    expect(err).toMatch(
      /The agent on rack \(1\.0\.0\) is too old for an upgrade from here\. .*eitri-agent install --start/,
    )
    expect(agent.snapshots.every(({ state }) => state?.agentUpgrade === undefined)).toBe(true)
  })
})

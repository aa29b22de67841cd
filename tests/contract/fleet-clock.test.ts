import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { POLICY_NOT_REACHED } from '../../src/ipc/clock-words.ts'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { Fault } from '../../src/ipc/faults.ts'
import { type GuestClock, GuestClockSchema } from '../../src/ipc/gen/eitri/agent/v1/clock_pb.js'
import type { Report, ReportSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { FleetClient } from '../../src/main/fleet-client.ts'
import type { FakeSyncAgent } from '../support/fake-sync-agent.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

const DIGEST = 'd'.repeat(64)
/** That host lives an hour ahead of this computer. */
const AHEAD_MS = 3_600_000
let rack: ScriptedHost
let agent: FakeSyncAgent
let client: FleetClient
let vmId: string

beforeEach(async () => {
  rack = await ScriptedHost.open()
  ;({ agent, client } = rack)
  vmId = await rack.vm('db')
})
afterEach(() => rack[Symbol.asyncDispose]())

type Guest = Exclude<MessageInitShape<typeof GuestClockSchema>, GuestClock>

/** One report of that host, made now by its own clock. */
function report(
  clock: Guest | GuestClock | undefined,
  change: Exclude<MessageInitShape<typeof ReportSchema>, Report> = {},
  power = 'running',
) {
  const there = Date.now() + AHEAD_MS
  agent.report({
    builtAt: timestampFromMs(there),
    clock: { state: 'synchronised', offsetUs: 1500n, stratum: 2, source: '10.0.0.1', daemon: 'chrony' },
    vms: [{ vmId, phase: 'ready', power, ...(clock ? { clock } : {}) }],
    ...change,
  })
}

const behind = (ms: number, change: Guest = {}): GuestClock =>
  create(GuestClockSchema, {
    ...{ source: 'guest_agent', offsetUs: BigInt(-ms * 1000), uncertaintyUs: 500n },
    measuredAt: timestampFromMs(Date.now() + AHEAD_MS),
    ...change,
  })

const eitri = (...argv: string[]) => rack.eitri(...argv)

const faultOf = (call: Promise<unknown>): Promise<Fault> =>
  call.then(
    () => Promise.reject(new Error('nothing was raised')),
    (error: unknown) => fromConnectError(error),
  )

/** Until the host was compared with this computer: a report came after a round trip was known. */
async function compared(clock?: GuestClock) {
  await expect
    .poll(async () => {
      report(clock)
      return (await client.hosts.getHost({ host: 'rack' })).host?.clock?.wrong
    })
    .toBe('app')
}

describe('clocks over the fleet API', () => {
  it('compares a host with this computer, and tells whose clock is wrong', async () => {
    await compared()
    const { host } = await client.hosts.getHost({ host: 'rack' })
    expect(host?.clock).toMatchObject({ state: 'synchronised', offsetUs: 1500n, stratum: 2, source: '10.0.0.1' })
    expect(Number(host?.clock?.appOffsetUs) / 1000 - AHEAD_MS).toBeLessThan(1_000)
    expect(Number(host?.clock?.appOffsetUs) / 1000 - AHEAD_MS).toBeGreaterThan(-1_000)
    expect(host?.clock?.appUncertaintyUs).toBeGreaterThan(0n)
  })

  it("shows a guest's clock and its own account by this computer's time, and nothing of one that is off", async () => {
    const guest = { guestAgent: 'answering', cloudInit: 'error', modules: [{ name: 'runcmd', result: 'failed' }] }
    const before = Date.now()
    report(undefined, {
      vms: [{ vmId, phase: 'ready', power: 'running', clock: behind(41_200), guest }],
    })
    const shown = async () => (await client.vms.getVm({ vm: 'db' })).vm
    await expect.poll(async () => (await shown())?.clock?.offsetUs).toBe(-41_200_000n)
    const vm = await shown()
    const at = vm?.clock?.measuredAt
    expect(at && timestampMs(at)).toBeGreaterThanOrEqual(before - 1_000)
    expect(at && timestampMs(at)).toBeLessThanOrEqual(Date.now() + 1_000)
    expect(vm?.guest).toMatchObject({ cloudInit: 'error', modules: [{ name: 'runcmd', result: 'failed' }] })
    report(behind(41_200), {}, 'stopped')
    await expect.poll(async () => (await shown())?.power).toBe('stopped')
    expect((await shown())?.clock).toBeUndefined()
  })

  it('sets a clock through the host, and answers what was measured after', async () => {
    report(behind(41_200))
    await expect.poll(async () => (await client.vms.getVm({ vm: 'db' })).vm?.power).toBe('running')
    const asked: string[] = []
    agent.setClock = async (request) => {
      asked.push(request.vmId)
      const at = timestampFromMs(Date.now() + AHEAD_MS)
      const lastAct = { cause: 'asked', means: 'set_time', result: 'done', offsetBeforeUs: -41_200_000n, at }
      return { clock: behind(0, { offsetUs: 900n, lastAct }) }
    }
    const { clock } = await client.clock.setGuestClock({ vm: 'db' })
    expect(asked).toEqual([vmId])
    expect(clock).toMatchObject({ offsetUs: 900n, lastAct: { result: 'done', means: 'set_time' } })
    const at = clock?.lastAct?.at
    expect(at && Math.abs(timestampMs(at) - Date.now())).toBeLessThan(60_000)
    const { entries } = await client.audit.listAudit({ vm: 'db', limit: 1 })
    expect(entries).toMatchObject([{ action: 'vm.set_clock', detail: { result: 'done' } }])
  })

  it('says why a clock was not set', async () => {
    const set = () => faultOf(client.clock.setGuestClock({ vm: 'db' }))
    const failed = (lastAct: NonNullable<Guest['lastAct']>) => {
      agent.setClock = async () => ({ clock: { source: '', lastAct } })
    }
    expect(await set()).toMatchObject({ code: 'agent/version-skew', params: { host: 'rack' } })
    failed({ cause: 'asked', means: 'set_time', result: 'failed', detail: 'the guest agent is silent.' })
    expect(await set()).toMatchObject({ code: 'clock/not-set', params: { detail: 'the guest agent is silent' } })
    agent.setClock = async () => {
      throw new Error('what is that')
    }
    expect((await set()).params).toMatchObject({ vm: 'db', host: 'rack' })
    await client.vms.updateVm({ vm: 'db', clockPolicy: 'windows-domain' })
    failed({ cause: 'asked', means: 'none', result: 'failed' })
    expect(await set()).toMatchObject({ code: 'clock/left-alone', params: { policy: 'windows-domain' } })
    report(undefined, {}, 'stopped')
    await expect.poll(async () => (await client.vms.getVm({ vm: 'db' })).vm?.power).toBe('stopped')
    expect(await set()).toMatchObject({ code: 'clock/not-running' })
    expect(await faultOf(client.clock.setGuestClock({ vm: 'nobody' }))).toMatchObject({ code: 'vm/not-found' })
    await agent.stop()
    await expect.poll(async () => (await client.hosts.getHost({ host: 'rack' })).host?.link).not.toBe('connected')
    expect((await set()).code).toBe('host/no-answer')
  })

  it('a policy is part of what a VM should be: made with it, changed, told to the host, refused when it is none', async () => {
    const policyOf = () => agent.snapshots.at(-1)?.state?.vms.find((vm) => vm.vmId === vmId)?.clockPolicy
    await expect.poll(policyOf).toBe('')
    const changed = await client.vms.updateVm({ vm: 'db', clockPolicy: 'host-only' })
    expect(changed).toMatchObject({ vm: { clockPolicy: 'host-only' }, notReached: POLICY_NOT_REACHED })
    await expect.poll(policyOf).toBe('host-only')
    const { epoch } = (await client.hosts.getHost({ host: 'rack' })).host ?? {}
    for (const request of [{ vm: 'db', clockPolicy: 'host-only' }, { vm: 'db' }])
      expect(await client.vms.updateVm(request)).toMatchObject({ vm: { clockPolicy: 'host-only' }, notReached: '' })
    expect((await client.hosts.getHost({ host: 'rack' })).host?.epoch).toBe(epoch)
    const wrong = await faultOf(client.vms.updateVm({ vm: 'db', clockPolicy: 'ntp' }))
    expect(wrong).toMatchObject({ code: 'input/invalid', params: { field: 'clock_policy' } })
    const { entries } = await client.audit.listAudit({ vm: 'db', limit: 1 })
    expect(entries).toMatchObject([{ action: 'vm.update', detail: { name: 'db' } }])
    expect(JSON.parse(entries[0]?.after ?? '')).toMatchObject({ clock_policy: 'host-only' })
  })
})

describe('clocks on the command line', () => {
  it('has a row for each host and guest, and names the wrong clock below', async () => {
    await compared(behind(41_200))
    const { out, code } = await eitri('clock')
    expect(code).toBe(0)
    expect(out).toMatch(/^NAME +ON +CLOCK +OFFSET +SOURCE +STATE +LAST ACT +AS OF\n/)
    expect(out).toMatch(
      /\nrack +In step +2 ms ahead +chrony from 10\.0\.0\.1, stratum 2 +synchronised, .*this computer is wrong/,
    )
    expect(out).toMatch(/\ndb +rack +Jumped +41\.2 s behind +guest agent +policy auto +\d{4}-/)
    expect(out).toMatch(
      /\n\nThis computer's clock is the wrong one, (59 min 59 s|1 h) behind: rack, which is synchronised/,
    )
  })

  it('is a document with the words and the numbers', async () => {
    await compared(behind(41_200))
    const { summary, hosts, vms } = (await eitri('clock', '--json')).json()
    expect(summary).toContain('the wrong one')
    expect(hosts).toMatchObject([{ name: 'rack', word: 'In step', clock: { wrong: 'app', offset_us: '1500' } }])
    expect(vms).toMatchObject([
      { name: 'db', host_name: 'rack', word: 'Jumped', clock_policy: 'auto', clock: { offset_us: '-41200000' } },
    ])
  })

  it('never shows what was not measured as zero', async () => {
    report({ detail: 'no guest agent answers' })
    await expect.poll(async () => (await client.vms.getVm({ vm: 'db' })).vm?.power).toBe('running')
    const { out } = await eitri('clock', 'db')
    expect(out).toMatch(/\ndb +rack +Not reported +no guest agent answers +policy auto\n/)
    expect(out).not.toMatch(/\b0 ms/)
    expect((await eitri('clock', 'db', '--json')).json()).toMatchObject({ hosts: [], vms: [{ word: 'Not reported' }] })
    expect((await eitri('vm', 'show', 'db')).out).toMatch(/\nclock: +Not reported; no guest agent answers\n/)
  })

  it('says why nothing tells how a host is kept', async () => {
    const detail = 'No time service of this host says how its clock is kept.'
    report(undefined, { clock: { state: '', detail } })
    await expect.poll(async () => (await client.hosts.getHost({ host: 'rack' })).host?.clock?.detail).toBe(detail)
    expect((await eitri('clock', 'rack')).out).toMatch(/\nrack +Not reported +No time service of this host/)
    expect((await eitri('host', 'show', 'rack')).out).toMatch(/\nclock: +Not reported; .*; No time service/)
  })

  it('is of one host with its guests, of one VM, or of nothing there is', async () => {
    await compared(behind(0))
    expect((await eitri('clock', 'rack', '--json')).json()).toMatchObject({ hosts: [{}], vms: [{ name: 'db' }] })
    expect((await eitri('clock', 'db', '--json')).json()).toMatchObject({ hosts: [], vms: [{ name: 'db' }] })
    expect(await eitri('clock', 'nobody')).toMatchObject({ code: 1, err: expect.stringContaining('nobody') })
  })

  it('sets a clock, or says in one line why not', async () => {
    report(behind(41_200))
    await expect.poll(async () => (await client.vms.getVm({ vm: 'db' })).vm?.power).toBe('running')
    agent.setClock = async () => ({
      clock: behind(0, {
        offsetUs: 2000n,
        lastAct: { cause: 'asked', means: 'chrony_burst', result: 'done', offsetBeforeUs: -41_200_000n },
      }),
    })
    expect((await eitri('clock', 'set', 'db')).out).toMatch(
      /^db: In step \(±2 ms\), stepped by chrony \(asked for by a person, was 41\.2 s behind\)\.\n$/,
    )
    agent.setClock = async () => ({ clock: { detail: 'the guest agent is silent' } })
    const refused = await eitri('clock', 'set', 'db')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toMatch(/^The clock of db was not set \(the guest agent is silent\)\. [^\n]+\n$/)
  })

  it('makes a VM with a policy, changes it, and says what that does not reach', async () => {
    const image = ['--image-url', 'https://images.example.test/a.qcow2', '--image-sha256', DIGEST]
    const made = await eitri('vm', 'create', 'win', ...image, '--clock-policy', 'windows-domain', '--json')
    expect(made.json()).toMatchObject({ name: 'win', clock_policy: 'windows-domain' })
    const set = await eitri('vm', 'set', 'win', '--clock-policy', 'windows-standalone')
    expect(set.out).toMatch(/\nclock policy: +windows-standalone\n/)
    expect(set.err).toContain(POLICY_NOT_REACHED)
    expect(await eitri('vm', 'set', 'win', '--clock-policy', 'ntp')).toMatchObject({
      ...{ code: 2, err: expect.stringContaining('--clock-policy "ntp" is not valid: one of auto') },
    })
    expect(await eitri('vm', 'set', 'win')).toMatchObject({ code: 2 })
    expect(await eitri('vm', 'create', 'x', ...image, '--clock-policy', 'ntp')).toMatchObject({ code: 2 })
  })

  it('shows a VM with what its guest says of itself', async () => {
    const guest = {
      ...{ guestAgent: 'answering', guestAgentVersion: '7.2', cloudInit: 'error' },
      modules: [{ name: 'runcmd', stage: 'modules-final', result: 'failed', detail: 'exit code 2' }],
      ...{ fleetPayload: 'not_applied', fleetPayloadDetail: 'user-data switches vendor data off' },
    }
    report(undefined, { vms: [{ vmId, phase: 'ready', power: 'running', guest, clock: behind(2) }] })
    await expect.poll(async () => (await client.vms.getVm({ vm: 'db' })).vm?.guest?.cloudInit).toBe('error')
    const { out } = await eitri('vm', 'show', 'db')
    expect(out).toMatch(/\nclock: +In step \(±2 ms\)\n/)
    expect(out).toMatch(/\ncloud-init: +cloud-init finished with 1 error \(runcmd\)\. The VM runs\.\n/)
    expect(out).toMatch(/\n +runcmd: +failed in modules-final: exit code 2\n/)
    expect(out).toMatch(/\npayload: +Fleet payload not applied: user-data switches vendor data off\./)
  })
})

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import { fleetClient } from '../../src/main/fleet-client.ts'
import { ITS_NAMES, OTHER, sowOtherTenant } from '../support/another-tenant.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

let rig: ScriptedHost
let dir: string

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-audit-'))
  rig = await ScriptedHost.open(sowOtherTenant)
})
afterEach(async () => {
  await rig[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: unknown) => fromConnectError(error).code,
  )
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, any>)

describe('the audit trail over the socket', () => {
  it('is a timeline of one VM, page by page, from its create on', async () => {
    const id = await rig.vm('web')
    for (const call of ['stopVm', 'startVm', 'restartVm'] as const) await rig.client.vms[call]({ vm: 'web' })
    const seen: string[] = []
    for (let beforeId = ''; ; ) {
      const page = await rig.client.audit.listAudit({ vm: 'web', limit: 3, beforeId })
      seen.push(...page.entries.map((entry) => entry.action))
      beforeId = page.nextBeforeId
      if (beforeId === '') break
    }
    expect(seen).toEqual(['vm.restart', 'vm.start', 'vm.stop', 'vm.create'])
    const [stop] = (await rig.client.audit.listAudit({ vm: id, action: 'vm.stop' })).entries
    expect([stop?.before, stop?.after].map((text) => JSON.parse(text ?? ''))).toEqual([
      { power_state: 'running' },
      { power_state: 'stopped' },
    ])
  })

  it('answers by request, by action and by noun', async () => {
    await rig.vm('web')
    await rig.client.vms.stopVm({ vm: 'web' }, { headers: { 'x-request-id': 'run-7' } })
    const actions = async (query: object) =>
      (await rig.client.audit.listAudit(query)).entries.map((entry) => entry.action)
    expect(await actions({ requestId: 'run-7' })).toEqual(['vm.stop'])
    expect(await actions({ action: 'vm.create' })).toEqual(['vm.create'])
    expect(await actions({ action: 'vm.' })).toEqual(['vm.stop', 'vm.create'])
    expect(await codeOf(rig.client.audit.listAudit({ action: 'everything' }))).toBe('input/invalid')
    expect(await codeOf(rig.client.audit.listAudit({ beforeId: 'x' }))).toBe('input/invalid')
  })

  it('is of the tenant that asks; what belongs to none is shown in the default one alone', async () => {
    const image = { name: 'base', url: 'https://images.example.test/a.qcow2', sha256: 'e'.repeat(64) }
    await rig.client.images.addImage({ ...image, arch: 'x86_64', kind: 'disk' })
    const other = fleetClient(rig.apiSocket, { client: 'cli', tenant: OTHER })
    const of = async (client: typeof other) => (await client.audit.listAudit({ limit: 1000 })).entries
    const own = await of(rig.client)
    expect(own.map((entry) => entry.action)).toContain('image.add')
    expect(new Set(own.map((entry) => entry.tenant))).toEqual(new Set(['default', 'system']))
    const theirs = await of(other)
    expect(new Set(theirs.map((entry) => entry.tenant))).toEqual(new Set([OTHER]))
    expect(theirs.map((entry) => entry.action)).toContain('vm.create')
    expect((await rig.client.audit.listAudit({ vm: ITS_NAMES.vm[0] })).entries).toEqual([])
  })

  it('is exported as JSON Lines, oldest first, into a new file of its owner or to standard output', async () => {
    await rig.vm('web')
    await rig.client.vms.stopVm({ vm: 'web' })
    const file = join(dir, 'trail.jsonl')
    expect(await rig.eitri('audit', '--export', file, '--vm', 'web')).toMatchObject({
      code: 0,
      out: `2 entries written to ${file}.\n`,
    })
    const lines = linesOf(readFileSync(file, 'utf8'))
    expect(lines.map((line) => [line['action'], line['client']])).toEqual([
      ['vm.create', 'api'],
      ['vm.stop', 'api'],
    ])
    expect(Object.keys(lines[0] ?? {})).toEqual(expect.arrayContaining(['request_id', 'vm_id', 'before', 'after']))
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const { out } = await rig.eitri('audit', '--export', '-', '--action', 'vm.')
    expect(linesOf(out).map((line) => line['action'])).toEqual(['vm.create', 'vm.stop'])
  })

  it('an export writes over no file, and leaves none that has not all', async () => {
    const file = join(dir, 'mine')
    writeFileSync(file, 'mine')
    expect(await rig.eitri('audit', '--export', file)).toMatchObject({ code: 2 })
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect((await rig.eitri('audit', '--export', join(dir, 'x'), '--tenant', 'none')).code).toBe(1)
    expect(existsSync(join(dir, 'x'))).toBe(false)
  })

  it('an export longer than a page holds every entry once and ends although the trail grows meanwhile', async () => {
    const many = 1_203
    await rig[Symbol.asyncDispose]()
    rig = await ScriptedHost.open(({ audit }) => {
      for (let n = 0; n < many; n++) audit.add({ action: 'vm.tick', tenant: 'default', detail: { n: String(n) } })
    })
    const seen: string[] = []
    for await (const { entries } of rig.client.audit.exportAudit({ filter: { action: 'vm.tick' } })) {
      expect(entries.length).toBeLessThanOrEqual(500)
      seen.push(...entries.map((entry) => entry.detail['n'] ?? ''))
      await rig.client.vms.createVm({ imageUrl: 'https://images.example.test/a.qcow2', imageSha256: 'd'.repeat(64) })
    }
    expect(seen).toEqual(Array.from({ length: many }, (_, n) => String(n)))
  })

  it('is kept for 365 days or for as long as the default tenant says, which is itself in it', async () => {
    const days = async (init: { days?: number }) => (await rig.client.audit.setAuditRetention(init)).days
    expect(await days({})).toBe(365)
    expect((await rig.eitri('audit', '--keep', '90d')).out).toBe('The trail is kept for 90 days.\n')
    expect(await days({})).toBe(90)
    expect((await rig.eitri('audit', '--keep', 'forever')).out).toBe('The trail is kept for ever.\n')
    expect((await rig.eitri('audit', '--keep', '36h')).code).toBe(2)
    const other = fleetClient(rig.apiSocket, { client: 'cli', tenant: OTHER })
    expect(await codeOf(other.audit.setAuditRetention({ days: 1 }))).toBe('input/invalid')
    const rows = (await rig.client.audit.listAudit({ action: 'audit.retention' })).entries
    expect(rows.map(({ before, after, client }) => [JSON.parse(before), JSON.parse(after), client])).toEqual([
      [{ days: 90 }, { days: 0 }, 'cli'],
      [{ days: 365 }, { days: 90 }, 'cli'],
    ])
  })

  it('what is older than retention is gone soon after it is said', async () => {
    await rig[Symbol.asyncDispose]()
    rig = await ScriptedHost.open(({ db }) => {
      db.run("INSERT INTO audit (at, action, tenant) VALUES ('2020-01-01T00:00:00.000Z', 'vm.old', 'default')")
      db.run("INSERT INTO settings VALUES ('audit.retention_days', '0')")
    })
    const old = async () => (await rig.client.audit.listAudit({ action: 'vm.old' })).entries.length
    expect(await old()).toBe(1)
    await rig.client.audit.setAuditRetention({ days: 30 })
    await expect.poll(old).toBe(0)
  })
})

describe('tenants on the command line', () => {
  it('are made, listed and limited, and their limits are lifted again', async () => {
    const made = await rig.eitri('tenant', 'create', 'team-c', '--max-vms', '1', '--grace', '0', '--json')
    expect(made.json()).toMatchObject({ name: 'team-c', limits: { max_vms: 1, grace_s: 0 }, vms: 0 })
    expect(await rig.eitri('tenant', 'create', 'team-c')).toMatchObject({ code: 1 })
    expect(await rig.eitri('tenant', 'create', 'team-c', '--if-absent')).toMatchObject({ code: 0 })
    const { tenants } = (await rig.eitri('tenant', 'list', '--json')).json()
    expect(tenants.map((tenant: { name: string }) => tenant.name)).toEqual(['default', OTHER, 'team-c'])
    const set = ['tenant', 'set', 'team-c', '--max-vms', 'none', '--max-mem-mb', '2048', '--grace', '36h', '--json']
    const { limits } = (await rig.eitri(...set)).json()
    expect(limits).toEqual({ max_mem_mb: 2048, grace_s: 129_600 })
    expect((await rig.eitri('tenant', 'list')).out).toMatch(/team-c +0 +0 +0 +0 of 2048 +0 +36h/)
  })

  it.each([
    ['system', 2],
    ['Not A Name', 2],
    ['default', 1],
  ])('%s is no name for a new one', async (name, code) => {
    expect(await rig.eitri('tenant', 'create', name)).toMatchObject({ code })
  })

  it("set without anything to set, for one that is not there and for the app's own is refused", async () => {
    expect(await rig.eitri('tenant', 'set', 'default')).toMatchObject({ code: 2 })
    for (const name of ['none', 'system']) {
      const { code, err } = await rig.eitri('tenant', 'set', name, '--max-vms', '1')
      expect([code, err]).toEqual([1, expect.stringContaining(`There is no tenant ${name}.`)])
    }
  })

  it('a create past a quota says quota, used and wanted; a delete makes room and can be taken back for its grace', async () => {
    await rig.eitri('tenant', 'set', 'default', '--max-vms', '1', '--grace', '1h')
    await rig.vm('web')
    const image = ['--image-url', 'https://images.example.test/a.qcow2', '--image-sha256', 'd'.repeat(64)]
    const full = await rig.eitri('vm', 'create', 'db', ...image)
    expect([full.code, full.err]).toEqual([
      1,
      expect.stringContaining('may have 1 VMs: it has 1 and 1 more was asked for'),
    ])
    await rig.client.vms.deleteVm({ vm: 'web' })
    await expect
      .poll(() => rig.agent.snapshots.at(-1)?.state?.vms.map((vm) => [vm.name, Number(vm.tombstone?.graceS)]))
      .toEqual([['web', 3600]])
    await rig.vm('db')
    expect(await codeOf(rig.client.vms.undeleteVm({ vm: 'web' }))).toBe('tenant/over-quota')
    await rig.eitri('tenant', 'set', 'default', '--max-vcpus', '2')
    expect(await codeOf(rig.client.vms.updateVm({ vm: 'db', vcpus: 3 }))).toBe('tenant/over-quota')
    expect(await codeOf(rig.client.vms.updateVm({ vm: 'db', vcpus: 2 }))).toBe('none')
  })

  it('is a table with names, and with what was before and is since', async () => {
    await rig.vm('web')
    await rig.client.vms.stopVm({ vm: 'web' })
    const { code, out } = await rig.eitri('audit', '--action', 'vm.stop')
    expect(code).toBe(0)
    expect(out).toMatch(/vm\.stop .* web +rack .*power_state: running → stopped/)
  })

  it('says of a name that nothing here has it, and takes no page of no entries', async () => {
    const { code, err } = await rig.eitri('audit', '--vm', 'neverwas')
    expect([code, err]).toEqual([0, expect.stringContaining('Nothing named neverwas is known')])
    expect((await rig.eitri('audit', '--host', 'rack', '--since', '1ms')).err).toBe('')
    for (const limit of ['0', '1001'])
      expect(await rig.eitri('audit', '--limit', limit)).toMatchObject({
        code: 2,
        err: expect.stringContaining('from 1 to 1000'),
      })
  })
})

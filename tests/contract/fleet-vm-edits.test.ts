import { type MessageInitShape, toJsonString } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { Fault } from '../../src/ipc/faults.ts'
import type { ReportSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmRowSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { TemplateSchema } from '../../src/ipc/gen/eitri/fleet/v1/template_pb.js'
import { type FleetClient, fleetClient } from '../../src/main/fleet-client.ts'
import { rawCall } from '../support/raw-api.ts'
import { ScriptedHost } from '../support/scripted-host.ts'
import { aHost, aVm } from '../support/store-rows.ts'

const ALL = ['clone', 'live-edit', 'autostart-order']
const THEIRS = { host: 'e'.repeat(32), vm: 'f'.repeat(32) }
let rack: ScriptedHost
let client: FleetClient
let id: string

/** Status and body of a call, nothing decoded. */
async function raw(method: string, request: object): Promise<{ status: number; text: string }> {
  const { status, body } = await rawCall(rack.apiSocket, `eitri.fleet.v1.VmService/${method}`, JSON.stringify(request))
  return { status, text: body.toString() }
}

async function open(features: readonly string[] = ALL): Promise<void> {
  rack = await ScriptedHost.open((stores) => {
    stores.db.run("INSERT INTO tenants (name, created_at) VALUES ('lab', '2026-01-01T00:00:00.000Z')")
    stores.hosts.create(aHost({ id: THEIRS.host, tenant: 'lab', name: 'their-host' }))
    stores.vms.create(aVm(THEIRS.host, { id: THEIRS.vm, name: 'theirs', trustedCas: [] }))
  })
  rack.agent.hello = { features: [...features], agentVersion: '0.9', provisioner: 'qemu' }
  rack.agent.end('transient')
  ;({ client } = rack)
  await expect
    .poll(async () => (await client.hosts.getHost({ host: 'rack' })).host?.agentVersion, { timeout: 15_000 })
    .toBe('0.9')
  id = await rack.vm('web')
}
beforeEach(() => open(), 20_000)
afterEach(() => rack[Symbol.asyncDispose]())

type Row = Exclude<MessageInitShape<typeof VmRowSchema>, { $typeName: string }>
type Said = Exclude<MessageInitShape<typeof ReportSchema>, { $typeName: string }>

/** The host says this of the VM, until the API shows it. */
async function seen(row: Row, of = id, report: Said = {}): Promise<void> {
  await expect
    .poll(async () => {
      rack.agent.report({ vms: [{ phase: 'ready', ...row, vmId: of }], ...report })
      return (await client.vms.getVm({ vm: of })).vm?.power
    })
    .toBe(row.power)
}

const faultOf = (call: Promise<unknown>): Promise<Fault> =>
  call.then(
    () => Promise.reject(new Error('nothing was raised')),
    (error: unknown) => fromConnectError(error),
  )
const told = (of = id) => rack.agent.snapshots.at(-1)?.state?.vms.find(({ vmId }) => vmId === of)
const epoch = () => rack.agent.snapshots.at(-1)?.epoch ?? 0n
const trail = async () => (await client.audit.listAudit({ vm: id, limit: 100 })).entries

describe('an edit of a VM', () => {
  it('reaches its host in one epoch and one audit row, and says what waits for a restart', async () => {
    await seen({ power: 'running' })
    const before = epoch()
    const rows = (await trail()).length
    const { vm, needsRestart, notReached } = await client.vms.updateVm({ vm: 'web', vcpus: 2, memMb: 2048, diskGb: 20 })
    expect(vm).toMatchObject({ vcpus: 2, memMb: 2048, diskGb: 20 })
    expect([needsRestart, notReached]).toEqual([['vcpus', 'mem_mb'], ''])
    await expect.poll(() => told()).toMatchObject({ vcpus: 2, memMb: 2048, diskGb: 20 })
    expect(epoch()).toBeLessThanOrEqual(before + 2n)
    expect(await trail()).toHaveLength(rows + 1)
    expect((await trail())[0]).toMatchObject({ action: 'vm.update', after: expect.stringContaining('"mem_mb":2048') })
  })

  it('of a VM that is off waits for nothing', async () => {
    await client.vms.stopVm({ vm: 'web', force: true })
    await seen({ power: 'stopped' })
    expect((await client.vms.updateVm({ vm: 'web', memMb: 2048 })).needsRestart).toEqual([])
  })

  it('shows what its host says still waits', async () => {
    await seen({ power: 'running', needsRestart: ['mem_mb'] })
    expect((await client.vms.getVm({ vm: 'web' })).vm?.needsRestart).toEqual(['mem_mb'])
  })

  it('that changes nothing leaves no row and no epoch', async () => {
    const rows = (await trail()).length
    const before = epoch()
    await client.vms.updateVm({ vm: 'web', memMb: 512, labels: {}, protected: false, name: 'web', autostart: true })
    expect(await trail()).toHaveLength(rows)
    expect(epoch()).toBe(before)
  })

  it('sets and takes away labels, and those not named stay', async () => {
    await client.vms.updateVm({ vm: 'web', labels: { team: 'a', env: 'test' } })
    const { vm } = await client.vms.updateVm({ vm: 'web', labels: { team: 'b' }, removeLabels: ['env', 'never'] })
    expect(vm?.labels).toEqual({ team: 'b' })
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`k${n}`, 'v']))
    expect(await faultOf(client.vms.updateVm({ vm: 'web', labels: many }))).toMatchObject({
      code: 'input/invalid',
      params: { field: 'labels', problem: 'at most 64 labels' },
    })
  })

  it('never makes a disk smaller', async () => {
    const fault = await faultOf(client.vms.updateVm({ vm: 'web', diskGb: 5 }))
    expect(fault).toMatchObject({
      code: 'input/invalid',
      params: { field: 'disk_gb', problem: expect.stringContaining('10 GiB') },
    })
  })

  it('renames it, says what keeps the old name, and refuses one that is taken', async () => {
    await rack.vm('db')
    expect(await faultOf(client.vms.updateVm({ vm: 'web', name: 'db' }))).toMatchObject({ code: 'vm/name-taken' })
    const { vm, notReached } = await client.vms.updateVm({ vm: 'web', name: 'www' })
    expect([vm?.id, vm?.name]).toEqual([id, 'www'])
    expect(notReached).toContain('hostname inside the guest')
    await expect.poll(() => told()?.name).toBe('www')
  })

  it('tells its host when and in what order it starts', async () => {
    const request = { vm: 'web', autostart: false, autostartDelayS: 90, autostartOrder: 7 }
    const { vm, notReached } = await client.vms.updateVm(request)
    expect(vm).toMatchObject({ autostart: false, autostartDelayS: 90, autostartOrder: 7 })
    expect(notReached).toBe('')
    await expect.poll(() => told()).toMatchObject({ autostart: false, autostartDelayS: 90, autostartOrder: 7 })
    for (const [field, change] of [
      ['autostart_delay_s', { autostartDelayS: 3601 }],
      ['autostart_order', { autostartOrder: 10_001 }],
    ] as const)
      expect(await faultOf(client.vms.updateVm({ vm: 'web', ...change }))).toMatchObject({ params: { field } })
  })

  it('asks of no host more than it has', async () => {
    await seen({ power: 'running' }, id, { capacity: { vcpus: 2, memMb: 4096n, diskGb: 100n } })
    await expect.poll(async () => (await client.hosts.getHost({ host: 'rack' })).host?.capacity?.memMb).toBe(4096n)
    expect(await faultOf(client.vms.updateVm({ vm: 'web', memMb: 5000 }))).toMatchObject({ code: 'vm/too-large' })
    expect(await faultOf(client.vms.updateVm({ vm: 'web', vcpus: 17 }))).toMatchObject({ code: 'vm/too-large' })
    expect((await client.vms.updateVm({ vm: 'web', memMb: 4096 })).vm?.memMb).toBe(4096)
  })

  it('of another tenant’s VM is answered as for none, byte for byte, and changes nothing', async () => {
    const answers = []
    for (const vm of [THEIRS.vm, 'd'.repeat(32)])
      for (const method of ['UpdateVm', 'StopVm', 'DeleteVm', 'CloneVm']) {
        const { status, text } = await raw(method, { vm, memMb: 9 })
        answers.push(`${status} ${text.replaceAll(vm, 'VM').replaceAll(/"id":"[^"]*"|"value":"[^"]*"/g, '')}`)
      }
    expect(answers.slice(0, 4)).toEqual(answers.slice(4))
    const lab = fleetClient(rack.apiSocket, { client: 'api', tenant: 'lab' })
    expect((await lab.vms.getVm({ vm: 'theirs' })).vm).toMatchObject({ memMb: 512, desiredPower: 'running' })
  })

  it('on a host whose agent cannot is refused or said, and nothing is half done', async () => {
    await rack[Symbol.asyncDispose]()
    await open(['upgrade'])
    expect(await faultOf(client.vms.updateVm({ vm: 'web', diskGb: 20, memMb: 1024 }))).toMatchObject({
      code: 'agent/cannot',
      params: { host: 'rack', version: '0.9' },
    })
    expect((await client.vms.getVm({ vm: 'web' })).vm).toMatchObject({ diskGb: 10, memMb: 512 })
    expect((await client.vms.updateVm({ vm: 'web', memMb: 1024 })).vm?.memMb).toBe(1024)
    expect((await client.vms.updateVm({ vm: 'web', autostartOrder: 3 })).notReached).toContain(
      'eitri host upgrade rack',
    )
    await client.vms.stopVm({ vm: 'web', force: true })
    await seen({ power: 'stopped' })
    expect(await faultOf(client.vms.cloneVm({ vm: 'web' }))).toMatchObject({ code: 'agent/cannot' })
  })
})

describe('a protected VM', () => {
  it('is not deleted, one by one or many at once, until that is taken away', async () => {
    const other = await rack.vm('db')
    await client.vms.updateVm({ vm: 'web', protected: true })
    const outcomes = await Promise.allSettled(['web', 'db'].map((vm) => client.vms.deleteVm({ vm })))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(await faultOf(client.vms.deleteVm({ vm: 'web' }))).toMatchObject({
      code: 'vm/protected',
      params: { vm: 'web' },
    })
    const { vms } = await client.vms.listVms({})
    expect(vms.filter(({ deletedAt }) => deletedAt).map((vm) => vm.id)).toEqual([other])
    await client.vms.updateVm({ vm: 'web', protected: false })
    await client.vms.deleteVm({ vm: 'web' })
    expect((await client.vms.getVm({ vm: id })).vm?.deletedAt).toBeDefined()
  })

  it('says so on the command line, with the way out', async () => {
    expect((await rack.eitri('vm', 'set', 'web', '--protect', '--json')).json()).toMatchObject({ protected: true })
    const refused = await rack.eitri('vm', 'delete', 'web')
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('eitri vm set web --unprotect') })
    expect((await rack.eitri('vm', 'set', 'web', '--unprotect')).code).toBe(0)
    expect((await rack.eitri('vm', 'delete', 'web')).code).toBe(0)
  })
})

describe('a deleted VM', () => {
  it('of a host that is away is deleted, brought back, deleted and purged all the same, and lives until its host acks', async () => {
    await seen({ power: 'running' })
    await rack.agent.stop()
    await expect.poll(async () => (await client.hosts.getHost({ host: 'rack' })).host?.link).not.toBe('connected')
    await client.vms.deleteVm({ vm: 'web' })
    expect((await client.vms.undeleteVm({ vm: 'web' })).vm?.deletedAt).toBeUndefined()
    await client.vms.deleteVm({ vm: 'web' })
    await client.vms.purgeVm({ vm: 'web' })
    expect((await client.vms.getVm({ vm: id })).vm?.lifecycle).toBe('deleting')
  })

  it('gives its name free at once; it comes back under another where that was taken', async () => {
    await client.vms.deleteVm({ vm: 'web' })
    const again = await rack.vm('web')
    expect(again).not.toBe(id)
    expect(
      await faultOf(client.vms.createVm({ name: 'web', imageUrl: 'https://x.test/a', imageSha256: 'd'.repeat(64) })),
    ).toMatchObject({ code: 'vm/name-taken' })
    expect(await faultOf(client.vms.undeleteVm({ vm: id }))).toMatchObject({
      code: 'vm/name-taken',
      params: { kept: 'true' },
    })
    expect((await client.vms.undeleteVm({ vm: id, newName: 'web-2' })).vm?.name).toBe('web-2')
    const lab = fleetClient(rack.apiSocket, { client: 'api', tenant: 'lab' })
    expect((await lab.vms.updateVm({ vm: 'theirs', name: 'web' })).vm?.name).toBe('web')
  })
})

describe('a clone', () => {
  const stopped = async () => {
    await client.vms.stopVm({ vm: 'web', force: true })
    await seen({ power: 'stopped' })
  }

  it('is the VM again, less its identity and its protection, made from the disk of the one it names', async () => {
    await client.vms.updateVm({ vm: 'web', protected: true, labels: { team: 'a' }, autostartOrder: 4 })
    await stopped()
    const { vm, created } = await client.vms.cloneVm({ vm: 'web', memMb: 1024, diskGb: 12 })
    expect(created).toBe(true)
    expect(vm).toMatchObject({
      ...{ name: 'web-clone', cloneOf: id, vcpus: 1, memMb: 1024, diskGb: 12, desiredPower: 'running' },
      ...{ labels: { team: 'a' }, autostartOrder: 4, protected: false, hostName: 'rack' },
    })
    expect(vm?.id).not.toBe(id)
    await expect.poll(() => told(vm?.id)).toMatchObject({ cloneOf: id, name: 'web-clone', imageSha256: 'd'.repeat(64) })
    expect((await client.vms.cloneVm({ vm: 'web', power: 'stopped' })).vm).toMatchObject({
      name: 'web-clone-2',
      desiredPower: 'stopped',
    })
    const entries = (await client.audit.listAudit({ vm: vm?.id ?? '', limit: 10 })).entries
    expect(entries.map(({ action }) => action)).toEqual(['vm.clone'])
  })

  it('of a VM that runs, is stopping or is not made yet is refused with words', async () => {
    await seen({ power: 'running' })
    expect(await faultOf(client.vms.cloneVm({ vm: 'web' }))).toMatchObject({
      code: 'vm/not-stopped',
      params: { detail: 'it is to run' },
    })
    await client.vms.stopVm({ vm: 'web' })
    expect(await faultOf(client.vms.cloneVm({ vm: 'web' }))).toMatchObject({
      params: { detail: 'it is still stopping' },
    })
    await seen({ power: 'stopped', phase: 'creating' })
    expect(await faultOf(client.vms.cloneVm({ vm: 'web' }))).toMatchObject({ code: 'vm/waiting' })
  })

  it('is no smaller than its source, has a free name, and is made on a host that is there', async () => {
    await stopped()
    await rack.vm('taken')
    expect(await faultOf(client.vms.cloneVm({ vm: 'web', diskGb: 5 }))).toMatchObject({ params: { field: 'disk_gb' } })
    expect(await faultOf(client.vms.cloneVm({ vm: 'web', name: 'taken' }))).toMatchObject({ code: 'vm/name-taken' })
    expect(await client.vms.cloneVm({ vm: 'web', name: 'taken', ifAbsent: true })).toMatchObject({ created: false })
    await rack.agent.stop()
    await expect.poll(async () => (await client.hosts.getHost({ host: 'rack' })).host?.link).not.toBe('connected')
    expect(await faultOf(client.vms.cloneVm({ vm: 'web' }))).toMatchObject({ code: 'host/no-answer' })
  })

  it('of a deleted VM is refused', async () => {
    await stopped()
    await client.vms.deleteVm({ vm: 'web' })
    expect(await faultOf(client.vms.cloneVm({ vm: 'web' }))).toMatchObject({ code: 'vm/deleted' })
  })

  it('is asked for on the command line, which says whether it was made', async () => {
    await stopped()
    const made = await rack.eitri('vm', 'clone', 'web', 'copy', '--power', 'stopped', '--json')
    expect(made.json()).toMatchObject({ name: 'copy', clone_of: id, created: true })
    const again = await rack.eitri('vm', 'clone', 'web', 'copy', '--if-absent', '--json')
    expect(again.json()).toMatchObject({ name: 'copy', created: false })
  })
})

describe('a template', () => {
  const image = { imageUrl: 'https://images.example.test/a.qcow2', imageSha256: 'd'.repeat(64) }

  it('gives a new VM what its request leaves out, and no keys', async () => {
    const cloudInit = new TextEncoder().encode('#cloud-config\npackages: [jq]\n')
    const keys = ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtleWtleWtleWtleWtleWtleWtleWtleWtleWtleQ== me']
    await client.vms.createVm({
      ...{
        name: 'model',
        ...image,
        vcpus: 2,
        memMb: 768,
        diskGb: 7,
        cloudInit,
        sshAuthorizedKeys: keys,
        protected: true,
      },
      ...{ labels: { a: '1', b: '2' }, autostart: false, autostartOrder: 5, clockPolicy: 'none', power: 'stopped' },
    })
    const { template, created } = await client.templates.createTemplate({
      name: 'small',
      vm: 'model',
      description: 'ours',
    })
    expect(created).toBe(true)
    expect(template).toMatchObject({
      ...image,
      image: '',
      vcpus: 2,
      memMb: 768,
      cloudInitBytes: cloudInit.length,
      description: 'ours',
    })
    expect(toJsonString(TemplateSchema, template!)).not.toMatch(/AAAAC3|jq/)
    const { vm } = await client.vms.createVm({ name: 'one', template: 'small', memMb: 1024, labels: { b: '3' } })
    expect(vm).toMatchObject({
      ...{ vcpus: 2, memMb: 1024, diskGb: 7, labels: { a: '1', b: '3' }, autostart: false, autostartOrder: 5 },
      ...{ clockPolicy: 'none', protected: true, desiredPower: 'running' },
    })
    await expect.poll(() => told(vm?.id)?.cloudInit.length).toBe(cloudInit.length)
    expect(told(vm?.id)?.sshAuthorizedKeys).toEqual([])
  })

  it('is one of its tenant, under a name that is its own', async () => {
    await client.templates.createTemplate({ name: 'small', vm: 'web' })
    expect(await faultOf(client.templates.createTemplate({ name: 'small', vm: 'web' }))).toMatchObject({
      code: 'template/name-taken',
    })
    expect(await client.templates.createTemplate({ name: 'small', vm: 'web', ifAbsent: true })).toMatchObject({
      created: false,
    })
    const lab = fleetClient(rack.apiSocket, { client: 'api', tenant: 'lab' })
    expect((await lab.templates.listTemplates({})).templates).toEqual([])
    expect(await faultOf(lab.templates.removeTemplate({ template: 'small' }))).toMatchObject({
      code: 'template/not-found',
    })
    expect(await faultOf(lab.vms.createVm({ name: 'x', template: 'small' }))).toMatchObject({
      code: 'template/not-found',
    })
    expect(await faultOf(client.templates.createTemplate({ name: 'b', vm: 'theirs' }))).toMatchObject({
      code: 'vm/not-found',
    })
    await client.templates.removeTemplate({ template: 'small' })
    expect((await client.templates.listTemplates({})).templates).toEqual([])
  })

  it('of a VM whose image nobody has any more is refused', async () => {
    const { image: row } = await client.images.addImage({ name: 'gone', url: image.imageUrl, sha256: '7'.repeat(64) })
    await client.vms.createVm({ name: 'b', image: 'gone' })
    expect((await client.templates.createTemplate({ name: 'by-name', vm: 'b' })).template?.image).toBe('gone')
    expect(row?.name).toBe('gone')
  })

  it('is listed, made and removed on the command line', async () => {
    const made = await rack.eitri('template', 'create', 'small', '--vm', 'web', '--json')
    expect(made.json()).toMatchObject({ name: 'small', created: true, mem_mb: 512 })
    expect((await rack.eitri('template', 'list')).out).toMatch(/^NAME +IMAGE.*\nsmall +https/)
    expect((await rack.eitri('vm', 'create', 'two', '--template', 'small', '--json')).json()).toMatchObject({
      name: 'two',
      created: true,
    })
    expect((await rack.eitri('template', 'remove', 'small', '--json')).json()).toEqual({ removed: 'small' })
    expect((await rack.eitri('template', 'create', 'x')).code).toBe(2)
  })
})

describe('eitri vm set', () => {
  it('changes many things at once, and says beside the answer what waits and what is not reached', async () => {
    await seen({ power: 'running' })
    const set = ['vm', 'set', 'web', '--mem-mb', '1024', '--label', 'a=1', '--label', 'b=2', '--autostart-delay', '2m']
    const { code, out, err } = await rack.eitri(...set, '--autostart-order', '9', '--rename', 'www')
    expect(code).toBe(0)
    expect(out).toMatch(/labels: +a=1, b=2/)
    expect(out).toMatch(/autostart: +120 s after its host booted, order 9/)
    expect(err).toContain('At its next start the guest gets: mem_mb, name. See "eitri vm restart www".')
    expect(err).toContain('hostname inside the guest')
    const json = (await rack.eitri('vm', 'set', 'www', '--remove-label', 'a', '--no-autostart', '--json')).json()
    expect(json).toMatchObject({ labels: { b: '2' }, autostart: false, not_reached: '', needs_restart: [] })
  })

  it.each([
    [[], 'say what to change'],
    [['--protect', '--unprotect'], 'not both'],
    [['--mem-mb', '0'], 'must be at least 1'],
    [['--autostart-delay', '2h'], 'at most 3600 seconds'],
    [['--rename', 'Not A Name'], 'lower-case'],
  ])('with %j is refused: %s', async (argv, words) => {
    const { code, err } = await rack.eitri('vm', 'set', 'web', ...argv)
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(words) })
  })
})

describe('a new VM', () => {
  const image = { imageUrl: 'https://images.example.test/a.qcow2', imageSha256: 'd'.repeat(64) }

  it('without a name is called sandbox- and six hex characters', async () => {
    expect((await client.vms.createVm(image)).vm?.name).toMatch(/^sandbox-[0-9a-f]{6}$/)
    const { out } = await rack.eitri('vm', 'create', '--image-url', image.imageUrl, '--image-sha256', image.imageSha256)
    expect(out).toMatch(/^name: +sandbox-[0-9a-f]{6}$/m)
  })

  it('has an image by URL and digest or by neither, and then the default of its host’s architecture', async () => {
    for (const half of [{ imageUrl: image.imageUrl }, { imageSha256: image.imageSha256 }])
      expect(await faultOf(client.vms.createVm({ name: 'half', ...half }))).toMatchObject({ code: 'input/invalid' })
    expect(await faultOf(client.vms.createVm({ name: 'none' }))).toMatchObject({ code: 'image/none-default' })
    await client.images.addImage({ name: 'first', url: image.imageUrl, sha256: '5'.repeat(64), makeDefault: true })
    expect((await client.vms.createVm({ name: 'none' })).vm?.imageName).toBe('first')
  })

  it('has sizes of at least one, zeros being defaults', async () => {
    const { vm } = await client.vms.createVm({ name: 'zeros', ...image, vcpus: 0, memMb: 0, diskGb: 0 })
    expect(vm).toMatchObject({ vcpus: 1, memMb: 512, diskGb: 10 })
  })

  it('on a host that is missing or another tenant’s is refused in the same bytes', async () => {
    const answers = []
    for (const host of [THEIRS.host, 'd'.repeat(32)]) {
      const { status, text } = await raw('CreateVm', {
        name: 'x',
        host,
        ...image,
      })
      answers.push(`${status} ${text.replaceAll(host, 'HOST').replaceAll(/"id":"[^"]*"|"value":"[^"]*"/g, '')}`)
    }
    expect(answers[0]).toBe(answers[1])
  })

  it('is to run unless it is said otherwise, and gives back nothing of its user-data and its keys', async () => {
    const cloudInit = new TextEncoder().encode('#cloud-config\n# only-written\n')
    const keys = ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG9ubHktd3JpdHRlbi1rZXktb25seS13cml0dGVu me']
    const { vm } = await client.vms.createVm({ name: 'x', ...image, cloudInit, sshAuthorizedKeys: keys })
    expect(vm?.desiredPower).toBe('running')
    const shown = await raw('GetVm', { vm: 'x' })
    expect(shown.text).not.toMatch(/only-written|b25seS13cml0dGVu|cloudInit/)
  })
})

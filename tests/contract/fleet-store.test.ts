import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FleetService } from '../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { HostService } from '../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { ImageService } from '../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import { PortService } from '../../src/ipc/gen/eitri/fleet/v1/port_pb.js'
import { StoreService } from '../../src/ipc/gen/eitri/fleet/v1/store_pb.js'
import { SupportService } from '../../src/ipc/gen/eitri/fleet/v1/support_pb.js'
import { TaskService } from '../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { TenantService } from '../../src/ipc/gen/eitri/fleet/v1/tenant_pb.js'
import { TrustService } from '../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import { VmService } from '../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { goesOn } from '../../src/main/control/api/read-only.ts'
import { bytesOf, DAMAGES } from '../support/damage.ts'
import { Desk } from '../support/desk.ts'
import { LiveAgent } from '../support/live-agent.ts'
import { rawCall } from '../support/raw-api.ts'

const SOON = { timeout: 10_000, interval: 20 }

let agent: LiveAgent
let desk: Desk

beforeEach(async () => {
  agent = await LiveAgent.open()
  desk = new Desk()
  desk.host(agent, 'rack')
  await desk.start()
  await connected()
})
afterEach(async () => {
  await desk[Symbol.asyncDispose]()
  await agent[Symbol.asyncDispose]()
})

const link = async () => (await desk.client.hosts.getHost({ host: 'rack' })).host?.link
const connected = () => expect.poll(link, SOON).toBe('connected')
function linkTo(folder: string): string {
  const link = join(folder, 'link')
  symlinkSync(folder, link)
  return link
}
const store = () => desk.client.store.getStore({})
const vmsByName = async () =>
  Object.fromEntries((await desk.client.vms.listVms({})).vms.map((vm) => [vm.name || vm.id, vm]))
const runs = (...ids: string[]) => expect.poll(() => agent.running, SOON).toEqual(ids.sort())
const called = async (method: string, body = '{}') => {
  const { status, body: bytes } = await rawCall(desk.paths.apiSocket, `eitri.fleet.v1.${method}`, body)
  return { status, text: bytes.toString() }
}

/** Two that run, one that is stopped, one deleted, and a published port. */
async function aFleet() {
  const [web, db, cold, old] = [
    await desk.vm('web'),
    await desk.vm('db'),
    await desk.vm('cold', 'stopped'),
    await desk.vm('old'),
  ]
  await desk.client.ports.publishPort({ vm: 'web', guestPort: 80, hostPort: 8080, protocol: 'tcp', scope: 'lan' })
  await runs(web, db, old)
  await desk.client.vms.deleteVm({ vm: 'old' })
  await runs(web, db)
  await expect.poll(() => agent.rig.engine.report().quarantined.length, SOON).toBe(1)
  return { web, db, cold, old }
}

describe('a copy of the store', () => {
  it('is whole, sealed to its owner, known by its digest, and remembered', async () => {
    await aFleet()
    const path = join(dirname(desk.database), 'copy')
    const answer = await desk.client.store.backupStore({ path })
    expect(answer).toMatchObject({ path, sizeBytes: BigInt(statSync(path).size) })
    expect(answer.sha256).toBe(createHash('sha256').update(readFileSync(path)).digest('hex'))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const copy = new DatabaseSync(path, { readOnly: true })
    expect(copy.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    expect(
      copy
        .prepare('SELECT name FROM vms ORDER BY name')
        .all()
        .map(({ name }) => name),
    ).toEqual(['cold', 'db', 'old', 'web'])
    copy.close()
    expect((await store()).copies.map((one) => one.path)).toContain(path)
    expect((await desk.client.audit.listAudit({})).entries.map(({ action }) => action)).toContain('store.backup')
  })

  it.each([
    ['a relative path', () => 'copy'],
    ['a path that is taken', () => desk.paths.lock],
    ['a folder that is not there', () => '/nowhere/at/all/copy'],
    ['the name of the database', () => desk.database],
    ['a name beside it', () => `${desk.database}-wal`],
    [
      'a name beside it by another way',
      () => join(linkTo(dirname(desk.database)), `${basename(desk.database)}-journal`),
    ],
    ['the empty path', () => ''],
  ])('is refused at %s, and nothing is written there', async (_, path) => {
    writeFileSync(desk.paths.lock, 'held')
    const before = readFileSync(desk.paths.lock)
    await expect(desk.client.store.backupStore({ path: path() })).rejects.toMatchObject({
      rawMessage: expect.stringMatching(/^path .*is not valid: /),
    })
    expect(readFileSync(desk.paths.lock)).toEqual(before)
    expect(await desk.vm('still')).not.toBe('')
  })

  it('holds no private key, and names where those are', async () => {
    const path = join(dirname(desk.database), 'copy')
    await desk.vm('web')
    const { needs } = await desk.client.store.backupStore({ path })
    const text = readFileSync(path).toString('latin1')
    expect(text).not.toMatch(/PRIVATE KEY|openssh-key-v1/)
    expect(needs.join('\n')).toContain(desk.paths.caKeys)
  })

  it('is made by the command line, which says what a restore elsewhere needs', async () => {
    await desk.vm('web')
    const path = join(dirname(desk.database), 'copy')
    const made = await desk.eitri('backup', path)
    expect(made).toMatchObject({
      code: 0,
      out: expect.stringContaining('A restore on another computer needs beside it:'),
    })
    expect(made.out).toMatch(/SHA-256 [0-9a-f]{64}/)
    expect(await desk.eitri('backup', path)).toMatchObject({
      code: 2,
      err: expect.stringContaining('there is a file of that name'),
    })
    const shown = (await desk.eitri('--json', 'store')).json()
    expect(shown).toMatchObject({ problem: '', read_only_reason: '', hosts_ahead: [], path: desk.database })
    expect((await desk.eitri('store')).out).toContain(path)
  })
})

describe('a copy that is put back', () => {
  it('is not while the app runs; then it is what the fleet is, and the one before is kept', async () => {
    const { web } = await aFleet()
    const path = join(dirname(desk.database), 'copy')
    await desk.eitri('backup', path)
    await desk.client.vms.startVm({ vm: 'cold' })
    await desk.stop()
    const done = await desk.eitri('--json', 'restore', path)
    expect(done).toMatchObject({ code: 0 })
    const { kept_at, hosts, vms, needs } = done.json()
    expect({ hosts, vms }).toEqual({ hosts: 1, vms: 4 })
    expect(needs.length).toBeGreaterThan(0)
    expect(desk.stored(({ vms: rows }) => rows.find(web)?.name)).toBe('web')
    const before = new DatabaseSync(kept_at, { readOnly: true })
    expect(before.prepare("SELECT power_state FROM vms WHERE name = 'cold'").get()).toEqual({ power_state: 'running' })
    before.close()
  })

  it('was sent nothing after it was made: the hosts go on with it at once', async () => {
    const { web, db } = await aFleet()
    const path = join(dirname(desk.database), 'copy')
    await desk.eitri('backup', path)
    await desk.stop()
    await desk.eitri('restore', path)
    await desk.start()
    await connected()
    expect((await store()).problem).toBe('')
    await desk.client.vms.stopVm({ vm: 'db', force: true })
    await runs(web)
    expect(agent.kept).toContain(db)
  })

  it.each(Object.keys(DAMAGES).filter((name) => name !== 'no file at all'))(
    'is refused with %s, and the database stays',
    async (name) => {
      const path = join(dirname(desk.database), 'copy')
      await desk.vm('web')
      await desk.eitri('backup', path)
      await desk.stop()
      DAMAGES[name]?.(path)
      const before = bytesOf(desk.database)
      expect(await desk.eitri('restore', path)).toMatchObject({
        code: 1,
        err: expect.stringContaining('cannot be put back'),
      })
      expect(bytesOf(desk.database)).toEqual(before)
    },
  )

  it('is refused when it is of a newer version, is not there, or is the database itself', async () => {
    const path = join(dirname(desk.database), 'copy')
    await desk.eitri('backup', path)
    await desk.stop()
    const newer = new DatabaseSync(path)
    newer.exec('PRAGMA user_version = 999')
    newer.close()
    for (const [file, words] of [
      [path, 'newer version'],
      [join(path, 'none'), 'no such file'],
      [desk.database, 'the database itself'],
    ] as const)
      expect(await desk.eitri('restore', file)).toMatchObject({ code: 1, err: expect.stringContaining(words) })
  })

  it('never overtakes a host that was sent its first things since', async () => {
    const path = join(dirname(desk.database), 'copy')
    await desk.stop()
    const fresh = new Desk('fresh')
    const other = await LiveAgent.open()
    try {
      fresh.host(other, 'rack')
      copyFileSync(fresh.database, path)
      await fresh.start()
      const id = await fresh.vm('web')
      await expect.poll(() => other.running, SOON).toEqual([id])
      await fresh.stop()
      await fresh.eitri('restore', path)
      const taken = other.taken.length
      await fresh.start()
      await expect.poll(async () => (await fresh.client.store.getStore({})).hostsAhead, SOON).toEqual(['rack'])
      await fresh.vm('more')
      expect(other.taken).toHaveLength(taken)
      expect(other.running).toEqual([id])
    } finally {
      await fresh[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
    }
  })
})

describe('a damaged store', () => {
  const damaged = async (name: string) => {
    await desk.stop()
    DAMAGES[name]?.(desk.database)
    await desk.start()
  }

  it.each(Object.keys(DAMAGES))(
    'with %s is served for reading, its VMs run on, and the file stays as it is',
    async (name) => {
      const { web, db } = await aFleet()
      const taken = agent.taken.length
      await damaged(name)
      const before = bytesOf(desk.database)
      const { readOnlyReason, problem } = await store()
      expect({ problem, reason: readOnlyReason === '' }).toEqual({ problem: 'damaged', reason: false })
      expect(await desk.client.fleet.getInfo({})).toMatchObject({
        storeProblem: 'damaged',
        storeReadOnlyReason: readOnlyReason,
      })
      for (const [method, body] of [
        ['VmService/CreateVm', '{"name":"more"}'],
        ['VmService/StopVm', `{"vm":"${web}","force":true}`],
        ['VmService/DeleteVm', `{"vm":"${db}"}`],
        ['HostService/RemoveHost', `{"host":"rack","force":true}`],
        ['StoreService/BackupStore', '{"path":"/tmp/copy-of-a-damaged-store"}'],
      ] as const) {
        const { status, text } = await called(method, body)
        expect(status, method).toBe(400)
        expect(text, method).toContain('store/read-only')
      }
      const line = await desk.eitri('vm', 'stop', 'web', '--force')
      expect(line).toMatchObject({ code: 1, err: expect.stringContaining('open for reading only') })
      expect(line.err).toContain('eitri store rebuild')
      expect((await desk.eitri('store')).out).toContain('eitri restore FILE')
      expect(agent.running).toEqual([web, db].sort())
      expect(agent.taken).toHaveLength(taken)
      expect(bytesOf(desk.database)).toEqual(before)
      expect(existsSync('/tmp/copy-of-a-damaged-store')).toBe(false)
    },
  )

  it('shows VMs of hosts whose own rows are lost as unowned, running as they do', async () => {
    const { web, db, cold, old } = await aFleet()
    await desk.stop()
    lose(desk.database, 'vms')
    await desk.start()
    await connected()
    await expect.poll(async () => (await desk.client.vms.listVms({})).vms.length, SOON).toBe(4)
    const vms = (await desk.client.vms.listVms({})).vms
    expect(vms.map(({ id }) => id).sort()).toEqual([web, db, cold, old].sort())
    for (const vm of vms) expect(vm.unowned).toBe(true)
    expect(vms.find(({ id }) => id === web)?.power).toBe('running')
    expect((await desk.client.vms.listVms({})).vms.find(({ id }) => id === cold)?.power).toBe('stopped')
    const { text } = await called('VmService/AdoptVm', `{"vm":"${web}"}`)
    expect(text).toContain('store/read-only')
  })

  it('is made anew from what its hosts hold: VMs, deletions and ports are as they were, and nothing stops', async () => {
    const { web, db, cold, old } = await aFleet()
    const [port] = (await desk.client.ports.listPorts({})).ports
    await desk.stop()
    lose(desk.database, 'vms', 'exposures')
    await desk.start()
    await connected()
    const { keptAt, notes } = await desk.client.store.rebuildStore({})
    expect(existsSync(keptAt)).toBe(true)
    expect(notes).toEqual(expect.arrayContaining([expect.stringContaining('VMs')]))
    expect(await store()).toMatchObject({ problem: '', readOnlyReason: '', lost: [], hostsAhead: [] })
    await expect.poll(async () => (await vmsByName())['web']?.unowned, SOON).toBe(false)
    const vms = await vmsByName()
    expect([vms['web']?.id, vms['db']?.id, vms['cold']?.id, vms['old']?.id]).toEqual([web, db, cold, old])
    expect([vms['cold']?.desiredPower, vms['web']?.desiredPower]).toEqual(['stopped', 'running'])
    await expect.poll(async () => (await vmsByName())['old']?.quarantineEndsAt !== undefined, SOON).toBe(true)
    expect((await desk.client.ports.listPorts({})).ports).toMatchObject([{ id: port?.id, hostPort: 8080, vmId: web }])
    const [image] = (await desk.client.images.listImages({})).images
    expect(image).toMatchObject({ sha256: 'd'.repeat(64), url: 'https://images.example.test/a.qcow2' })
    expect(agent.running).toEqual([web, db].sort())
    await desk.client.vms.stopVm({ vm: 'db', force: true })
    await runs(web)
    await desk.client.vms.undeleteVm({ vm: 'old' })
    await runs(web, old)
    await desk.stop()
    await desk.start()
    await connected()
    expect((await store()).problem).toBe('')
    expect((await desk.client.vms.listVms({})).vms).toHaveLength(4)
  })

  it('whose hosts are lost too is begun anew under the same fleet: a host that is added again gives its VMs back', async () => {
    const { web, db } = await aFleet()
    const fleet = (await desk.client.fleet.getInfo({})).fleetId
    await damaged('an overwritten first page')
    expect((await desk.client.hosts.listHosts({})).hosts).toEqual([])
    const out = await desk.eitri('store', 'rebuild', '--yes')
    expect(out).toMatchObject({ code: 0, out: expect.stringContaining('add each again') })
    expect((await desk.client.fleet.getInfo({})).fleetId).toBe(fleet)
    await desk.stop()
    desk.host(agent, 'rack')
    await desk.start()
    await connected()
    await expect.poll(async () => (await vmsByName())['web']?.unowned, SOON).toBe(true)
    expect((await desk.eitri('vm', 'adopt', 'web')).code).toBe(0)
    expect((await vmsByName())['web']).toMatchObject({ id: web, unowned: false })
    expect(agent.running).toEqual([web, db].sort())
  })

  it('sends nothing to a host that could not be asked, until a person decides', async () => {
    const { web, db } = await aFleet()
    await desk.stop()
    lose(desk.database, 'vms')
    await agent.restart()
    const { socketPath } = agent
    const raw = new DatabaseSync(desk.database)
    raw.exec("UPDATE hosts SET agent_socket_path = '/nowhere/agent.sock'")
    raw.close()
    await desk.start()
    const { notes } = await desk.client.store.rebuildStore({})
    expect(notes.join()).toContain('eitri host takeover rack --from-older')
    await desk.stop()
    desk.stored(({ db: sql }) => sql.run('UPDATE hosts SET agent_socket_path = $socketPath', { socketPath }))
    const taken = agent.taken.length
    await desk.start()
    await connected()
    await expect.poll(async () => (await store()).hostsAhead, SOON).toEqual(['rack'])
    expect((await store()).problem).toBe('older_than_hosts')
    await desk.vm('more')
    expect(agent.taken).toHaveLength(taken)
    expect(await desk.eitri('host', 'takeover', 'rack', '--from-older', '--yes')).toMatchObject({ code: 0 })
    await expect.poll(() => agent.running.length, SOON).toBe(3)
    expect(agent.running).toEqual(expect.arrayContaining([web, db]))
  })

  it('that can be changed is not made anew', async () => {
    expect(await desk.eitri('store', 'rebuild', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('nothing to rebuild'),
    })
    expect(await desk.eitri('store', 'rebuild')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') })
  })
})

describe('calls', () => {
  it('that change something are told from those that only look by their names', () => {
    const services = [
      FleetService,
      HostService,
      VmService,
      ImageService,
      PortService,
      TaskService,
      TenantService,
      TrustService,
      StoreService,
      SupportService,
    ]
    const names = services.flatMap(({ methods }) => methods.map(({ name }) => name))
    expect(
      names
        .filter(goesOn)
        .filter((name) => !/^(Get|List|Watch)/.test(name))
        .sort(),
    ).toEqual(['PreviewBundle', 'ProbePort', 'RebuildStore', 'ReconnectHost', 'ShowSsh', 'SignInHost', 'WriteBundle'])
  })
})

describe('reports that say nothing new', () => {
  it('write nothing: a hundred of fifty VMs', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, (_, n) => desk.vm(`vm-${n}`)))
    await runs(...ids)
    const seen = async () => (await desk.client.hosts.getHost({ host: 'rack' })).host?.lastSeenAgeMs
    await expect
      .poll(async () => Object.values(await vmsByName()).filter((vm) => vm.lifecycle === 'ready').length, SOON)
      .toBe(50)
    const before = await store()
    const log = statSync(`${desk.database}-wal`).size
    for (let n = 0; n < 100; n++) {
      agent.report()
      await expect.poll(() => agent.reported, SOON).toBeGreaterThan(n)
    }
    expect(await seen()).toBeDefined()
    const after = await store()
    expect(after.writes - before.writes).toBe(0n)
    expect(statSync(`${desk.database}-wal`).size).toBe(log)
  })
})

/** Overwrites the pages of tables, as a disk does. */
function lose(file: string, ...tables: string[]): void {
  const raw = new DatabaseSync(file)
  const pages = tables.flatMap((table) =>
    raw
      .prepare('SELECT pageno FROM dbstat WHERE name = $table')
      .all({ table })
      .map(({ pageno }) => Number(pageno)),
  )
  raw.close()
  const bytes = readFileSync(file)
  for (const page of pages) bytes.fill(0x5a, (page - 1) * 4096, page * 4096)
  writeFileSync(file, bytes)
}

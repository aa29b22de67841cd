import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { faultLine } from '../../src/ipc/fault-text.ts'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { Fault } from '../../src/ipc/faults.ts'
import type { FleetDelta, WatchFleetResponse } from '../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { Vm } from '../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { type ControlPlane, createControlPlane } from '../../src/main/control/control-plane.ts'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import type { Ports } from '../../src/main/control/ports.ts'
import { openStores } from '../../src/main/control/store/stores.ts'
import { type FleetClient, fleetClient } from '../../src/main/fleet-client.ts'
import { FakeSyncAgent } from '../support/fake-sync-agent.ts'

const HOST = 'a'.repeat(32)
const DIGEST = 'd'.repeat(64)
let dir: string
let agent: FakeSyncAgent
let ports: Ports
let control: ControlPlane
let client: FleetClient
const stops: AbortController[] = []

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-api-'))
  agent = await FakeSyncAgent.start()
  const paths = { ...controlPaths({ dataDir: join(dir, 'data'), env: { HOME: dir } }), renderer: undefined }
  ports = {
    clock: systemClock,
    log: silentLog,
    paths,
    env: { HOME: dir },
    version: '0.1.0-test',
    platform: 'linux',
    arch: 'x64',
    controllerName: 'test',
  }
  const stores = openStores(paths.database, systemClock)
  stores.hosts.create({
    id: HOST,
    tenant: 'default',
    name: 'rack',
    kind: 'local',
    ssh: null,
    agent: {
      socketPath: agent.socketPath,
      executable: '',
      stateDir: agent.dir,
      identityPublicKey: agent.identityPublicKey,
      runsAs: 'root',
      startedBy: 'systemd',
    },
    hostKeyFingerprint: '',
    facts: null,
  })
  stores.db.close()
  await start()
})

afterEach(async () => {
  for (const stop of stops.splice(0)) stop.abort()
  await control.stop()
  await agent.stop()
  rmSync(dir, { recursive: true, force: true })
})

async function start(): Promise<void> {
  control = createControlPlane(ports)
  await control.start()
  client = fleetClient(ports.paths.apiSocket)
}

/** The fleet as a window holds it: the state, and every delta applied to it. */
function aWindow() {
  const stop = new AbortController()
  stops.push(stop)
  const vms = new Map<string, Vm>()
  const revisions: bigint[] = []
  let look: () => void = () => {}
  const take = ({ revision, message }: WatchFleetResponse) => {
    revisions.push(revision)
    for (const vm of message.value?.vms ?? []) vms.set(vm.id, vm)
    if (message.case === 'delta') for (const id of (message.value as FleetDelta).removedVmIds) vms.delete(id)
    look()
  }
  const ended = (async () => {
    for await (const response of client.fleet.watchFleet({}, { signal: stop.signal })) take(response)
  })().catch(() => {})
  const until = (holds: () => boolean) =>
    new Promise<void>((resolve) => {
      look = () => {
        if (holds()) resolve()
      }
      look()
    })
  return { vms, revisions, until, ended }
}

const create = (init: Parameters<FleetClient['vms']['createVm']>[0] = {}) =>
  client.vms.createVm({ imageUrl: 'https://images.example.test/a.qcow2', imageSha256: DIGEST, ...init })
const faultOf = (call: Promise<unknown>): Promise<Fault> =>
  call.then(
    () => Promise.reject(new Error('nothing was raised')),
    (error: unknown) => fromConnectError(error),
  )
const snapshotOf = (id: string) => agent.snapshots.at(-1)?.state?.vms.find((vm) => vm.vmId === id)

describe('fleet API over its socket', () => {
  it('says what it is, on a socket only its owner may open', async () => {
    const info = await client.fleet.getInfo({})
    expect(info).toMatchObject({ version: '0.1.0-test', pid: process.pid, dataDir: ports.paths.dataDir })
    expect(info.fleetId).toMatch(/^[0-9a-f]{32}$/)
    expect(statSync(ports.paths.apiSocket).mode & 0o777).toBe(0o600)
  })

  it('a VM goes its way: created, running, stopped, deleted, brought back, deleted, purged, gone', async () => {
    const window = aWindow()
    const { vm, created } = await create({ name: 'web' })
    const id = vm?.id ?? ''
    expect([created, vm?.lifecycle, vm?.power, vm?.hostName]).toEqual([true, 'creating', undefined, 'rack'])
    await window.until(() => window.vms.has(id))
    await poll(() => snapshotOf(id)?.powerState === 'running')

    agent.report({ vms: [{ vmId: id, phase: 'ready', power: 'running', ip: '10.0.0.9' }] })
    await window.until(() => window.vms.get(id)?.power === 'running')
    expect(window.vms.get(id)).toMatchObject({ lifecycle: 'ready', ip: '10.0.0.9', hostUnknown: false })

    await client.vms.stopVm({ vm: 'web', force: true })
    await poll(() => snapshotOf(id)?.powerState === 'stopped')
    expect(snapshotOf(id)?.forceStop).toBe(true)
    agent.report({ vms: [{ vmId: id, phase: 'ready', power: 'stopped' }] })
    await window.until(() => window.vms.get(id)?.lifecycle === 'stopped')

    await client.vms.deleteVm({ vm: 'web' })
    await poll(() => snapshotOf(id)?.tombstone?.graceS === 604_800n)
    const destroyAt = { seconds: BigInt(Math.round(Date.now() / 1000) + 604_800), nanos: 0 }
    agent.report({ quarantined: [{ vmId: id, destroyAt }] })
    await window.until(() => window.vms.get(id)?.quarantineEndsAt !== undefined)
    expect(window.vms.get(id)).toMatchObject({ lifecycle: 'deleting', power: 'stopped' })

    const other = await create({ name: 'web' })
    const taken = await faultOf(client.vms.undeleteVm({ vm: id }))
    expect(faultLine(taken.code, taken.params)).toMatch(/already in use: web.*--as/)
    const back = await client.vms.undeleteVm({ vm: id, newName: 'web-2' })
    expect(back.vm).toMatchObject({ id, name: 'web-2', desiredPower: 'stopped' })
    await poll(() => snapshotOf(id)?.tombstone === undefined)

    await client.vms.deleteVm({ vm: id })
    await client.vms.purgeVm({ vm: 'web-2' })
    await client.vms.deleteVm({ vm: other.vm!.id })
    await client.vms.purgeVm({ vm: other.vm!.id })
    await poll(() => snapshotOf(id)?.tombstone?.graceS === 0n)
    agent.report({ destroyed: [id, other.vm!.id] })
    await window.until(() => !window.vms.has(id))
    await poll(() => agent.snapshots.at(-1)?.state?.vms.length === 0)
    expect((await client.audit.listAudit({ vm: id })).entries.map((entry) => entry.action)).toEqual([
      'vm.reap',
      'vm.purge',
      'vm.delete',
      'vm.undelete',
      'vm.delete',
      'vm.stop',
      'vm.create',
    ])
    expect(window.revisions).toEqual(window.revisions.map((_, index) => (window.revisions[0] ?? 0n) + BigInt(index)))
  })

  it('a VM its host keeps for nobody is shown, adopted as it is, and of this fleet from then on', async () => {
    const window = aWindow()
    const [id, held] = ['b'.repeat(32), 'c'.repeat(32)]
    const spec = { vmId: id, name: 'old', imageSha256: DIGEST, vcpus: 2, memMb: 256, diskGb: 3, powerState: 'running' }
    const rows = [{ vmId: id, unowned: true, phase: 'ready', power: 'running', spec }]
    const specJson = JSON.stringify({ ...spec, vmId: held, name: 'older' })
    await poll(() => agent.attached === 1)
    agent.report({ vms: rows, quarantined: [{ vmId: held, unowned: true, specJson }] })
    await window.until(() => window.vms.has(id) && window.vms.has(held))
    expect((await client.vms.getVm({ vm: 'old' })).vm).toMatchObject({
      id,
      unowned: true,
      lifecycle: 'ready',
      memMb: 256,
    })
    expect(window.vms.get(held)).toMatchObject({ name: 'older', unowned: true, lifecycle: 'stopped', power: 'stopped' })
    for (const vm of ['old', id])
      for (const call of [client.vms.stopVm, client.vms.deleteVm, client.vms.purgeVm, client.vms.undeleteVm])
        expect(await faultOf(call({ vm }))).toMatchObject({ code: 'vm/unowned', params: { vm: 'old', host: 'rack' } })

    await create({ name: 'old' })
    const taken = await faultOf(client.vms.adoptVm({ vm: id }))
    expect(faultLine(taken.code, taken.params)).toMatch(/already in use: old.*--as/)
    const adopted = await client.vms.adoptVm({ vm: id, newName: 'mine' })
    expect(adopted).toMatchObject({ adopted: true, vm: { id, name: 'mine', unowned: false, desiredPower: 'running' } })
    expect(await client.vms.adoptVm({ vm: id })).toMatchObject({ adopted: false, vm: { id, name: 'mine' } })
    expect((await client.vms.adoptVm({ vm: 'older' })).vm).toMatchObject({ id: held, desiredPower: 'stopped' })
    expect((await faultOf(client.vms.adoptVm({ vm: 'nobody' }))).code).toBe('vm/not-found')
    await poll(() => snapshotOf(id)?.powerState === 'running' && snapshotOf(held)?.powerState === 'stopped')
    await window.until(() => window.vms.get(id)?.unowned === false)
    await client.vms.stopVm({ vm: 'mine' })
    await poll(() => snapshotOf(id)?.powerState === 'stopped')
    expect((await client.audit.listAudit({ vm: id })).entries.map((entry) => entry.action)).toEqual([
      'vm.stop',
      'vm.adopt',
    ])
  })

  it('creates once however often it is asked', async () => {
    const vmId = 'b'.repeat(32)
    expect((await create({ name: 'web', vmId })).created).toBe(true)
    expect((await create({ name: 'web', vmId })).created).toBe(false)
    expect((await create({ name: 'web', ifAbsent: true })).created).toBe(false)
    expect((await faultOf(create({ name: 'web' }))).code).toBe('vm/name-taken')
    expect((await client.vms.listVms({})).vms).toHaveLength(1)
  })

  it.each([
    ['a name like an option', { name: '-rf' }, 'input/invalid'],
    ['an unknown host', { name: 'a', host: 'none' }, 'host/not-found'],
    ['an unknown image', { name: 'a', image: 'none', imageUrl: '', imageSha256: '' }, 'image/not-found'],
    ['no image where none is default', { name: 'a', imageUrl: '', imageSha256: '' }, 'image/none-default'],
    ['only a digest', { name: 'a', imageUrl: '' }, 'input/invalid'],
    ['user-data that is too large', { name: 'a', cloudInit: new Uint8Array(65_537) }, 'input/invalid'],
  ])('%s is refused and leaves nothing behind', async (_, init, code) => {
    expect((await faultOf(create(init))).code).toBe(code)
    expect((await client.vms.listVms({})).vms).toEqual([])
    expect((await client.audit.listAudit({})).entries.map((entry) => entry.action)).toEqual([
      'ca.create',
      'ca.create',
      'host.add',
    ])
  })

  it('a request larger than allowed is refused before it is looked at', async () => {
    const fault = await faultOf(create({ name: 'a', cloudInit: new Uint8Array(5 * 2 ** 20) }))
    expect(fault.code).toBe('input/too-large')
  })

  it('an intent survives a restart, with the host away, and reaches it when it is back', async () => {
    await poll(() => agent.attached === 1)
    await control.stop()
    await agent.stop()
    await start()
    const { vm } = await create({ name: 'web' })
    expect(vm).toMatchObject({ hostUnknown: true, lifecycle: 'creating' })
    await control.stop()
    agent = await FakeSyncAgent.start({ socketPath: agent.socketPath, key: agent.key })
    await start()
    await poll(() => snapshotOf(vm?.id ?? '') !== undefined)
    expect((await client.hosts.getHost({ host: 'rack' })).host?.link).toBe('connected')
  })

  it('a host with VMs is removed only by force, and says what is left behind', async () => {
    await create({ name: 'web' })
    expect(await faultOf(client.hosts.removeHost({ host: 'rack' }))).toMatchObject({
      code: 'host/has-vms',
      params: { vms: 'web' },
    })
    expect((await client.hosts.removeHost({ host: 'rack', force: true })).leftBehind).toEqual(['web'])
    expect((await client.hosts.listHosts({})).hosts).toEqual([])
    expect((await client.vms.listVms({})).vms).toEqual([])
    await poll(() => agent.attached === 0)
  })

  it('an image that cannot be built here says why, before it is asked for and when it is', async () => {
    await control.stop()
    ports = { ...ports, platform: 'darwin', arch: 'arm64' }
    await start()
    const info = await client.fleet.getInfo({})
    expect(info).toMatchObject({ buildTinyPossible: false, buildDebianPossible: false })
    expect(info.buildDebianDetail).toMatch(/darwin arm64/)
    const fault = await faultOf(client.images.buildDebianImage({}))
    expect(fault).toMatchObject({ code: 'image/build-impossible', params: { image: 'debian-12' } })
    expect(faultLine(fault.code, fault.params)).toMatch(/^debian-12 cannot be built here \(.*darwin arm64\)/)
  })

  it('an image that is being built is not begun a second time, and can be cancelled', async () => {
    const { task } = await client.images.buildDebianImage({})
    expect(task).toMatchObject({ kind: 'build_image', subject: 'debian-12' })
    expect((await client.images.buildDebianImage({})).task?.id).toBe(task?.id)
    await client.tasks.cancelTask({ id: task!.id })
    const state = async () => (await client.tasks.getTask({ id: task!.id })).task?.state
    await expect.poll(state, { timeout: 20_000 }).toBe('cancelled')
    expect((await client.images.listImages({})).images).toEqual([])
  })

  it('images are added by URL and digest, made default, and kept while used', async () => {
    await client.images.addImage({ name: 'debian', url: 'https://a.test/d.qcow2', sha256: DIGEST, makeDefault: true })
    const { vm } = await create({ name: 'web', imageUrl: '', imageSha256: '' })
    expect(vm?.imageName).toBe('debian')
    expect((await faultOf(client.images.removeImage({ image: 'debian' }))).code).toBe('image/in-use')
    expect((await client.images.listImages({})).images).toMatchObject([{ name: 'debian', isDefault: true, usedBy: 1 }])
  })

  it('answers plain JSON too, and what is not there with 404 and no page', async () => {
    const get = (path: string, method = 'GET') =>
      new Promise<{ status: number; csp: unknown }>((resolve, reject) => {
        const req = request({ socketPath: ports.paths.apiSocket, path, method }, (res) => {
          res.resume()
          resolve({ status: res.statusCode ?? 0, csp: res.headers['content-security-policy'] })
        })
        req.on('error', reject).end()
      })
    expect((await get('/../../etc/passwd')).status).toBe(404)
    expect(await get('/index.html')).toMatchObject({ status: 404, csp: expect.stringContaining("default-src 'none'") })
    expect((await get('/', 'DELETE')).status).toBe(405)
  })
})

/** The store answers at once, the host a little later: looks again at each turn of the loop. */
async function poll(holds: () => boolean): Promise<void> {
  const end = Date.now() + 10_000
  while (!holds()) {
    if (Date.now() > end) throw new Error(`it did not come true: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

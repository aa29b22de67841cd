import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { HelloSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import {
  AddHostRequestSchema,
  type AddHostResponse,
  RemoveHostRequestSchema,
  type RemoveHostResponse,
  SignInHostRequestSchema,
  type SignInHostResponse,
} from '../../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { FleetView } from '../../../../../src/main/control/api/fleet-view.ts'
import { type AddHostInput, hostsApi } from '../../../../../src/main/control/api/hosts-api.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { ManualClock } from '../a-clock.ts'
import { aContext } from '../a-context.ts'
import { aHost, aStore, aVm } from '../a-store.ts'

function anApi() {
  const stores = aStore()
  const clock = new ManualClock()
  const registry = new Registry()
  const tasks = new TaskRunner(stores.tasks, clock, silentLog)
  const view = new FleetView({ ...stores, tasks, registry, pushes: { state: () => undefined }, clock })
  const added: AddHostInput[] = []
  const did: string[] = []
  let uninstallFails: Fault | undefined
  let onboarded: Promise<void> | undefined
  const api = hostsApi({
    ...stores,
    registry,
    tasks,
    view,
    clock,
    life: {
      async upgrade() {
        throw new Fault('app/bug', 'bug')
      },
      upgradeAvailable: async () => '',
      joinBlob: async () => ({ blob: '', expiresAt: new Date(0) }),
      dropKey: async ({ name }) => void did.push(`drop key of ${name}`),
    },
    links: {
      tryNow: (id) => did.push(`try ${id}`),
      takeOver: (id) => did.push(`take over ${id}`),
      async signIn(id, { password }, keep) {
        if (keep === 'keychain') throw new Fault('app/part-missing', 'permanent')
        did.push(`sign in ${id} ${password}`)
      },
      forgetSecrets: async (id) => void did.push(`forget secrets ${id}`),
      acceptKey: (id, fingerprint) => did.push(`accept ${id} ${fingerprint}`),
    },
    onboarding: {
      shown: { ofHost: () => undefined, ofWay: async () => undefined },
      async addHost(input) {
        added.push(input)
        await onboarded
        return { resultId: 'h' }
      },
      async signIn(hostId, keep) {
        did.push(`ask ${hostId} ${keep}`)
        return { resultId: hostId }
      },
      async removeHost(hostId) {
        did.push(`uninstall ${stores.hosts.get(hostId).status}`)
        if (uninstallFails) throw uninstallFails
        return { resultId: hostId }
      },
    },
    async forgetHost(hostId) {
      did.push('forget')
      stores.hosts.remove(hostId)
    },
  })
  const call = async (method: string, request: unknown, tenant = 'default') =>
    (api as Record<string, (request: unknown, context: HandlerContext) => unknown>)[method]?.(request, aContext(tenant))
  const add = (init: MessageInitShape<typeof AddHostRequestSchema>, tenant?: string) =>
    call('addHost', create(AddHostRequestSchema, init), tenant) as Promise<Partial<AddHostResponse>>
  const remove = (init: MessageInitShape<typeof RemoveHostRequestSchema>) =>
    call('removeHost', create(RemoveHostRequestSchema, init)) as Promise<Partial<RemoveHostResponse>>
  const attach = (hostId: string, lastSeenEpoch = 0n) =>
    registry.sessionStarted({
      hostId,
      sessionId: 's',
      hello: create(HelloSchema, { lastSeenEpoch }),
      connection: { carrier: 'unix' },
    } as ActiveSession)
  return {
    ...stores,
    tasks,
    registry,
    call,
    add,
    remove,
    attach,
    added,
    did,
    runs: {
      /** As a process that was killed meanwhile left it. */
      removal(hostId: string): string {
        const killed = new TaskRunner(stores.tasks, clock, silentLog)
        return killed.start('default', 'remove_host', 'rack', () => new Promise<never>(() => {}), { host: hostId })
      },
    },
    /** Adding takes until the returned function is called. */
    holdAdding: () => {
      const held = Promise.withResolvers<void>()
      onboarded = held.promise
      return held.resolve
    },
    failUninstall: (fault: Fault) => {
      uninstallFails = fault
    },
  }
}

const ssh = (value: object) => ({ name: 'rack', way: { case: 'ssh' as const, value } })

describe('hosts API', () => {
  it('that are asked for twice are added once; another place under that name is refused', async () => {
    const { add, added, tasks, holdAdding } = anApi()
    const goOn = holdAdding()
    const [first, second] = await Promise.all([add(ssh({ host: 'rack' })), add(ssh({ host: 'rack' }))])
    expect(second.task?.id).toBe(first.task?.id)
    await expect(add(ssh({ host: 'other' }))).rejects.toMatchObject({ code: 'host/name-taken' })
    goOn()
    await tasks.ended(first.task?.id ?? '')
    expect(added).toHaveLength(1)
    expect((await add(ssh({ host: 'other' }))).task?.id).not.toBe(first.task?.id)
  })

  it('answers an onboarding at once with its task; there is no host until it is done', async () => {
    const { add, added, tasks, hosts } = anApi()
    const { task, host } = await add(ssh({ host: 'rack', user: 'ops', port: 2222, useSudo: true, password: 'pw' }))
    expect([task?.kind, task?.subject, task?.state, host]).toEqual(['add_host', 'rack', 'running', undefined])
    await tasks.ended(task?.id ?? '')
    expect(added[0]).toMatchObject({
      name: 'rack',
      way: { kind: 'ssh', host: 'rack', user: 'ops', port: 2222, useSudo: true, password: 'pw', identityFile: '' },
    })
    expect(hosts.listAll()).toEqual([])
  })

  it('a host is in the tenant of who adds it, whose names alone are taken', async () => {
    const { add, added, tasks, tenants, hosts } = anApi()
    tenants.create('other', { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null })
    hosts.create(aHost({ name: 'rack' }))
    const { task } = await add({ name: 'rack', way: { case: 'local', value: {} }, ifAbsent: true }, 'other')
    await tasks.ended(task?.id ?? '')
    expect(added).toMatchObject([{ tenant: 'other', name: 'rack' }])
    expect([tasks.list('other').length, tasks.list('default').length]).toEqual([1, 0])
  })

  it.each(['local', 'ssh'])('hands on that a %s host may be taken from another control plane', async (way) => {
    const { add, added, tasks } = anApi()
    const value = { takeOver: true }
    const init = way === 'ssh' ? ssh({ host: 'a', ...value }) : { name: 'rack', way: { case: 'local' as const, value } }
    await tasks.ended((await add(init)).task?.id ?? '')
    expect(added[0]?.way).toMatchObject({ kind: way, takeOver: true })
  })

  it.each([
    ['a name that is none', { name: 'a b', way: { case: 'local' as const, value: {} } }],
    ['no way at all', { name: 'rack' }],
    ['a host like an option', ssh({ host: '-oProxyCommand=x' })],
    ['a host with a command in it', ssh({ host: '$(id)' })],
    ['a port past the end', ssh({ host: 'a', port: 65_536 })],
    ['a user like an option', ssh({ host: 'a', user: '-l' })],
    ['a fingerprint that is none', ssh({ host: 'a', acceptHostKey: 'MD5:00' })],
  ])('refuses %s without starting anything', async (_, init) => {
    const { add, tasks } = anApi()
    await expect(add(init)).rejects.toMatchObject({ code: 'input/invalid' })
    expect(tasks.list('default')).toEqual([])
  })

  it('refuses a taken name at once, and answers it when asked only for what is absent', async () => {
    const { add, hosts, tasks } = anApi()
    const known = hosts.create(aHost({ name: 'rack' }))
    const init = { name: 'rack', way: { case: 'local' as const, value: {} } }
    await expect(add(init)).rejects.toMatchObject({ code: 'host/name-taken' })
    expect((await add({ ...init, ifAbsent: true })).host?.id).toBe(known.id)
    expect(tasks.list('default')).toEqual([])
  })

  it('never keeps a secret in a task row', async () => {
    const { add, db, tasks } = anApi()
    const { task } = await add(ssh({ host: 'rack', password: 'marked-secret', sudoPassword: 'marked-secret' }))
    await tasks.ended(task?.id ?? '')
    expect(JSON.stringify([db.list('SELECT * FROM tasks'), db.list('SELECT * FROM audit')])).not.toContain('marked')
  })

  it('an uninstall needs the host to answer, takes no VMs meanwhile, and forgets the host at its end', async () => {
    const { remove, hosts, attach, did, tasks } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    await expect(remove({ host: 'rack', uninstall: true })).rejects.toMatchObject({ code: 'host/no-answer' })
    attach(host.id)
    const { task } = await remove({ host: 'rack', uninstall: true })
    expect(await tasks.ended(task?.id ?? '')).toBeUndefined()
    expect(did).toEqual(['uninstall decommissioning', 'forget'])
  })

  it.each([
    ['goes on in the next process, under the same id', true, ['uninstall decommissioning', 'forget']],
    ['is done in the next process where the host is not there any more', false, []],
  ])('an uninstall that was cut short %s', async (_, isThere, expected) => {
    const { hosts, tasks, did, runs } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    const id = runs.removal(host.id)
    if (isThere) hosts.setStatus(host.id, 'decommissioning')
    else hosts.remove(host.id)
    tasks.recover()
    await tasks.ended(id)
    expect([tasks.get('default', id).state, did]).toEqual(['done', expected])
  })

  it('an uninstall that fails leaves the host as it was', async () => {
    const { remove, hosts, attach, did, tasks, failUninstall } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    attach(host.id)
    failUninstall(new Fault('agent/install-failed', 'permanent', { host: 'rack' }))
    const { task } = await remove({ host: 'rack', uninstall: true })
    expect((await tasks.ended(task?.id ?? ''))?.code).toBe('agent/install-failed')
    expect([hosts.get(host.id).status, did]).toEqual(['enrolled', ['uninstall decommissioning']])
  })

  it('a host with VMs, quarantined ones too, is not removed by accident', async () => {
    const { remove, hosts, vms } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    const vm = vms.create(aVm(host.id, { name: 'web' }))
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
    await expect(remove({ host: 'rack' })).rejects.toMatchObject({ code: 'host/has-vms', params: { vms: 'web' } })
    expect((await remove({ host: host.id, force: true })).leftBehind).toEqual(['web'])
  })

  it('signs in with a task that asks, unless the host is connected already', async () => {
    const { call, hosts, did, tasks, attach } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    const request = create(SignInHostRequestSchema, { host: 'rack', ask: true })
    const { task } = (await call('signInHost', request)) as SignInHostResponse
    expect(task).toMatchObject({ kind: 'sign_in', subject: 'rack' })
    await tasks.ended(task?.id ?? '')
    expect(did).toEqual([`sign in ${host.id} `, `ask ${host.id} memory`])
    attach(host.id)
    expect(await call('signInHost', request)).toEqual({})
  })

  it('keeps secrets only where it can, and says in the audit where, never what', async () => {
    const { call, hosts, did, audit } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    const request = { host: 'rack', password: 'hidden-word', keep: 'keychain' }
    await expect(call('signInHost', create(SignInHostRequestSchema, request))).rejects.toMatchObject({
      code: 'app/part-missing',
    })
    const odd = create(SignInHostRequestSchema, { ...request, keep: 'disk' })
    await expect(call('signInHost', odd)).rejects.toMatchObject({ code: 'input/invalid', params: { field: 'keep' } })
    expect(did).toEqual([])
    await call('signInHost', create(SignInHostRequestSchema, { ...request, keep: '' }))
    await call('forgetHostSecrets', { host: 'rack' })
    expect(did.at(-1)).toBe(`forget secrets ${host.id}`)
    const rows = audit.list({ tenants: ['default'], limit: 10 })
    expect(rows.map(({ action }) => action)).toEqual(expect.arrayContaining(['host.sign-in', 'host.forget-secrets']))
    expect(JSON.stringify(rows)).not.toContain('hidden-word')
  })

  it('reconnects, signs in and accepts a host key by name', async () => {
    const { call, hosts, did } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    await call('reconnectHost', { host: 'rack' })
    await call('signInHost', create(SignInHostRequestSchema, { host: 'rack', password: 'pw' }))
    expect(did).toEqual([`try ${host.id}`, `sign in ${host.id} pw`, `try ${host.id}`])
    const fingerprint = `SHA256:${'a'.repeat(43)}`
    await call('acceptHostKey', { host: 'rack', fingerprint })
    expect(did.at(-1)).toBe(`accept ${host.id} ${fingerprint}`)
    await expect(call('acceptHostKey', { host: 'rack', fingerprint: 'aa:bb' })).rejects.toMatchObject({
      code: 'input/invalid',
    })
    await expect(call('reconnectHost', { host: 'none' })).rejects.toMatchObject({ code: 'host/not-found' })
  })

  it('takes a host over only from the control plane its last try named, and writes down from whom', async () => {
    const { call, hosts, registry, audit, did, attach } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    const takeOver = () => call('takeOverHost', { host: 'rack', useOlderData: false })
    for (const fault of [undefined, new Fault('agent/superseded', 'transient', {})]) {
      registry.setLink(host.id, { state: 'held_by_other', ...(fault ? { fault } : {}) })
      await expect(takeOver()).rejects.toMatchObject({ code: 'input/invalid', params: { value: 'rack' } })
    }
    const fault = new Fault('agent/foreign-controller', 'permanent', { controller: 'desk' })
    registry.setLink(host.id, { state: 'held_by_other', fault })
    await takeOver()
    expect(did).toEqual([`take over ${host.id}`])
    expect(audit.list({ hostId: host.id, limit: 1 })).toMatchObject([
      { action: 'host.take-over', detail: { controller: 'desk' } },
    ])
    attach(host.id)
    await takeOver()
    expect(did).toHaveLength(1)
  })

  it('makes older data count only on a connected host that has newer, above all the host has seen', async () => {
    const { call, hosts, attach } = anApi()
    const host = hosts.create(aHost({ name: 'rack' }))
    hosts.stampSnapshot(host.id, 'sent')
    const { epoch } = hosts.get(host.id)
    const overrule = () => call('takeOverHost', { host: 'rack', useOlderData: true })
    await expect(overrule()).rejects.toMatchObject({ code: 'host/no-answer' })
    attach(host.id, epoch)
    await overrule()
    expect(hosts.get(host.id).epoch).toBe(epoch)
    attach(host.id, 40n)
    const plain = call('takeOverHost', { host: 'rack', useOlderData: false })
    await expect(plain).rejects.toMatchObject({ code: 'host/newer-data', params: { host: 'rack' } })
    expect((await call('getHost', { host: 'rack' })) as object).toMatchObject({
      host: { newerData: { epoch, hostEpoch: 40n } },
    })
    await overrule()
    await overrule()
    expect(hosts.get(host.id)).toMatchObject({ epoch: 41n, sentEpoch: 40n })
    const { host: after } = (await call('getHost', { host: 'rack' })) as { host: { newerData?: unknown } }
    expect(after.newerData).toBeUndefined()
  })
})

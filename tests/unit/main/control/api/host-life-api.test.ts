import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { HelloSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import {
  type DrainHostResponse,
  UpdateHostRequestSchema as UpdateHost,
  type UpdateHostRequestSchema,
  type UpdateHostResponse,
  type UpgradeHostResponse,
} from '../../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { FleetView } from '../../../../../src/main/control/api/fleet-view.ts'
import { hostLifeApi } from '../../../../../src/main/control/api/host-life-api.ts'
import { principalOf } from '../../../../../src/main/control/api/principal.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { ManualClock } from '../a-clock.ts'
import { aContext } from '../a-context.ts'
import { aHost, aStore, aVm } from '../a-store.ts'

function anApi({ available = '' } = {}) {
  const stores = aStore()
  const clock = new ManualClock()
  const registry = new Registry()
  const tasks = new TaskRunner(stores.tasks, clock, silentLog)
  const view = new FleetView({ ...stores, tasks, registry, pushes: { state: () => undefined }, clock })
  const did: string[] = []
  const upgrading = Promise.withResolvers<{ resultId: string }>()
  const life = {
    upgrade: (hostId: string) => {
      did.push(`upgrade ${hostId}`)
      return upgrading.promise
    },
    upgradeAvailable: async () => available,
    joinBlob: async (tenant: string, expiresS: number) => {
      did.push(`blob ${tenant} ${expiresS}`)
      return { blob: 'b', expiresAt: new Date(expiresS * 1000) }
    },
    dropKey: async ({ name }: { name: string }) => void did.push(`drop key ${name}`),
  }
  const resolve = ({ host }: { host: string }, context: HandlerContext) =>
    stores.hosts.resolve(principalOf(context).tenant, host)
  const api = hostLifeApi({ ...stores, registry, tasks, view, life, clock }, resolve)
  const host = stores.hosts.create(aHost({ name: 'rack' }))
  const call = async (method: string, request: object) =>
    (api as Record<string, (request: unknown, context: HandlerContext) => unknown>)[method]?.(request, aContext())
  const update = (init: MessageInitShape<typeof UpdateHostRequestSchema>) =>
    call('updateHost', create(UpdateHost, { host: 'rack', ...init })) as Promise<UpdateHostResponse>
  const attach = () =>
    registry.sessionStarted({
      hostId: host.id,
      sessionId: 's',
      hello: create(HelloSchema, { agentVersion: '0.1.0' }),
      connection: { carrier: 'unix' },
    } as ActiveSession)
  return { ...stores, host, call, update, attach, did, tasks, upgrading }
}

describe('the life of a host through the API', () => {
  it('changes its name and adds and takes away single labels; the others stay', async () => {
    const { update } = anApi()
    expect((await update({ labels: { rack: '7', dc: 'west' } })).host).toMatchObject({
      name: 'rack',
      labels: { rack: '7', dc: 'west' },
    })
    expect((await update({ name: 'shelf', labels: { rack: '8' } })).host).toMatchObject({
      name: 'shelf',
      labels: { rack: '8', dc: 'west' },
    })
    expect((await update({ host: 'shelf', removeLabels: ['dc', 'none'] })).host?.labels).toEqual({ rack: '8' })
  })

  it.each([
    [{ name: 'No Name' }, 'name'],
    [{ labels: { 'no key': 'x' } }, 'labels'],
    [{ labels: { key: 'a\nb' } }, 'labels'],
    [{ labels: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 'v'])) }, 'labels'],
  ])('refuses %j, naming the field, and changes nothing', async (change, field) => {
    const { update, hosts, host } = anApi()
    await expect(update(change)).rejects.toMatchObject({ code: 'input/invalid', params: { field } })
    expect(hosts.get(host.id)).toEqual(host)
  })

  it('has at most 64 labels, those it had before counted', async () => {
    const { update } = anApi()
    await update({ labels: Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`k${n}`, 'v'])) })
    await expect(update({ labels: { more: 'v' } })).rejects.toMatchObject({ code: 'input/invalid' })
    expect(Object.keys((await update({ labels: { k1: 'w' } })).host?.labels ?? {})).toHaveLength(64)
  })

  it('drained, it stops what runs but not what is protected, says which, and takes VMs again when that is undone', async () => {
    const { call, vms, host, hosts } = anApi()
    vms.create(aVm(host.id, { name: 'web' }))
    vms.create(aVm(host.id, { name: 'db', protected: true }))
    vms.create(aVm(host.id, { name: 'off', powerState: 'stopped' }))
    const drained = (await call('drainHost', { host: 'rack', drain: true, stopVms: true })) as DrainHostResponse
    expect(drained).toMatchObject({ host: { draining: 'stop' }, stopping: ['web'], leftRunning: ['db'] })
    const wanted = () => Object.fromEntries(vms.listByHost(host.id).map((vm) => [vm.name, vm.powerState]))
    expect(wanted()).toEqual({ web: 'stopped', db: 'running', off: 'stopped' })
    expect(() => vms.create(aVm(host.id))).toThrow(/not-accepting/)
    await call('drainHost', { host: 'rack', drain: false, stopVms: false })
    expect(hosts.get(host.id).draining).toBe('')
    expect(wanted()).toEqual({ web: 'stopped', db: 'running', off: 'stopped' })
    vms.create(aVm(host.id))
  })

  it('drained without stopping, its VMs run on and are named', async () => {
    const { call, vms, host } = anApi()
    vms.create(aVm(host.id, { name: 'web' }))
    expect(await call('drainHost', { host: 'rack', drain: true, stopVms: false })).toMatchObject({
      host: { draining: 'leave' },
      stopping: [],
      leftRunning: ['web'],
    })
  })

  it('makes a join blob in the tenant that asks, for 15 minutes unless somebody says how long', async () => {
    const { call, did } = anApi()
    await call('createJoinBlob', { expiresS: 0 })
    await call('createJoinBlob', { expiresS: 60 })
    expect(did).toEqual(['blob default 900', 'blob default 60'])
    for (const expiresS of [59, 86_401])
      await expect(call('createJoinBlob', { expiresS })).rejects.toMatchObject({
        code: 'input/invalid',
        params: { field: 'expires_s' },
      })
  })

  it('revoked, it is so in the store before the host is asked to forget the key', async () => {
    const { call, hosts, host, did } = anApi()
    await call('revokeHost', { host: 'rack' })
    expect(hosts.get(host.id).credential).toBe('revoked')
    expect(did).toEqual(['drop key rack'])
  })

  it('is upgraded by one task at a time, and by none when it has this agent or does not answer', async () => {
    const none = anApi()
    await expect(none.call('upgradeHost', { host: 'rack' })).rejects.toMatchObject({ code: 'host/no-answer' })
    none.attach()
    expect(await none.call('upgradeHost', { host: 'rack' })).toEqual({})
    const { call, attach, did, host, upgrading, tasks } = anApi({ available: '2.0.0' })
    attach()
    const first = (await call('upgradeHost', { host: 'rack' })) as UpgradeHostResponse
    const again = (await call('upgradeHost', { host: 'rack' })) as UpgradeHostResponse
    expect(again.task?.id).toBe(first.task?.id)
    expect(first.task).toMatchObject({ kind: 'upgrade_host', subject: 'rack', state: 'running' })
    upgrading.reject(new Fault('agent/upgrade-rolled-back', 'permanent', { host: 'rack' }))
    expect(await tasks.ended(first.task?.id ?? '')).toMatchObject({ code: 'agent/upgrade-rolled-back' })
    expect(did).toEqual([`upgrade ${host.id}`])
    expect(((await call('upgradeHost', { host: 'rack' })) as UpgradeHostResponse).task?.id).not.toBe(first.task?.id)
  })
})

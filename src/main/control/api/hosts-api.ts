import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { AddHostRequest, HostService } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { check } from '../../../ipc/rules.ts'
import type { AuditStore } from '../store/audit-store.ts'
import type { HostRow } from '../store/host-row.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmsStore } from '../store/vms-store.ts'
import { hasNewer } from '../sync/newer-data.ts'
import type { Registry } from '../sync/registry.ts'
import { seenBy } from '../sync/seen.ts'
import type { TaskAgain, TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'
import type { FleetView } from './fleet-view.ts'
import { type HostLifeApiDeps, hostLifeApi } from './host-life-api.ts'
import { type HostSignInDeps, hostSignInApi } from './host-sign-in-api.ts'
import { type HostSshReader, hostSshApi } from './host-ssh-api.ts'
import { principalOf } from './principal.ts'
import { type SshInput, sshInputOf } from './ssh-input.ts'
import { taskView } from './task-view.ts'

export interface AddHostInput {
  tenant: string
  name: string
  way: { kind: 'local'; takeOver: boolean } | ({ kind: 'ssh' } & SshInput)
}

export type HostOnboarding = HostSignInDeps['onboarding'] & {
  shown: HostSshReader
  /** Its result is the host's id; nothing half-made stays when it fails. */
  addHost(input: AddHostInput, task: TaskContext): Promise<TaskOutcome>
  /** What has to be done on the host itself before it is forgotten. */
  removeHost(hostId: string, options: { uninstall: boolean }, task: TaskContext): Promise<TaskOutcome>
}

export type HostLinkControl = HostSignInDeps['links'] & {
  tryNow(hostId: string): void
  /** Dials now and takes the agent from another control plane at that try. */
  takeOver(hostId: string): void
  /** Raises input/invalid unless the host offered this key at its last try. */
  acceptKey(hostId: string, fingerprint: string): void
}

export interface HostsApiDeps extends HostLifeApiDeps {
  hosts: HostsStore
  vms: VmsStore
  audit: AuditStore
  registry: Registry
  tasks: TaskRunner
  view: FleetView
  links: HostLinkControl
  onboarding: HostOnboarding
  /** Ends the link and removes the row and all that is known of it. Idempotent. */
  forgetHost(hostId: string): Promise<void>
}

/** Hosts: what takes time becomes a task, and the answer does not wait for it. */
export function hostsApi(deps: HostsApiDeps): ServiceImpl<typeof HostService> {
  const { hosts, view, links } = deps
  const adding: Adding = new Map()
  deps.tasks.goOnWith({ remove_host: removalAgain(deps) })
  const resolve = (request: { host: string }, context: HandlerContext) =>
    hosts.resolve(principalOf(context).tenant, check('hostRef', request).host)
  return {
    listHosts: (_, context) => ({ hosts: view.hosts(principalOf(context).tenant) }),
    getHost: (request, context) => ({ host: view.host(resolve(request, context)) }),
    addHost: (request, context) => addHost(deps, principalOf(context).tenant, request, adding),
    removeHost: async (request, context) => removeHost(deps, resolve(request, context), request),
    reconnectHost: (request, context) => {
      links.tryNow(resolve(request, context).id)
      return {}
    },
    ...hostSignInApi(deps, resolve),
    ...hostLifeApi(deps, resolve),
    ...hostSshApi(deps.onboarding, resolve),
    acceptHostKey: (request, context) => {
      const { fingerprint } = check('acceptHostKey', request)
      links.acceptKey(resolve(request, context).id, fingerprint)
      return {}
    },
    takeOverHost: (request, context) => {
      const host = resolve(request, context)
      if (request.useOlderData) overrule(deps, host)
      else takeOver(deps, host)
      return {}
    },
  }
}

/** Hosts being added now, by tenant and name: which task, and of which place. */
type Adding = Map<string, { id: string; place: string }>

/** Asked for twice it is one task; another place under a name that is being added is refused. */
function addHost(
  { hosts, tasks, view, onboarding }: HostsApiDeps,
  tenant: string,
  request: AddHostRequest,
  adding: Adding,
) {
  const { name } = check('addHost', request)
  const input: AddHostInput = { tenant, name, way: wayOf(request) }
  const known = hosts.findByName(tenant, name)
  if (known && request.ifAbsent) return { host: view.host(known) }
  // One that joined may be let in again under its name: its token says so.
  const joins = input.way.kind === 'ssh' && input.way.joined
  if (known && !joins) throw new Fault('host/name-taken', 'conflict', { host: name })
  const key = `${tenant} ${name}`
  const place = placeOf(input.way)
  const running = adding.get(key)
  if (running?.place === place) return { task: taskView(tasks.get(tenant, running.id)) }
  if (running) throw new Fault('host/name-taken', 'conflict', { host: name })
  const id = tasks.start(tenant, 'add_host', name, (task) => onboarding.addHost(input, task))
  adding.set(key, { id, place })
  void tasks.ended(id).finally(() => adding.delete(key))
  return { task: taskView(tasks.get(tenant, id)) }
}

/** Only what its last try said is taken over: a person must have seen whose it is. */
function takeOver({ registry, hosts, audit, links }: HostsApiDeps, host: HostRow): void {
  const live = registry.live(host.id)
  const { session, link } = live
  if (hasNewer(hosts, host, seenBy(live))) throw new Fault('host/newer-data', 'permanent', { host: host.name })
  if (session) return
  if (link.fault?.code !== 'agent/foreign-controller') {
    const problem = 'its last try did not find another control plane holding it'
    throw new Fault('input/invalid', 'permanent', { field: 'host', value: host.name, problem })
  }
  const controller = link.fault.params['controller'] ?? ''
  audit.add({ action: 'host.take-over', tenant: host.tenant, hostId: host.id, detail: { controller } })
  links.takeOver(host.id)
}

function overrule({ registry, hosts }: HostsApiDeps, host: HostRow): void {
  if (!registry.active(host.id)) throw new Fault('host/no-answer', 'transient', { host: host.name })
  const seen = seenBy(registry.live(host.id))
  if (hasNewer(hosts, host, seen)) hosts.overrule(host.id, seen.epoch)
}

function wayOf({ way }: AddHostRequest): AddHostInput['way'] {
  if (way.case === 'local') return { kind: 'local', takeOver: way.value.takeOver }
  if (way.case === 'ssh') return { kind: 'ssh', ...sshInputOf(way.value) }
  throw new Fault('input/invalid', 'permanent', { field: 'way', problem: 'say local or ssh', value: '' })
}

const placeOf = (way: AddHostInput['way']): string =>
  way.kind === 'local' ? 'this computer' : JSON.stringify([way.user, way.host, way.port])

async function removeHost(deps: HostsApiDeps, host: HostRow, options: { force: boolean; uninstall: boolean }) {
  const rows = deps.vms.listByHost(host.id)
  if (rows.length > 0 && !options.force) {
    const vms = rows.map((vm) => vm.name).slice(0, 10)
    throw new Fault('host/has-vms', 'permanent', { host: host.name, vms: vms.join(', ') })
  }
  const leftBehind = rows.map((vm) => vm.name)
  if (!options.uninstall) {
    await deps.forgetHost(host.id)
    return { leftBehind }
  }
  if (!deps.registry.active(host.id)) throw new Fault('host/no-answer', 'transient', { host: host.name })
  const id = deps.tasks.start(host.tenant, 'remove_host', host.name, (task) => uninstall(deps, host, task), {
    host: host.id,
  })
  return { leftBehind, task: taskView(deps.tasks.get(host.tenant, id)) }
}

/** It takes no new VMs from its first step on: cut short it would do so for ever. What is not there any more is not removed twice. */
const removalAgain =
  (deps: HostsApiDeps): TaskAgain =>
  ({ host: id = '' }, tenant) => {
    const host = deps.hosts.findIn(tenant, id)
    return host ? (task) => uninstall(deps, host, task) : async () => ({ resultId: id })
  }

async function uninstall(deps: HostsApiDeps, { id: hostId, tenant }: HostRow, task: TaskContext): Promise<TaskOutcome> {
  deps.hosts.setStatus(hostId, 'decommissioning')
  try {
    await deps.onboarding.removeHost(hostId, { uninstall: true }, task)
  } catch (error) {
    if (deps.hosts.findIn(tenant, hostId)) deps.hosts.setStatus(hostId, 'enrolled')
    throw error
  }
  await deps.forgetHost(hostId)
  return { resultId: hostId }
}

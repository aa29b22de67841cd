import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampNow } from '@bufbuild/protobuf/wkt'
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect'
import { POLICY_NOT_REACHED } from '../../../src/ipc/clock-words.ts'
import { toConnectError } from '../../../src/ipc/fault-wire.ts'
import { Fault } from '../../../src/ipc/faults.ts'
import type { AuditEntry } from '../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import { ClockService } from '../../../src/ipc/gen/eitri/fleet/v1/clock_pb.js'
import {
  FleetDeltaSchema,
  FleetService,
  type FleetState,
  type VmClockChangeSchema,
  type VmMetricsChangeSchema,
  type WatchFleetResponse,
  WatchFleetResponseSchema,
} from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { type Host, HostService } from '../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { ImageService } from '../../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import { MetricsService } from '../../../src/ipc/gen/eitri/fleet/v1/metrics_pb.js'
import { NetworkService } from '../../../src/ipc/gen/eitri/fleet/v1/network_pb.js'
import { PortService } from '../../../src/ipc/gen/eitri/fleet/v1/port_pb.js'
import { type Task, TaskService } from '../../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { TemplateService } from '../../../src/ipc/gen/eitri/fleet/v1/template_pb.js'
import { type Ca, TrustService } from '../../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import { type Vm, VmService } from '../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { FakeControl } from './fake-control.ts'
import { fakeHistory } from './history-scene.ts'
import { collectOnce, hostActs } from './host-scene.ts'
import { imageCalls } from './image-scene.ts'
import { aPort, fakeProbes } from './port-scene.ts'
import { aGuestClock, anUnreportedVm, aTask } from './rows.ts'
import { casOf, fakeTrust } from './trust-scene.ts'
import { aCommand, someTemplates } from './vm-scene.ts'

export interface Delta {
  vms?: Vm[]
  tasks?: Task[]
  hosts?: FleetState['hosts']
  images?: FleetState['images']
  removedVmIds?: string[]
  removedHostIds?: string[]
  ports?: FleetState['ports']
  removedPortIds?: string[]
  vmMetrics?: MessageInitShape<typeof VmMetricsChangeSchema>[]
  vmClocks?: MessageInitShape<typeof VmClockChangeSchema>[]
}

/** Every call the page made, for a test to look at. */
export interface Call {
  method: string
  request: unknown
}

/** A control plane that only remembers and tells: what happens in it is scripted by whoever holds it. */
export class FakeFleet {
  readonly calls: Call[] = []
  audit: AuditEntry[] = []
  readonly control = new FakeControl()
  templates = someTemplates()
  commandFails = false
  info = {
    localHostPossible: true,
    localHostDetail: '',
    buildTinyPossible: true,
    buildDebianPossible: true,
    sshConfigHosts: ['rack2-07', 'edge-1'],
    ssh: {
      ...{ configPath: '/home/ada/.ssh/config', clientVersion: '9.2' },
      ...{ agentSocket: '/run/user/1000/ssh-agent.sock', agentKeys: 2, keychain: true },
    },
  }
  /** Answers AddHost; tests script the task from there. */
  onAddHost: (name: string) => Task = (name) => aTask({ subject: name })
  #state: FleetState
  #revision = 1n
  #down = false
  readonly #watchers = new Set<(message: WatchFleetResponse | undefined) => void>()

  cas: Ca[]

  constructor(state: FleetState) {
    this.#state = state
    this.cas = casOf(state)
  }

  get state(): FleetState {
    return this.#state
  }

  host(ref: string): Host {
    const found = this.state.hosts.find((h) => h.id === ref || h.name === ref)
    if (!found) throw new Fault('host/not-found', 'permanent', { host: ref })
    return found
  }

  vm(ref: string): Vm {
    const vm = this.#state.vms.find((v) => v.id === ref || v.name === ref)
    if (!vm) throw new Fault('vm/not-found', 'permanent', { vm: ref })
    return vm
  }

  /** Ends every stream and answers no new one, as a control plane that died. */
  goDown(): void {
    this.#down = true
    for (const send of this.#watchers) send(undefined)
  }

  /** Answers again, with the state it had. */
  comeBack(): void {
    this.#down = false
  }

  /** Changes rows and tells every watcher. */
  tell(delta: Delta): void {
    const state = this.#state
    if (delta.vms || delta.removedVmIds)
      state.vms = merged(state.vms, delta.vms ?? []).filter((v) => !delta.removedVmIds?.includes(v.id))
    state.tasks = merged(state.tasks, delta.tasks ?? [])
    state.hosts = merged(state.hosts, delta.hosts ?? []).filter((h) => !delta.removedHostIds?.includes(h.id))
    state.images = merged(state.images, delta.images ?? [])
    state.ports = merged(state.ports, delta.ports ?? []).filter((p) => !delta.removedPortIds?.includes(p.id))
    this.#revision++
    const message = create(WatchFleetResponseSchema, {
      revision: this.#revision,
      message: { case: 'delta', value: create(FleetDeltaSchema, delta) },
    })
    for (const send of this.#watchers) send(message)
  }

  async *watch(signal: AbortSignal): AsyncGenerator<WatchFleetResponse> {
    const queue: (WatchFleetResponse | undefined)[] = [
      create(WatchFleetResponseSchema, { revision: this.#revision, message: { case: 'state', value: this.#state } }),
    ]
    let wake: () => void = () => undefined
    const send = (message: WatchFleetResponse | undefined) => {
      queue.push(message)
      wake()
    }
    this.#watchers.add(send)
    signal.addEventListener('abort', () => wake())
    try {
      while (!signal.aborted) {
        if (this.#down) throw new ConnectError('down', Code.Unavailable)
        const next = queue.shift()
        if (next) yield next
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    } finally {
      this.#watchers.delete(send)
    }
  }

  routes = (router: ConnectRouter): void => {
    const seen = <R, A>(method: string, answer: (request: R) => A) => {
      return (request: R): A => {
        this.calls.push({ method, request })
        try {
          return answer(request)
        } catch (error) {
          throw toConnectError(error)
        }
      }
    }
    const change = (ref: string, edit: (vm: Vm) => void) => {
      const vm = this.vm(ref)
      edit(vm)
      this.tell({ vms: [vm] })
      return { vm }
    }
    router.service(FleetService, {
      watchFleet: (_request, context) => this.watch(context.signal),
      getInfo: () => ({ version: '0.1.0', fleetId: 'f'.repeat(32), dataDir: '/data', pid: 1, ...this.info }),
    })
    router.service(HostService, {
      addHost: seen('addHost', (request) => {
        const task = this.onAddHost(request.name)
        this.tell({ tasks: [task] })
        return { task }
      }),
      reconnectHost: seen('reconnectHost', () => ({})),
      signInHost: seen('signInHost', () => ({})),
      acceptHostKey: seen('acceptHostKey', () => ({})),
      takeOverHost: seen('takeOverHost', () => ({})),
      removeHost: seen('removeHost', ({ host }) => {
        // Told before the answer is, as a control plane may.
        this.tell({ removedHostIds: [this.host(host).id] })
        return {}
      }),
      ...hostActs(this),
      listHosts: () => ({ hosts: this.#state.hosts }),
    })
    router.service(VmService, {
      listVms: () => ({ vms: this.#state.vms }),
      createVm: seen('createVm', (request) => {
        if (this.#state.vms.some((v) => v.name === request.name && !v.deletedAt))
          throw new Fault('vm/name-taken', 'permanent', { vm: request.name })
        const [host] = this.#state.hosts
        const { name, vcpus = 1, memMb = 512, diskGb = 10 } = request
        const place = { hostId: host?.id ?? '', hostName: host?.name ?? '' }
        const vm = anUnreportedVm({ name, vcpus, memMb, diskGb, ...place, createdAt: timestampNow() })
        this.tell({ vms: [vm] })
        return { vm, created: true }
      }),
      startVm: seen('startVm', ({ vm }) => change(vm, (v) => Object.assign(v, { desiredPower: 'running' }))),
      stopVm: seen('stopVm', ({ vm }) => change(vm, (v) => Object.assign(v, { desiredPower: 'stopped' }))),
      restartVm: seen('restartVm', ({ vm }) => change(vm, () => undefined)),
      deleteVm: seen('deleteVm', ({ vm }) => change(vm, (v) => Object.assign(v, { deletedAt: timestampNow() }))),
      undeleteVm: seen('undeleteVm', ({ vm, newName }) =>
        change(vm, (v) => {
          delete v.deletedAt
          delete v.quarantineEndsAt
          if (newName) v.name = newName
        }),
      ),
      adoptVm: seen('adoptVm', ({ vm, newName }) =>
        change(vm, (v) => Object.assign(v, { unowned: false, ...(newName ? { name: newName } : {}) })),
      ),
      updateVm: seen('updateVm', ({ $typeName, $unknown, vm, labels, removeLabels, ...fields }) => ({
        ...change(vm, (v) => {
          for (const key of removeLabels) delete v.labels[key]
          Object.assign(v.labels, labels)
          Object.assign(v, Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)))
        }),
        notReached: fields.clockPolicy ? POLICY_NOT_REACHED : '',
      })),
      cloneVm: seen('cloneVm', ({ vm: ref, name }) => {
        const source = this.vm(ref)
        const { hostId, hostName, vcpus, memMb, diskGb } = source
        const vm = anUnreportedVm({ name, hostId, hostName, vcpus, memMb, diskGb, cloneOf: source.id })
        this.tell({ vms: [vm] })
        return { vm, created: true }
      }),
      getVmCommand: seen('getVmCommand', ({ vm: ref }) => {
        const vm = this.vm(ref)
        if (this.commandFails) throw new Fault('host/no-answer', 'transient', { host: vm.hostName })
        return aCommand(vm)
      }),
      purgeVm: seen('purgeVm', ({ vm }) => {
        this.tell({ removedVmIds: [this.vm(vm).id] })
        return {}
      }),
    })
    const build = (subject: string) => {
      const task = aTask({ kind: 'build_image', subject })
      this.tell({ tasks: [task] })
      return { task }
    }
    router.service(ImageService, {
      collectImages: seen('collectImages', collectOnce(this)),
      listImages: () => ({ images: this.#state.images }),
      buildTinyImage: seen('buildTinyImage', () => build('tiny')),
      buildDebianImage: seen('buildDebianImage', () => build('debian-12')),
      ...imageCalls(this),
    })
    router.service(PortService, {
      listPorts: () => ({ ports: this.#state.ports }),
      publishPort: seen('publishPort', ({ vm: ref, guestPort, hostPort, protocol, scope }) => {
        const vm = this.vm(ref)
        const taken = this.#state.ports.find((p) => p.hostId === vm.hostId && p.hostPort === hostPort)
        if (taken) {
          const params = { host: vm.hostName, vm: taken.vmName, port: String(hostPort), protocol }
          throw new Fault('port/taken', 'conflict', { ...params, free: String(hostPort + 1) })
        }
        const port = aPort(vm, { guestPort, hostPort: hostPort || 24_010, protocol, scope })
        this.tell({ ports: [port] })
        return { port, created: true }
      }),
      probePort: seen('probePort', ({ id }) => ({ probes: fakeProbes(this.state.ports.find((p) => p.id === id)) })),
      unpublishPort: seen('unpublishPort', ({ id }) => {
        this.tell({ removedPortIds: [id] })
        return {}
      }),
    })
    router.service(TrustService, fakeTrust(this))
    router.service(TemplateService, {
      listTemplates: () => ({ templates: this.templates }),
      createTemplate: seen('createTemplate', ({ name }) => ({ template: { id: name, name }, created: true })),
    })
    router.service(TaskService, {
      answerTask: seen('answerTask', (request) => ({ task: this.#task(request.taskId) })),
      cancelTask: seen('cancelTask', (request) => {
        const task = this.#task(request.id)
        task.state = 'cancelled'
        delete task.question
        this.tell({ tasks: [task] })
        return { task }
      }),
    })
    router.service(ClockService, {
      setGuestClock: seen('setGuestClock', ({ vm: ref }) => {
        const vm = this.vm(ref)
        if (!vm.clock?.source)
          throw new Fault('clock/not-set', 'transient', { vm: vm.name, detail: 'no guest agent answers' })
        const before = vm.clock.offsetUs
        vm.clock = aGuestClock(1, Date.now(), {
          lastAct: {
            ...{ cause: 'asked', means: 'set_time', result: 'done', offsetAfterUs: 1000n, at: timestampNow() },
            ...(before === undefined ? {} : { offsetBeforeUs: before }),
          },
        })
        this.tell({ vmClocks: [{ vmId: vm.id, clock: vm.clock }] })
        return { clock: vm.clock }
      }),
    })
    router.service(NetworkService, {
      listNetworks: () => ({ networks: this.state.hosts.flatMap(({ networks }) => networks) }),
      checkNetwork: seen('checkNetwork', ({ host }) => ({ findings: this.host(host).networkFindings })),
      mendNetwork: seen('mendNetwork', ({ host: ref, findingId, undo }) => {
        const host = this.host(ref)
        const finding = host.networkFindings.find(({ id }) => id === findingId)
        if (!finding?.mend)
          throw new Fault('network/not-mendable', 'permanent', {
            finding: findingId,
            host: host.name,
            detail: 'no mend',
          })
        host.networkFindings = host.networkFindings.map((one) => (one === finding ? { ...one, mended: !undo } : one))
        this.tell({ hosts: [host] })
        return { findings: host.networkFindings }
      }),
    })
    router.service(MetricsService, fakeHistory(this))
    this.control.routes(router, this)
  }

  #task(id: string): Task {
    const task = this.#state.tasks.find((t) => t.id === id)
    if (!task) throw new Fault('task/not-found', 'permanent')
    return task
  }
}

function merged<T extends { id: string }>(rows: T[], changed: T[]): T[] {
  const next = new Map(rows.map((row) => [row.id, row]))
  for (const row of changed) next.set(row.id, row)
  return [...next.values()]
}

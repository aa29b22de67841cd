import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampNow } from '@bufbuild/protobuf/wkt'
import type { ConnectRouter } from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { toConnectError } from '../../src/ipc/fault-wire.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { AuditService, type ListAuditRequest } from '../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import {
  FleetService,
  type WatchFleetResponse,
  WatchFleetResponseSchema,
} from '../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { type AddHostRequest, type Host, HostSchema, HostService } from '../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import {
  type AddImageRequest,
  type CollectImagesRequest,
  type CollectImagesResponse,
  CollectImagesResponseSchema,
  type Image,
  ImageSchema,
  ImageService,
} from '../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import { type AnswerTaskRequest, type Task, TaskSchema, TaskService } from '../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { type CreateVmRequest, type Vm, VmSchema, VmService } from '../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'

export const idOf = (n: number) => n.toString(16).padStart(32, '0')

/** What a host says of a VM in this state. */
const seen = (lifecycle: string | undefined): { power?: string } =>
  lifecycle === 'ready' ? { power: 'running' } : lifecycle === 'stopped' ? { power: 'stopped' } : {}

/** The fleet API over a real unix socket, in memory: does what it is asked at once and remembers the requests. */
export class FakeFleetServer {
  readonly vms = new Map<string, Vm>()
  readonly hosts = new Map<string, Host>()
  readonly images = new Map<string, Image>()
  readonly tasks = new Map<string, Task>()
  readonly created: CreateVmRequest[] = []
  readonly added: AddHostRequest[] = []
  readonly addedImages: AddImageRequest[] = []
  readonly collections: CollectImagesRequest[] = []
  collection: CollectImagesResponse = create(CollectImagesResponseSchema)
  readonly answers: AnswerTaskRequest[] = []
  readonly cancelled: string[] = []
  readonly audits: ListAuditRequest[] = []
  readonly calls: string[] = []
  /** What a host is once it was said to be taken over. */
  onTakeOver: (host: Host) => Host = (host) => create(HostSchema, { id: host.id, name: host.name, link: 'connected' })
  /** What a started task looks like; undefined = it is done at once. */
  task: MessageInitShape<typeof TaskSchema> = { state: 'done' }
  /** What a VM is once it was asked to start. */
  onStart: Partial<Vm> = { lifecycle: 'ready' }
  onAnswer: (answer: AnswerTaskRequest) => void = () => {}
  readonly server: http.Server
  readonly #dir: string
  readonly #watchers = new Set<() => void>()
  #nextId = 1

  private constructor(dir: string) {
    this.#dir = dir
    this.server = http.createServer(connectNodeAdapter({ routes: (router) => this.#routes(router) }))
  }

  static async start(): Promise<FakeFleetServer> {
    const fake = new FakeFleetServer(await mkdtemp(join(tmpdir(), 'eitri-fleet-')))
    await fake.listen()
    return fake
  }

  get socketPath(): string {
    return join(this.#dir, 'api.sock')
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(this.socketPath, resolve))
  }

  /** Stops answering, as a control plane that is restarted. */
  async pause(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  async stop(): Promise<void> {
    await this.pause()
    await rm(this.#dir, { recursive: true, force: true })
  }

  vm(init: MessageInitShape<typeof VmSchema>): Vm {
    const vm = create(VmSchema, {
      id: idOf(this.#nextId++),
      lifecycle: 'ready',
      desiredPower: 'running',
      ...seen(init.lifecycle),
      ...init,
    })
    this.vms.set(vm.id, vm)
    this.push()
    return vm
  }

  host(init: MessageInitShape<typeof HostSchema>): Host {
    const host = create(HostSchema, { id: idOf(this.#nextId++), link: 'connected', ...init })
    this.hosts.set(host.id, host)
    this.push()
    return host
  }

  push(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }

  get watchers(): number {
    return this.#watchers.size
  }

  #get(ref: string, deleted = false): Vm {
    const vm = [...this.vms.values()].find(
      (v) => v.id === ref || (v.name === ref && (v.deletedAt !== undefined) === deleted),
    )
    if (!vm) throw toConnectError(new Fault('vm/not-found', 'permanent', { vm: ref }))
    return vm
  }

  #change(call: string, ref: string, patch: Partial<Vm>, deleted = false): { vm: Vm } {
    this.calls.push(`${call} ${ref}`)
    const vm = { ...this.#get(ref, deleted), ...seen(patch.lifecycle), ...patch }
    this.vms.set(vm.id, vm)
    this.push()
    return { vm }
  }

  #build(name: string) {
    const image = create(ImageSchema, { id: idOf(this.#nextId++), name, isDefault: this.images.size === 0 })
    this.images.set(image.id, image)
    return { task: this.#start('build_image', name, image.id) }
  }

  #start(kind: string, subject: string, resultId: string): Task {
    const task = create(TaskSchema, { id: idOf(this.#nextId++), kind, subject, resultId, ...this.task })
    this.tasks.set(task.id, task)
    this.push()
    return task
  }

  async *#watch(signal: AbortSignal): AsyncGenerator<WatchFleetResponse> {
    let dirty = Promise.withResolvers<void>()
    const watcher = () => dirty.resolve()
    signal.addEventListener('abort', watcher, { once: true })
    this.#watchers.add(watcher)
    try {
      for (let revision = 1n; !signal.aborted; revision++) {
        dirty = Promise.withResolvers()
        const [hosts, vms, images, tasks] = [this.hosts, this.vms, this.images, this.tasks].map((m) => [...m.values()])
        const value = { hosts, vms, images, tasks } as never
        yield create(WatchFleetResponseSchema, { revision, message: { case: 'state', value } })
        await dirty.promise
      }
    } finally {
      this.#watchers.delete(watcher)
    }
  }

  #routes(router: ConnectRouter): void {
    router.service(FleetService, { watchFleet: (_, context) => this.#watch(context.signal), getInfo: () => ({}) })
    router.service(HostService, {
      listHosts: () => ({ hosts: [...this.hosts.values()] }),
      getHost: ({ host }) => ({ host: [...this.hosts.values()].find((h) => h.id === host || h.name === host)! }),
      addHost: (request) => {
        this.added.push(request)
        const host = create(HostSchema, { id: idOf(this.#nextId++), name: request.name, link: 'connected' })
        this.hosts.set(host.id, host)
        return { task: this.#start('add_host', request.name, host.id) }
      },
      signInHost: ({ host, password, sudoPassword, keep, ask }) => {
        this.calls.push(['signInHost', host, password, sudoPassword, keep, ask].join(' '))
        return { task: this.#start('sign_in', host, idOf(1)) }
      },
      forgetHostSecrets: ({ host }) => {
        this.calls.push(`forgetHostSecrets ${host}`)
        return {}
      },
      acceptHostKey: ({ host, fingerprint }) => {
        this.calls.push(`acceptHostKey ${host} ${fingerprint}`)
        return {}
      },
      takeOverHost: ({ host, useOlderData }) => {
        this.calls.push(`takeOverHost ${this.hosts.get(host)?.name} ${useOlderData}`)
        const taken = this.hosts.get(host)!
        this.hosts.set(host, this.onTakeOver(taken))
        this.push()
        return {}
      },
      removeHost: ({ host, force, uninstall }) => {
        this.calls.push(`removeHost ${host} ${force} ${uninstall}`)
        return { leftBehind: ['web-1'] }
      },
    })
    router.service(VmService, {
      listVms: () => ({ vms: [...this.vms.values()] }),
      getVm: ({ vm }) => ({ vm: this.#get(vm) }),
      createVm: (request) => {
        if ([...this.vms.values()].some((v) => v.name === request.name))
          throw toConnectError(new Fault('vm/name-taken', 'permanent', { vm: request.name }))
        this.created.push(request)
        return { vm: this.vm({ name: request.name, lifecycle: 'creating' }), created: true }
      },
      startVm: ({ vm }) => this.#change('start', vm, this.onStart),
      stopVm: ({ vm, force }) => this.#change(force ? 'forceStop' : 'stop', vm, { lifecycle: 'stopped' }),
      restartVm: ({ vm }) => this.#change('restart', vm, {}),
      deleteVm: ({ vm }) => this.#change('delete', vm, { lifecycle: 'deleting', deletedAt: timestampNow() }),
      undeleteVm: ({ vm, newName }) => {
        const { name } = this.#get(vm, true)
        const { deletedAt, ...rest } = this.#get(vm, true)
        void deletedAt
        const back = { ...rest, name: newName || name, lifecycle: 'ready' }
        this.vms.set(back.id, back)
        return { vm: back }
      },
      adoptVm: ({ vm, newName }) => {
        const was = this.#get(vm, false)
        this.calls.push(`adopt ${vm}`)
        const back = { ...was, name: newName || was.name, unowned: false }
        this.vms.set(back.id, back)
        this.push()
        return { vm: back, adopted: was.unowned }
      },
      purgeVm: ({ vm }) => {
        this.calls.push(`purge ${vm}`)
        this.vms.delete(this.#get(vm, true).id)
        this.push()
        return {}
      },
    })
    router.service(ImageService, {
      collectImages: (request) => {
        this.collections.push(request)
        return this.collection
      },
      listImages: () => ({ images: [...this.images.values()] }),
      addImage: (request) => {
        this.addedImages.push(request)
        return { image: { id: idOf(this.#nextId++), name: request.name } }
      },
      buildTinyImage: () => this.#build('tiny'),
      buildDebianImage: () => this.#build('debian-12'),
    })
    router.service(TaskService, {
      listTasks: () => ({ tasks: [...this.tasks.values()] }),
      getTask: ({ id }) => ({ task: this.tasks.get(id)! }),
      answerTask: (request) => {
        this.answers.push(request)
        this.onAnswer(request)
        return { task: this.tasks.get(request.taskId)! }
      },
      cancelTask: ({ id }) => {
        this.cancelled.push(id)
        return { task: this.tasks.get(id)! }
      },
    })
    router.service(AuditService, {
      listAudit: (request) => {
        this.audits.push(request)
        return { entries: [{ id: '1', action: 'vm.create', detail: { name: 'web-1' } }] }
      },
    })
  }
}

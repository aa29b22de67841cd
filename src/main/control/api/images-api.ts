import { randomBytes } from 'node:crypto'
import { isAbsolute } from 'node:path'
import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type {
  AddCatalogueImageRequest,
  AddImageRequest,
  CollectImagesRequest,
  ImageService,
  ImportImageRequest,
  PushImageRequest,
} from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import { check } from '../../../ipc/rules.ts'
import { collectOn } from '../hosts/image-collection.ts'
import { type BuiltImageDeps, buildImage, type ImageBuilder } from '../images/built-image.ts'
import { addCatalogueImage } from '../images/catalogue/add-catalogue-image.ts'
import { entryOf, readCatalogue } from '../images/catalogue/catalogue.ts'
import type { HttpsRequest } from '../images/catalogue/https-get.ts'
import { importImage } from '../images/import/import-image.ts'
import { type ImagePushes, pushImage } from '../images/push-image.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import { type ImageRow, NO_ORIGIN } from '../store/images-store.ts'
import type { TaskRow } from '../store/task-row.ts'
import type { VmsStore } from '../store/vms-store.ts'
import type { Registry } from '../sync/registry.ts'
import type { TaskAgain, TaskContext, TaskKind } from '../tasks/task-context.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'
import type { FleetView } from './fleet-view.ts'
import { principalOf } from './principal.ts'
import { taskView } from './task-view.ts'

export interface ImagesApiDeps extends BuiltImageDeps {
  builders: { tiny: ImageBuilder; debian: ImageBuilder }
  vms: VmsStore
  tasks: TaskRunner
  view: FleetView
  hosts: HostsStore
  registry: Pick<Registry, 'active' | 'live'>
  pushes: ImagePushes
  /** How publishers are read. */
  request: HttpsRequest
}

/** The image catalogue. Removing an image that is kept here removes its file too. */
export function imagesApi(deps: ImagesApiDeps): ServiceImpl<typeof ImageService> {
  const { images, view } = deps
  const passing = new Map<string, number>()
  deps.tasks.goOnWith(imageTasksAgain(deps, passing))
  const resolve = (request: { image: string }) => images.resolve(check('imageRef', request).image)
  return {
    listImages: (_, context) => ({ images: view.images(principalOf(context).tenant) }),
    addImage: (request, context) => ({ image: view.image(principalOf(context).tenant, addImage(deps, request)) }),
    buildTinyImage: () => ({ task: taskView(startBuild(deps, deps.builders.tiny)) }),
    buildDebianImage: () => ({ task: taskView(startBuild(deps, deps.builders.debian)) }),
    setDefaultImage: (request, context) => ({
      image: view.image(principalOf(context).tenant, images.setDefault(resolve(request).id)),
    }),
    removeImage: async (request, context) => {
      const row = images.remove(principalOf(context).tenant, resolve(request).id)
      if (row.url === '' && !images.findBySha256(row.sha256)) await deps.files.remove(row.sha256)
      return {}
    },
    importImage: (request, context) => startImport(deps, principalOf(context).tenant, request),
    collectImages: (request, context) => collectImages(deps, principalOf(context).tenant, request, context.signal),
    listCatalogue: () => ({
      images: readCatalogue().map((entry) => ({
        ...entry,
        aboutBytes: BigInt(entry.aboutBytes),
        addedAs: images.findByCatalogue(entry.id)?.name ?? '',
      })),
    }),
    addCatalogueImage: (request, context) => startAdding(deps, principalOf(context).tenant, request),
    pushImage: (request, context) => startPush(deps, principalOf(context).tenant, request, passing),
  }
}

/** The running task of the same entry and name when there is one. Raises image/not-in-catalogue and image/name-taken. */
function startAdding(deps: ImagesApiDeps, tenant: string, request: AddCatalogueImageRequest) {
  const { images, tasks } = deps
  const entry = entryOf(readCatalogue(), request.entry)
  const { name } = check('addCatalogueImage', { name: request.name || entry.id })
  const running = tasks.list(tenant).find(isUnderWay('add_image', name))
  if (running) return { task: taskView(running) }
  if (images.findByName(name)) throw new Fault('image/name-taken', 'conflict', { image: name })
  const run = { entry, name, makeDefault: request.makeDefault }
  return {
    task: taskView(
      tasks.get(
        tenant,
        tasks.start(tenant, 'add_image', name, (task) => addCatalogueImage(deps, run, task), {
          ...{ entry: entry.id, name },
          ...(request.makeDefault ? { make_default: 'true' } : {}),
        }),
      ),
    ),
  }
}

/** No task where the host has it. Raises host/no-answer while it is not connected. */
function startPush(deps: ImagesApiDeps, tenant: string, request: PushImageRequest, passing: Map<string, number>) {
  const { images, hosts, registry, tasks } = deps
  const host = hosts.resolve(tenant, check('hostRef', request).host)
  const image = images.resolve(check('imageRef', request).image)
  const has = registry.live(host.id).report?.images.some(({ sha256 }) => sha256 === image.sha256)
  if (has) return {}
  if (!registry.active(host.id)) throw new Fault('host/no-answer', 'transient', { host: host.name })
  if (image.url.startsWith('http:')) {
    const detail = 'its address is not https; the host fetches it by itself when a VM needs it'
    throw new Fault('image/push-failed', 'permanent', { image: image.name, host: host.name, detail })
  }
  const subject = `${image.name} to ${host.name}`
  const running = tasks.list(tenant).find(isUnderWay('push_image', subject))
  if (running) return { task: taskView(running) }
  const run = { image, host: { id: host.id, name: host.name } }
  const push = pushing(deps, passing)
  return {
    task: taskView(
      tasks.get(
        tenant,
        tasks.start(tenant, 'push_image', subject, (task) => push(run, task), { image: image.id, host: host.id }),
      ),
    ),
  }
}

const pushing = (deps: ImagesApiDeps, passing: Map<string, number>) => {
  const isKept = (sha256: string) => deps.images.list().some((row) => row.sha256 === sha256 && row.url === '')
  return (run: Parameters<typeof pushImage>[1], task: TaskContext) => pushImage({ ...deps, passing, isKept }, run, task)
}

/** Making, fetching and sending an image end the same however often they are begun. */
function imageTasksAgain(deps: ImagesApiDeps, passing: Map<string, number>): Partial<Record<TaskKind, TaskAgain>> {
  const { images, hosts, builders } = deps
  return {
    build_image: ({ name }) => {
      const builder = Object.values(builders).find(({ image }) => image.name === name)
      if (!builder) throw new Fault('image/build-impossible', 'permanent', { image: name ?? '' })
      return (task) => buildImage(deps, builder, task)
    },
    add_image: ({ entry = '', name = '', make_default: makeDefault }) => {
      const known = images.findByName(name)
      if (known) return async () => ({ resultId: known.id })
      const run = { entry: entryOf(readCatalogue(), entry), name, makeDefault: makeDefault === 'true' }
      return (task) => addCatalogueImage(deps, run, task)
    },
    push_image: ({ image: imageId = '', host: hostId = '' }, tenant) => {
      const { id, name } = hosts.resolve(tenant, hostId)
      const run = { image: images.resolve(imageId), host: { id, name } }
      return (task) => pushing(deps, passing)(run, task)
    },
  }
}

/** The one answer that waits for hosts: what goes is theirs to say. Those that are not connected say so in it. */
async function collectImages(deps: ImagesApiDeps, tenant: string, request: CollectImagesRequest, signal: AbortSignal) {
  const { hosts, images, registry } = deps
  const catalogue = images.list()
  const namesOf = (sha256: string) => catalogue.filter((row) => row.sha256 === sha256).map((row) => row.name)
  const asked = request.host === '' ? hosts.list(tenant) : [hosts.resolve(tenant, check('hostRef', request).host)]
  return {
    hosts: await Promise.all(asked.map((host) => collectOn({ sessions: registry, namesOf }, host, request, signal))),
  }
}

function addImage({ images }: ImagesApiDeps, request: AddImageRequest): ImageRow {
  const image = check('addImage', { ...request, arch: request.arch || 'x86_64', kind: request.kind || 'disk' })
  const known = request.ifAbsent ? images.findByName(image.name) : undefined
  const row =
    known ??
    images.create({
      id: randomBytes(16).toString('hex'),
      ...image,
      sizeBytes: null,
      defaultVcpus: 0,
      defaultMemMb: 0,
      defaultDiskGb: 0,
      description: '',
      origin: { ...NO_ORIGIN, verified: 'given' },
    })
  return request.makeDefault ? images.setDefault(row.id) : row
}

/** Answers the image `if_absent` found; else the task, that of the same file where one runs already. Raises image/name-taken. */
function startImport(deps: ImagesApiDeps, tenant: string, request: ImportImageRequest) {
  const { images, tasks, view } = deps
  const { name, path, arch } = check('importImage', { ...request, arch: request.arch || 'x86_64' })
  if (!isAbsolute(path))
    throw new Fault('input/invalid', 'permanent', {
      field: 'path',
      value: path.slice(0, 80),
      problem: 'use an absolute path',
    })
  const known = images.findByName(name)
  if (known && request.ifAbsent) return { image: view.image(tenant, known) }
  const running = tasks.list(tenant).find(isUnderWay('import_image', name))
  if (running && request.ifAbsent) return { task: taskView(running) }
  if (known || running) throw new Fault('image/name-taken', 'conflict', { image: name })
  return {
    task: taskView(
      tasks.get(
        tenant,
        tasks.start(tenant, 'import_image', name, (task) => importImage(deps, { name, path, arch }, task)),
      ),
    ),
  }
}

const isUnderWay = (kind: TaskRow['kind'], image: string) => (task: TaskRow) =>
  task.kind === kind && task.subject === image && task.endedAt === null

/** The running build of that image when there is one: images are everybody's, and so is their making. Raises image/build-impossible. */
function startBuild(deps: ImagesApiDeps, builder: ImageBuilder) {
  const { tasks } = deps
  const { name } = builder.image
  const running = tasks.list(SYSTEM_TENANT).find(isUnderWay('build_image', name))
  if (running) return running
  const { possible, detail } = builder.possible()
  if (!possible) throw new Fault('image/build-impossible', 'permanent', { image: name, detail })
  return tasks.get(
    SYSTEM_TENANT,
    tasks.start(SYSTEM_TENANT, 'build_image', name, (task) => buildImage(deps, builder, task), { name }),
  )
}

import type { Server } from 'node:http'
import { join } from 'node:path'
import type { ConnectRouter } from '@connectrpc/connect'
import { faultLine } from '../../ipc/fault-text.ts'
import { Fault } from '../../ipc/faults.ts'
import { AuditService } from '../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { ClockService } from '../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import { CloudInitService } from '../../ipc/gen/eitri/fleet/v1/cloud_init_pb.js'
import { FleetService } from '../../ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { HostService } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { ImageService } from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { MetricsService } from '../../ipc/gen/eitri/fleet/v1/metrics_pb.js'
import { NetworkService } from '../../ipc/gen/eitri/fleet/v1/network_pb.js'
import { PortService } from '../../ipc/gen/eitri/fleet/v1/port_pb.js'
import { StoreService } from '../../ipc/gen/eitri/fleet/v1/store_pb.js'
import { SupportService } from '../../ipc/gen/eitri/fleet/v1/support_pb.js'
import { TaskService } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { TemplateService } from '../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { TenantService } from '../../ipc/gen/eitri/fleet/v1/tenant_pb.js'
import { TrustService } from '../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { VmService } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { auditApi } from './api/audit-api.ts'
import { clockApi } from './api/clock-api.ts'
import { cloudInitApi } from './api/cloud-init-api.ts'
import { fleetApi } from './api/fleet-api.ts'
import { FleetFeeds } from './api/fleet-feeds.ts'
import { FleetView } from './api/fleet-view.ts'
import { hostsApi } from './api/hosts-api.ts'
import { imagesApi } from './api/images-api.ts'
import { browserShell, withLaunch } from './api/loopback.ts'
import { metricsApi } from './api/metrics-api.ts'
import { networksApi } from './api/networks-api.ts'
import { ownedBy, ownedVm } from './api/owned-vm.ts'
import { portsApi } from './api/ports-api.ts'
import { createApiHandler, listenOnSocket } from './api/server.ts'
import { storeApi, storeState } from './api/store-api.ts'
import { supportApi } from './api/support-api.ts'
import { tasksApi } from './api/tasks-api.ts'
import { templatesApi } from './api/templates-api.ts'
import { tenantsApi } from './api/tenants-api.ts'
import { trustApi } from './api/trust-api.ts'
import { vmsApi } from './api/vms-api.ts'
import { consoleEndpoint } from './consoles/attach.ts'
import { createConsoleBroker } from './consoles/broker.ts'
import { fleetShells } from './consoles/fleet-shells.ts'
import type { ConsoleVms } from './consoles/viewer.ts'
import { createFleetHosts } from './fleet-hosts.ts'
import { imageBuilders } from './images/builders.ts'
import { httpsRequest } from './images/catalogue/https-get.ts'
import { ImageFiles } from './images/image-files.ts'
import type { Ports } from './ports.ts'
import { needsOf } from './rebuild/restore-needs.ts'
import { watchSleep } from './sleep-watch.ts'
import { actingItself } from './store/actor.ts'
import { auditRetention } from './store/audit-retention.ts'
import { openStores, type Stores } from './store/stores.ts'
import { SupportBundle } from './support/support-bundle.ts'
import { supportSources } from './support/support-sources.ts'
import { Hub } from './sync/hub.ts'
import { Registry } from './sync/registry.ts'
import { TaskRunner } from './tasks/task-runner.ts'
import { VmTasks } from './tasks/vm-tasks.ts'
import { CaKeyFiles } from './trust/ca-keys.ts'
import { fleetTrust } from './trust/fleet-trust.ts'
import { caPassphrase } from './trust/passphrase.ts'
import { fleetTunnels } from './tunnels/fleet-tunnels.ts'
import { findUnowned, notOfThisFleet } from './vms/unowned-vms.ts'
import { findVm, getVm as getAnyVm } from './vms/vm-directory.ts'

const STOP_GRACE_MS = 3_000

/** One fleet's control plane. Made, started and stopped once; whoever makes it holds the lock on the data directory. */
export interface ControlPlane {
  readonly info: { fleetId: string; version: string; apiSocket: string }
  /** Raises app/part-missing when the socket cannot be bound. */
  start(): Promise<void>
  /** Ends sessions, tasks and listeners; VMs and agents go on. Idempotent. */
  stop(): Promise<void>
  /** The computer woke: dials and probes at once. */
  wake(): void
  /** A link for one browser on this computer; the first call starts the loopback listener, 0 = on its last port. Raises app/part-missing. */
  browserLink(port?: number): Promise<string>
}

/** Constructs and connects everything; opens the store. Raises store/unavailable. */
export function createControlPlane(ports: Ports): ControlPlane {
  const { clock, log, paths, version } = ports
  const stores = openStores(paths.database, clock)
  const registry = new Registry()
  const hub = new Hub()
  const tasks = new TaskRunner(stores.tasks, clock, log)
  const keys = new CaKeyFiles({ dir: paths.caKeys, keychain: ports.keychain, passphrase: caPassphrase(ports) })
  const trust = fleetTrust(ports, stores, registry, keys)
  const hosts = createFleetHosts({ ports, stores, registry, hub, trust, keys })
  const retention = auditRetention({ ...stores, clock, log })
  const view = new FleetView({
    ...stores,
    tasks,
    registry,
    pushes: hosts.pushes,
    secrets: hosts.secrets,
    life: hosts.life,
    clock,
  })
  const feed = new FleetFeeds(view, clock)
  const vmTasks = new VmTasks({ ...stores, runner: tasks, registry, view, clock, log })
  const stopping = new AbortController()

  stores.db.onCommit((changes) => {
    for (const { noun, id } of changes) if (noun === 'desired') hub.poke(id)
    feed.rowsChanged(changes)
    vmTasks.committed(changes)
  })
  registry.onChange((hostId) => {
    feed.hostChanged(hostId)
    vmTasks.hostChanged(hostId)
  })
  stores.db.onReplaced(() => {
    feed.restart()
    vmTasks.recover()
  })
  hosts.pushes.onChange((hostId) => {
    feed.pushChanged(hostId)
    vmTasks.hostChanged(hostId)
  })
  hosts.secrets.onChange((hostId) => feed.hostChanged(hostId))
  tasks.onShown((taskId) => feed.taskShown(taskId))

  const files = new ImageFiles(paths.images)
  const builders = imageBuilders(ports)
  const images = {
    ...stores,
    registry,
    builders,
    files,
    cacheDir: join(paths.dataDir, 'cache', 'packages'),
    tasks,
    view,
    pushes: hosts.pushes,
    request: httpsRequest(),
  }
  const info = {
    version,
    fleetId: hosts.fleetId,
    dataDir: paths.dataDir,
    pid: process.pid,
    localHost: hosts.localPossible,
    buildTiny: builders.tiny.possible,
    buildDebian: builders.debian.possible,
    sshConfigHosts: hosts.sshConfigHosts,
    ssh: hosts.sshFacts,
    store: (tenant: string) => storeState({ stores, registry }, tenant),
  }
  const bundle = new SupportBundle(
    supportSources({
      ports,
      stores,
      view,
      retention,
      storeState: (tenant) => storeState({ stores, registry }, tenant),
    }),
  )
  const getVm = (tenant: string, ref: string) => ownedVm({ ...stores, view }, tenant, ref)
  const shownRow = (tenant: string, ref: string) => ownedBy({ ...stores, view }, tenant, ref, getAnyVm)
  const routes = (router: ConnectRouter) => {
    router.service(FleetService, fleetApi(feed, info, stopping.signal))
    router.service(HostService, hostsApi({ ...stores, registry, tasks, view, clock, ...hosts }))
    router.service(VmService, vmsApi({ ...stores, registry, view, clock }))
    router.service(TemplateService, templatesApi({ ...stores, view }))
    router.service(ImageService, imagesApi(images))
    router.service(NetworkService, networksApi({ ...stores, registry, view }))
    router.service(PortService, portsApi({ ...stores, registry, view, clock }))
    router.service(CloudInitService, cloudInitApi())
    router.service(
      StoreService,
      storeApi({ stores, registry, file: paths.database, needs: () => needsOf(stores, paths), clock, log }),
    )
    router.service(SupportService, supportApi({ bundle, audit: stores.audit, store: stores.db }))
    router.service(TaskService, tasksApi(tasks))
    router.service(ClockService, clockApi({ ...stores, registry, clock, getVm }))
    router.service(TrustService, trustApi({ ...stores, registry, trust, clock, getVm }))
    router.service(TenantService, tenantsApi({ ...stores, onTenantCreated: (tenant) => trust.ensureTenant(tenant) }))
    router.service(MetricsService, metricsApi({ ...stores, registry, getVm: shownRow }))
    router.service(AuditService, auditApi({ ...stores, retention }))
  }
  const tunnels = fleetTunnels({
    ...stores,
    view,
    registry,
    dir: paths.loginAgents,
    trust,
    log,
  })
  const openShell = fleetShells({ ...stores, registry, tunnels, env: ports.env })
  const broker = createConsoleBroker({ vms: consoleVms(stores, view), sessions: registry, clock, openShell })
  const console = consoleEndpoint(broker, log)
  const api = createApiHandler({
    routes,
    tenants: stores.tenants,
    store: stores.db,
    audit: stores.audit,
    console,
    tunnel: tunnels.endpoint,
    renderer: paths.renderer,
    log,
  })
  const shell = browserShell({ handler: api, stateFile: join(paths.dataDir, 'browser.json'), clock, log })
  const woke = () => {
    log.info('control.woke')
    hosts.wake()
  }
  let server: Server | undefined

  return {
    info: { fleetId: hosts.fleetId, version, apiSocket: paths.apiSocket },
    async start() {
      await files.prepare(stores.db.damage ? { has: () => true } : wantedFiles(stores), clock.now())
      await trust.start()
      void trust.upkeep(stopping.signal)
      void watchSleep(clock, woke, stopping.signal)
      void actingItself(() => retention.run(stopping.signal))
      server = await listenOnSocket(paths.apiSocket, withLaunch(api, shell, log))
      hosts.start()
      tasks.recover()
      vmTasks.recover()
      log.info('control.started', { version, fleet: hosts.fleetId, socket: paths.apiSocket })
    },
    async stop() {
      if (stopping.signal.aborted) return
      stopping.abort(new Fault('app/cancelled', 'cancelled'))
      await tasks.stop(STOP_GRACE_MS)
      broker.close()
      console.close()
      await tunnels.close()
      await hosts.stop()
      await shell.close()
      await closed(server)
      stores.db.close()
      log.info('control.stopped')
    },
    wake: woke,
    browserLink: (port) => shell.link(port),
  }
}

const consoleVms = ({ vms, hosts }: Stores, view: FleetView): ConsoleVms => ({
  findForConsole: (tenant, ref) => {
    const vm = findVm(vms, tenant, ref)
    const host = vm && hosts.findIn(tenant, vm.hostId)
    return vm && host && { id: vm.id, name: vm.name, hostId: vm.hostId, hostName: host.name }
  },
  whyNone(tenant, ref) {
    const unowned = findUnowned(view.unowned(tenant), ref)
    if (!unowned) return `there is no VM ${ref}`
    const { code, params } = notOfThisFleet(unowned, hosts.findIn(tenant, unowned.hostId))
    return faultLine(code, params)
  },
})

/** Digests of files to keep: of the catalogue, and of VMs whose image left it. */
const wantedFiles = ({ images, vms }: Stores): Set<string> =>
  new Set([...images.list().map((image) => image.sha256), ...vms.listAll().map((vm) => vm.imageSha256)])

async function closed(server: Server | undefined): Promise<void> {
  if (!server) return
  const done = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await done
}

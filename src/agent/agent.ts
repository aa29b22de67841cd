import { type Clock, systemClock } from '../ipc/base/clock.ts'
import type { Log } from '../ipc/base/log.ts'
import { asFault } from '../ipc/faults.ts'
import type { Capacity } from '../ipc/gen/eitri/agent/v1/host_pb.js'
import { TIMES } from '../ipc/units.ts'
import { BUILD_INFO } from './build-info.ts'
import { guestPorts } from './exposures/guest-ports.ts'
import { type CapacityCaps, HostLooker } from './facts/host-facts.ts'
import { measuring } from './facts/metrics.ts'
import { FEATURES } from './features.ts'
import type { GuestNetworkWay } from './flags.ts'
import { GuestWatch } from './guest/guest-watch.ts'
import { keepHistory } from './history/keep-history.ts'
import { ImageCache } from './images/image-cache.ts'
import { JoinStanding } from './install/join-standing.ts'
import type { RunningProgram } from './install/self.ts'
import { GuestNetwork } from './network/guest-network.ts'
import type { HostNetwork } from './network/host-bridges.ts'
import { NetworkCare } from './network/network-care.ts'
import { networkPrograms } from './network/network-choice.ts'
import { knownVms, openNetworks } from './network/open-networks.ts'
import { openOperatorNetworks } from './network/operator-networks.ts'
import { lookAtNetwork, lookedAt } from './network/preflight.ts'
import { tapNames } from './network/tap.ts'
import { detach, run } from './os/exec.ts'
import { ensureDir } from './os/files.ts'
import { takeLock } from './os/lock.ts'
import { hostProcesses, hypervisorFacts, makeBackend } from './platform.ts'
import { CreateSlots } from './reconcile/create-slots.ts'
import { Engine } from './reconcile/engine.ts'
import { startCollector } from './reconcile/image-uses.ts'
import { QuotaLedger } from './reconcile/quota.ts'
import { fileDesired } from './records/desired-state.ts'
import { DiskReserve } from './records/disk-reserve.ts'
import { Identity } from './records/identity.ts'
import { agentLayout } from './records/layout.ts'
import { RevokedFile } from './records/revoked-file.ts'
import { requireStateDirs, usingState } from './records/state-dir.ts'
import { clearLeftovers, fileRecords } from './records/vm-records.ts'
import { startRpcServer } from './rpc/server.ts'
import { ensureHostKey } from './seed/host-key.ts'
import { writeSeed } from './seed/seed.ts'
import { ConsoleHub } from './serial/console-hub.ts'
import { logDisk } from './serial/log-disk.ts'
import { procArgv, showCommand } from './show-command/show-command.ts'
import { Staging } from './upgrade/staging.ts'
import { Upgrader } from './upgrade/upgrader.ts'

/** A guest asked to power off gets this long, ms. */
const STOP_GRACE_MS = 60_000
const MAX_CONCURRENT_CREATES = 4
const UNKNOWN_PROGRAM = { program: { kind: 'source', file: '', node: '' }, args: [] } as const

export interface AgentOptions {
  /** Absolute. */
  stateDir: string
  socketPath: string
  socketMode: number
  socketGid?: number
  /** Backend asked for; '' = the platform's own. */
  backend?: string
  /** Networks of the operator to serve; their bridges exist. */
  hostNetworks?: HostNetwork[]
  /** Upper bounds for all VMs together; absent = the whole machine, unchecked. */
  caps?: CapacityCaps
  /** Network of the guests where identity.json has none; absent or '' = as the control plane suggests. */
  bridgeCidr?: string
  /** Absent = `user`: nothing of this host's network is touched unless somebody asked for it. */
  guestNetwork?: GuestNetworkWay
  stopGraceMs?: number
  /** Absent = this one; another only in a test. */
  platform?: NodeJS.Platform
  arch?: NodeJS.Architecture
  /** On macOS: vfkit and the file of DHCP leases; absent = those of the system. */
  vfkit?: string
  leases?: string
  /** What runs, and with what it was started; absent = a test's own, which no offer replaces. */
  started?: { program: RunningProgram; args: readonly string[] }
  log: Log
  clock?: Clock
}

export interface RunningAgent {
  /** Ends sessions and passes; guests run on. Idempotent. */
  close(): Promise<void>
}

/** Builds every part, connects them and starts. Raises `agent/already-running` and `host/*`. */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const { stateDir, log, clock = systemClock, caps = {} } = options
  const layout = agentLayout(stateDir)
  const { platform = process.platform, arch = process.arch, vfkit, leases } = options
  const processes = hostProcesses(platform)
  const undo: (() => unknown)[] = []
  const close = once(async () => {
    for (const step of undo.toReversed()) await step()
  })
  try {
    await usingState(stateDir, () => ensureDir('state.dir', stateDir))
    await requireStateDirs(layout)
    const reserve = await DiskReserve.open(layout.reserve)
    reserve.start(clock)
    undo.push(() => reserve.stop())
    undo.push(await usingState(stateDir, () => reserve.spend(() => takeLock(layout.lock, processes))))
    const leftovers = await usingState(stateDir, () => clearLeftovers(layout))
    const identity = await usingState(stateDir, () =>
      Identity.load(layout.identity, clock.now, reserve.files.writeDurable),
    )
    const looking = new AbortController()
    undo.push(() => looking.abort())
    const programs = hypervisorFacts(platform, vfkit, options.backend)
    const way = options.guestNetwork ?? 'user'
    const needed = new Set([...programs.needed, ...networkPrograms(platform, way, process.getuid?.() === 0)])
    const facts = new HostLooker({ stateDir, ...programs, needed: [...needed], platform, caps, signal: looking.signal })
    const images = await usingState(layout.images, () => ImageCache.open(layout.images, { clock }))
    undo.push(() => images.close())
    const skipped = [...leftovers, ...images.notices()]
    for (const what of skipped) log.warn('state.skipped', { what })
    const records = fileRecords(layout, reserve.files)
    const desired = fileDesired(layout.desired, reserve.files)
    const collector = await startCollector(images, {
      layout,
      records,
      desired: fileDesired(layout.desired),
      clock,
      log,
    })
    undo.push(() => collector.stop())
    const logPathOf = (id: string) => (engine.has(id) ? layout.vmDir(id).serialLog : undefined)
    const hub = new ConsoleHub({ logPathOf, disk: logDisk(platform), log })
    undo.push(() => hub.close())
    const acceleration = async () => (await facts.acceleration()).kind
    const parts = { run, detach, processes, clock, log, serial: hub, acceleration, vfkit, leases }
    const backend = makeBackend(platform, arch, options.backend ?? '', parts)
    undo.push(() => backend.close())
    const capacity = await watchCapacity(facts, log)
    undo.push(capacity.stop)
    const guestNetwork = new GuestNetwork({ platform, flag: options.bridgeCidr ?? '', identity, log })
    await guestNetwork.resolve()
    const { hostNetworks = [] } = options
    let onAddress = (_vmId: string): void => {}
    const networks = await openNetworks({
      platform,
      stateDir,
      way,
      cidr: () => guestNetwork.cidr,
      run,
      detach,
      processes,
      operator: (taps, ownership) =>
        openOperatorNetworks(
          { networks: hostNetworks, taps, run, clock, log, onAddress: (vmId) => onAddress(vmId) },
          ownership,
        ),
      clock,
      log,
    })
    undo.push(() => networks.close())
    await networks.start(await knownVms(records, log))
    const networkCare = await NetworkCare.open({
      look: (signal) => (networks.owns ? lookAtNetwork(run, lookedAt(networks), signal) : undefined),
      run,
      files: reserve.files,
      path: layout.networkMends,
      log,
    })
    undo.push(() => networkCare.stop())
    const uptimeMs = () => processes.uptimeMs()
    const history = keepHistory({
      ...{ layout, uptimeMs, log },
      bootId: () => processes.bootId(),
      now: () => clock.now(),
      metrics: () => metrics,
      clocks: () => watch,
      has: (vmId) => engine.has(vmId),
    })
    const metrics = measuring({
      ...{ stateDir, uptimeMs, tapsOf: tapNames, clock, log },
      listVms: () => engine.metered(),
      onMeasured: (vms) => history.measured(vms),
    })
    undo.push(() => history.stop())
    undo.push(() => metrics.stop())
    const watch = new GuestWatch({
      ...{ backend, uptimeMs, run, clock, log },
      guests: () => engine.guests(),
      trustOf: (vmId) => engine.trustOf(vmId),
    })
    undo.push(() => watch.stop())
    const revokedFile = new RevokedFile(layout.revoked, log)
    const { ports, guests } = guestPorts({ engine: () => engine, backend, network: networks, layout, clock, log })
    const { started = UNKNOWN_PROGRAM } = options
    const upgrader = await Upgrader.open({
      layout,
      socketPath: options.socketPath,
      self: { ...BUILD_INFO, ...started },
      files: reserve.files,
      ...{ run, processes, clock, log },
    })
    undo.push(() => upgrader.stop())
    const engine = new Engine({
      passes: {
        layout,
        records,
        backend,
        network: networks,
        images,
        seeds: { write: (path, input) => writeSeed(path, input, clock.now()), hostKey: ensureHostKey },
        ledger: new QuotaLedger({ vcpus: caps.vcpus ?? 0, memMb: caps.memMb ?? 0, diskGb: caps.diskGb ?? 0 }),
        slots: new CreateSlots(MAX_CONCURRENT_CREATES),
        processes,
        clock,
        log,
        stopGraceMs: options.stopGraceMs ?? STOP_GRACE_MS,
      },
      desired,
      epochs: identity,
      images: {
        list: () => images.list().map((image) => ({ ...image, unusedMs: collector.unusedMs(image.sha256) })),
        onComplete: (fn) => images.onComplete(fn),
      },
      capacity: capacity.latest,
      consoleEnd: (id) => hub.end(id),
      forgotten: (id) => hub.forget(id),
      exposures: ports,
      revokedFile,
      notices: () => [
        ...hub.notices(),
        ...guestNetwork.notices(),
        ...networks.notices(),
        ...revokedFile.notices(),
        ...skipped,
      ],
      measured: {
        host: () => metrics.host(),
        vm: (id) => metrics.vm(id),
        guestCidr: () => guestNetwork.cidr,
        networks: () => networks.status(),
        uplink: () => metrics.uplink(),
        findings: () => networkCare.findings(),
        clock: () => watch.hostClock(),
        guest: (id) => ({ guest: watch.state(id), clock: watch.clock(id), trust: watch.trust(id) }),
      },
      beside: [networkCare, watch, upgrader],
    })
    onAddress = (vmId) => engine.lookAgain(vmId)
    undo.push(() => engine.stop())
    undo.push(() => ports.close())
    await engine.start()
    ports.start()
    metrics.start()
    networkCare.start()
    watch.start()
    const self = {
      version: BUILD_INFO.version,
      digest: BUILD_INFO.digest,
      provisioner: backend.name,
      get capabilities() {
        return { ...backend.capabilities, ...(networks.reserves ? { addressSource: 'reservation' as const } : {}) }
      },
      hostNetworks: hostNetworks.map(({ name }) => name),
      bootId: processes.bootId(),
      stateDir,
      features: FEATURES,
      program: started.program.kind,
    }
    const { socketPath, socketMode, socketGid } = options
    const place = { socketPath, socketMode, ...(socketGid === undefined ? {} : { socketGid }) }
    const server = await startRpcServer({
      ...place,
      engine,
      consoles: hub,
      images: {
        stat: (sha256) => images.stat(sha256),
        openPut: (...push) => images.openPut(...push),
        collect: (options) => collector.collect(options),
      },
      guests,
      identity,
      facts,
      self,
      clocks: watch,
      history,
      commands: {
        show: (vmId, signal) =>
          showCommand(
            {
              ...{ layout, records, processes },
              backendOf: () => backend,
              nicsOf: async (vm) => networks.look(vm),
              now: () => clock.now(),
              argvOf: procArgv,
            },
            vmId,
            signal,
          ),
      },
      guestNetwork: {
        async resolve(...suggested: Parameters<GuestNetwork['resolve']>) {
          await guestNetwork.resolve(...suggested)
          await networks.settle()
        },
      },
      network: networkCare,
      upgrades: {
        offered: (offer) => upgrader.offered(offer),
        outcome: () => upgrader.outcome(),
        staging: new Staging(layout.staged),
      },
      joined: new JoinStanding({ path: layout.joined, files: reserve.files, clock, log }),
      log,
    })
    undo.push(() => server.close())
    // Takes seconds where KVM is broken: begun now, so that the first create finds it done.
    void facts.acceleration().catch(() => {})
    log.info('agent.started', { version: self.version, state_dir: stateDir, socket: socketPath })
    return { close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The capacity as last looked up, so that a report never waits for it. */
async function watchCapacity(facts: HostLooker, log: Log): Promise<{ latest(): Capacity; stop(): void }> {
  let latest = await facts.capacity()
  const look = () =>
    facts.capacity().then(
      (found) => {
        latest = found
      },
      (error) => log.warn('agent.capacity-unknown', { error: asFault(error).message }),
    )
  const timer = setInterval(() => void look(), TIMES.reportMs).unref()
  return { latest: () => latest, stop: () => clearInterval(timer) }
}

function once(fn: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= fn()
    return done
  }
}

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Client, createClient, createRouterTransport } from '@connectrpc/connect'
import { heldDesired } from '../../src/agent/rpc/desired-handler.ts'
import { runSyncSession } from '../../src/agent/rpc/sync-session.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { toConnectError } from '../../src/ipc/fault-wire.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { AgentService } from '../../src/ipc/gen/eitri/agent/v1/agent_pb.js'
import type { Snapshot } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { AgentConnection } from '../../src/main/control/hosts/agent-connection.ts'
import { rebuildStore } from '../../src/main/control/rebuild/rebuild-store.ts'
import { restoreStore } from '../../src/main/control/restore-store.ts'
import type { HostRow } from '../../src/main/control/store/host-row.ts'
import { openStores, type Stores } from '../../src/main/control/store/stores.ts'
import type { VmRow } from '../../src/main/control/store/vm-row.ts'
import { runAgentSession } from '../../src/main/control/sync/agent-session.ts'
import { Hub } from '../../src/main/control/sync/hub.ts'
import { hasNewer } from '../../src/main/control/sync/newer-data.ts'
import { Registry } from '../../src/main/control/sync/registry.ts'
import { ReportApplier } from '../../src/main/control/sync/report-applier.ts'
import { seenBy } from '../../src/main/control/sync/seen.ts'
import { adoptedVm } from '../../src/main/control/vms/adopt-vm.ts'
import { planAction, type VmAction } from '../../src/main/control/vms/lifecycle-actions.ts'
import { unownedOf } from '../../src/main/control/vms/unowned-vms.ts'
import { losePages } from './damage.ts'
import { type AgentSide, sessionParts } from './mortal-agent.ts'
import { aHost, aVm } from './store-rows.ts'

const HOST_ID = '9'.repeat(32)

/** One control plane: its real store, session, registry and applier, without the parts that reach over a network. */
export class RivalPlane {
  readonly name: string
  readonly dir: string
  stores!: Stores
  registry = new Registry()
  #hub = new Hub()
  #applier!: ReportApplier
  #link: AbortController | undefined
  #over: Promise<void> = Promise.resolve()
  /** Why its last session ended; undefined = it lives, or none was tried. */
  told: Fault | undefined
  /** The agent's epoch that this store's data takes into account; another when its data becomes another. */
  knows = { epoch: 0n }

  constructor(name: string, parent: string) {
    this.name = name
    this.dir = mkdtempSync(join(parent, `eitri-${name}-`))
  }

  get file(): string {
    return join(this.dir, 'eitri.db')
  }
  get host(): HostRow | undefined {
    return this.stores.hosts.find(HOST_ID)
  }
  get fleetId(): string {
    return this.stores.settings.fleetId()
  }
  get live(): boolean {
    return this.registry.active(HOST_ID) !== undefined
  }
  /** Its host has newer data than its store: a person has to decide. */
  get older(): boolean {
    return this.host !== undefined && hasNewer(this.stores.hosts, this.host, seenBy(this.registry.live(HOST_ID)))
  }
  get vms(): VmRow[] {
    return this.stores.vms.listByHost(HOST_ID)
  }

  open(): void {
    const stores = openStores(this.file, systemClock)
    this.stores = stores
    this.registry = new Registry()
    this.#hub = new Hub()
    stores.db.onCommit((changes) => {
      for (const { noun, id } of changes) if (noun === 'desired') this.#hub.poke(id)
    })
    this.#applier = new ReportApplier({
      ...{ registry: this.registry, hosts: stores.hosts, vms: stores.vms, images: stores.images, audit: stores.audit },
      ...{
        push: { want() {} },
        transaction: (work) => stores.db.transaction(work),
        clock: systemClock,
        log: silentLog,
      },
    })
    stores.db.onReplaced(() => {
      this.#applier.forgetAll()
      // A rebuild takes into account what the host was told; nothing is sent before.
      this.knows.epoch = this.host?.sentEpoch ?? 0n
    })
  }

  /** Puts the host into the store, as adding it would. */
  add(identityPublicKey: string): void {
    const agent = { ...aHost().agent, identityPublicKey }
    this.stores.hosts.create(aHost({ id: HOST_ID, name: 'rack', agent }))
  }

  /** A session with the agent, beside whatever others do; `seen` hears of what the agent accepts from it. */
  connect(agent: AgentSide, takeOver: boolean, seen: (snapshot: Snapshot) => void): void {
    if (this.#link && !this.#link.signal.aborted) return
    const link = new AbortController()
    this.#link = link
    this.told = undefined
    const connection = connectionTo(agent, seen)
    const { stores, registry } = this
    const session = {
      ...{ store: stores.db, hosts: stores.hosts, vms: stores.vms, exposures: stores.exposures, registry },
      ...{ hub: this.#hub, applier: this.#applier, clock: systemClock, log: silentLog },
      ...{ fleetId: this.fleetId, controllerName: this.name, version: '1' },
    }
    const input = { hostId: HOST_ID, connection, signal: link.signal, takeOver }
    this.#over = runAgentSession(session, input).then((fault) => {
      connection.close(fault)
      if (!link.signal.aborted) this.told = fault
      link.abort()
    })
  }

  /** The link breaks. */
  async cut(): Promise<void> {
    this.#link?.abort(new Fault('app/cancelled', 'cancelled'))
    await this.#over
    this.told = undefined
  }

  /** Ends and begins anew on its file, or on another in its place. */
  async restart(file?: string): Promise<void> {
    await this.cut()
    this.stores.db.close()
    if (file !== undefined) restoreStore(file, { database: this.file, caKeys: '' }, Date.now())
    this.open()
  }

  /** A copy of its store as it is now. */
  copy(): string {
    mkdirSync(join(this.dir, 'copies'), { recursive: true })
    const path = join(this.dir, 'copies', 'yesterday')
    rmSync(path, { force: true })
    this.stores.db.copyInto(path)
    return path
  }

  /** Its disk loses pages of the VMs; what could be read and what the host holds is made a store again. */
  async loseAndRebuild(agent: AgentSide, seen: (snapshot: Snapshot) => void): Promise<boolean> {
    await this.cut()
    this.stores.db.close()
    losePages(this.file, 'vms')
    this.open()
    if (!this.stores.db.damage) return false
    this.connect(agent, false, seen)
    for (let waits = 0; waits < 50 && !this.live && !this.told; waits++)
      await new Promise((done) => setTimeout(done, 2))
    await rebuildStore({
      stores: this.stores,
      registry: this.registry,
      file: this.file,
      clock: systemClock,
      log: silentLog,
    })
    return true
  }

  create(name: string): void {
    this.stores.vms.create(aVm(HOST_ID, { id: newId(), name, imageUrl: 'https://images.test/a' }))
  }
  act(vm: VmRow, action: VmAction): void {
    const edit = planAction(vm, action, {}, new Date())
    this.stores.vms.edit(vm.id, `vm.${action.do}`, edit)
  }
  publish(vm: VmRow, port: number): void {
    this.stores.exposures.create({
      id: newId(),
      vmId: vm.id,
      guestPort: 80,
      hostPort: port,
      protocol: 'tcp',
      scope: 'lan',
    })
  }
  unpublish(pick: (n: number) => number): void {
    const ports = this.stores.exposures.listByHost(HOST_ID)
    const port = ports[pick(ports.length)]
    if (port) this.stores.exposures.remove('default', port.id)
  }
  /** Takes one VM of the host that no row names. */
  adopt(pick: (n: number) => number): void {
    const known = new Set(this.vms.map(({ id }) => id))
    const found = unownedOf(HOST_ID, this.registry.live(HOST_ID), known)
    const one = found[pick(found.length)]
    if (one) this.stores.vms.adopt(adoptedVm(one, `adopted-${newId().slice(0, 8)}`))
  }
  /** A person decides that this store's data counts. */
  overrule(): void {
    if (!this.older) return
    const { epoch } = seenBy(this.registry.live(HOST_ID))
    this.stores.hosts.overrule(HOST_ID, epoch)
    this.knows.epoch = epoch
  }

  async close(): Promise<void> {
    await this.cut()
    this.stores.db.close()
    rmSync(this.dir, { recursive: true, force: true })
  }
}

const newId = (): string => crypto.randomUUID().replaceAll('-', '')

/** The agent's own handlers behind the wire's own encoding, in one process. */
function connectionTo(agent: AgentSide, seen: (snapshot: Snapshot) => void): AgentConnection {
  const { engine, sessions } = agent
  const parts = sessionParts(agent, async (snapshot) => {
    const outcome = await engine.accept(snapshot)
    if (outcome === 'accepted') seen(snapshot)
    return outcome
  })
  const transport = createRouterTransport((router) => {
    router.rpc(AgentService.method.sync, (requests, { signal }) =>
      endedBy(signal, runSyncSession(parts, requests, signal)),
    )
    router.rpc(AgentService.method.getDesired, (request) => {
      try {
        return heldDesired(engine, sessions, request)
      } catch (error) {
        throw toConnectError(error)
      }
    })
  })
  const closed = Promise.withResolvers<Fault>()
  const client: Client<typeof AgentService> = createClient(AgentService, transport)
  return {
    client,
    carrier: 'unix',
    hostKeyFingerprint: '',
    closed: closed.promise,
    close: (fault) => closed.resolve(fault),
    bulk: async () => connectionTo(agent, seen),
    drained: async () => {},
  }
}

/** A link that breaks ends what was not read yet, as a server on a socket does. */
function endedBy<T>(signal: AbortSignal, source: AsyncGenerator<T>): AsyncGenerator<T> {
  signal.addEventListener('abort', () => void source.return(undefined).catch(() => {}), { once: true })
  return source
}

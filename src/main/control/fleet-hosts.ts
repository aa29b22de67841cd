import { dirname, join } from 'node:path'
import type { HostLinkControl, HostOnboarding } from './api/hosts-api.ts'
import { connectorOf } from './hosts/connectors.ts'
import { HopPool } from './hosts/hop-pool.ts'
import { createHostLife } from './hosts/host-life.ts'
import { HostLinks } from './hosts/host-links.ts'
import { ImagePush } from './hosts/image-push.ts'
import { localPossible, localProgram } from './hosts/local.ts'
import { acceptOffered, OfferedKeys } from './hosts/offered-keys.ts'
import { addHost } from './hosts/onboarding.ts'
import { sweepRunFolders } from './hosts/openssh/run-folder.ts'
import { OwnAgent } from './hosts/own-agent.ts'
import { ownKey } from './hosts/own-key.ts'
import { removeAgent } from './hosts/remove-host.ts'
import { sealedSecrets } from './hosts/sealed-secrets.ts'
import { giveSecrets, HostSecrets } from './hosts/secrets.ts'
import { shownOfHost, shownOfWay } from './hosts/shown-ssh.ts'
import { signInByTask } from './hosts/sign-in-task.ts'
import { listConfigHosts } from './hosts/ssh/config-hosts.ts'
import { type SshFacts, sshFacts } from './hosts/ssh-facts.ts'
import { untilReported } from './hosts/until-reported.ts'
import { UpgradeOffers } from './hosts/upgrade-offers.ts'
import type { Ports } from './ports.ts'
import type { Readmission } from './store/host-life-store.ts'
import type { HostSsh } from './store/host-row.ts'
import type { Stores } from './store/stores.ts'
import { runAgentSession } from './sync/agent-session.ts'
import type { Hub } from './sync/hub.ts'
import type { Registry } from './sync/registry.ts'
import { type ApplierCertifier, ReportApplier } from './sync/report-applier.ts'
import type { SnapshotTrust } from './sync/snapshot-builder.ts'
import type { CaKeys } from './trust/ca-keys.ts'

/** The ways to all hosts: links, onboarding, images on their way. */
export interface FleetHosts {
  fleetId: string
  links: HostLinkControl
  onboarding: HostOnboarding
  pushes: Pick<ImagePush, 'state' | 'onChange' | 'ask'>
  secrets: Pick<HostSecrets, 'keptIn' | 'onChange'>
  life: ReturnType<typeof createHostLife>
  forgetHost(hostId: string): Promise<void>
  localPossible(): Promise<{ possible: boolean; detail: string }>
  sshConfigHosts(): Promise<string[]>
  sshFacts(): Promise<SshFacts>
  start(): void
  stop(): Promise<void>
  wake(): void
}

export interface FleetHostsDeps {
  ports: Ports
  stores: Stores
  registry: Registry
  hub: Hub
  trust: SnapshotTrust & { certifier: ApplierCertifier }
  /** Private halves kept on this computer, that of its own key too. */
  keys: CaKeys
}

/** Connects stores, sessions and links; nothing is dialled before `start`. */
export function createFleetHosts({ ports, stores, registry, hub, trust, keys }: FleetHostsDeps): FleetHosts {
  const { clock, log, paths, keychain, version, controllerName, env, platform, arch } = ports
  const { hosts, hostLife, vms, exposures, images, audit, hostKeys } = stores
  const fleetId = stores.settings.fleetId()
  const secrets = new HostSecrets(keychain && sealedSecrets(join(paths.dataDir, 'secrets'), keychain))
  const computer = { platform, arch, env }
  const offered = new OfferedKeys()
  const hops = new HopPool(clock)
  const ssh = {
    ...{ hostKeys, secrets, offered, hops, clock, env },
    sshDir: paths.sshDir,
    runDir: dirname(paths.localAgentSocket),
    setSsh: (hostId: string, changed: HostSsh) => hosts.setSsh(hostId, changed),
  }
  const local = { clock, program: () => localProgram(paths.agentArtefacts, computer) }
  const key = ownKey({ settings: stores.settings, keys, dir: paths.caKeys })
  const connector = (hostId: string) => connectorOf({ hosts, ssh, local, key }, hostId)
  const offers = new UpgradeOffers({
    poke: (hostId) => hub.poke(hostId),
    changed: (hostId) => registry.touch(hostId),
    clock,
  })
  const own = new OwnAgent(paths.agentArtefacts)
  const pushes = new ImagePush({ images: paths.images, sessions: registry, clock, log })
  const transaction = <T>(work: () => T): T => stores.db.transaction(work)
  const { certifier } = trust
  const applying = { registry, hosts, vms, images, audit, push: pushes, certifier, transaction, clock, log }
  const applier = new ReportApplier(applying)
  stores.db.onReplaced(() => applier.forgetAll())
  const session = {
    store: stores.db,
    hosts,
    vms,
    exposures,
    registry,
    hub,
    trust,
    applier,
    upgrades: offers,
    hostLife,
    audit,
    clock,
    log,
    fleetId,
    controllerName,
    version,
  }
  const links = new HostLinks({
    connectorOf: connector,
    runSession: (input) => runAgentSession(session, input),
    setLink: (hostId, link) => registry.setLink(hostId, link),
    secrets,
    clock,
    log,
  })
  const onboarding = {
    hosts,
    hostKeys,
    transaction,
    links,
    secrets,
    hops,
    joins: {
      key,
      redeem: (hash: string, hostId: string) => stores.joinTokens.redeem(hash, hostId),
      readmit: (hostId: string, way: Readmission) => hostLife.readmit(hostId, way),
    },
    ...{ clock, log, paths, env, platform, arch },
    attachAs: { fleetId, controllerName, version },
  }
  const blobs = { joinTokens: stores.joinTokens, key, fleetId, clock }
  const life = createHostLife({ hosts, registry, links, offers, own, ssh, secrets, blobs, clock, log })
  return {
    fleetId,
    life,
    links: {
      tryNow: (hostId) => links.tryNow(hostId),
      takeOver: (hostId) => links.takeOver(hostId),
      signIn: (hostId, given, keep) => giveSecrets(secrets, hostId, given, keep),
      forgetSecrets: (hostId) => secrets.forget(hostId),
      acceptKey: (hostId, fingerprint) =>
        acceptOffered({ hosts, hostKeys, links, offered, transaction, clock }, hostId, fingerprint),
    },
    onboarding: {
      shown: {
        ofHost: (row) => shownOfHost(ssh, row),
        ofWay: (way, how) => shownOfWay(ssh, way, how),
      },
      async addHost(input, task) {
        const outcome = await addHost({ ...onboarding, tenant: input.tenant }, input, task)
        await untilReported(registry, outcome.resultId, clock)
        return outcome
      },
      async signIn(hostId, keep, task) {
        const outcome = await signInByTask({ hosts, links, ssh }, hostId, keep, task)
        await untilReported(registry, hostId, clock)
        return outcome
      },
      removeHost: (hostId, _options, task) => {
        offers.clear(hostId)
        return removeAgent({ hosts, links, pushes, ssh, local, secrets }, hostId, task)
      },
    },
    pushes,
    secrets,
    async forgetHost(hostId) {
      const vmIds = vms.listByHost(hostId).map((vm) => vm.id)
      const row = hosts.find(hostId)
      if (row) await life.dropKey(row)
      await pushes.stop(hostId)
      await links.remove(hostId)
      hosts.remove(hostId)
      registry.forget(hostId)
      offered.note(hostId, undefined)
      offers.clear(hostId)
      applier.forgetHost(hostId, vmIds)
    },
    localPossible: () => localPossible(computer),
    sshConfigHosts: async () => (await listConfigHosts(paths.sshDir)).hosts,
    sshFacts: sshFacts({ sshDir: paths.sshDir, env, keychain: keychain !== undefined }),
    start() {
      void sweepRunFolders(ssh.runDir)
      void own.read().catch((error: unknown) => log.info('agent.none-built', { message: String(error) }))
      for (const host of hosts.listAll()) links.add(host.id)
    },
    async stop() {
      await pushes.stop()
      await links.stop()
    },
    wake: () => links.wake(),
  }
}

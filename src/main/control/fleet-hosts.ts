import { join } from 'node:path'
import type { HostLinkControl, HostOnboarding } from './api/hosts-api.ts'
import { connectorOf } from './hosts/connectors.ts'
import { HostLinks } from './hosts/host-links.ts'
import { ImagePush } from './hosts/image-push.ts'
import { localPossible, localProgram } from './hosts/local.ts'
import { acceptOffered, OfferedKeys } from './hosts/offered-keys.ts'
import { addHost } from './hosts/onboarding.ts'
import { removeAgent } from './hosts/remove-host.ts'
import { sealedSecrets } from './hosts/sealed-secrets.ts'
import { giveSecrets, HostSecrets } from './hosts/secrets.ts'
import { signInByTask } from './hosts/sign-in-task.ts'
import { listConfigHosts } from './hosts/ssh/config-hosts.ts'
import { untilReported } from './hosts/until-reported.ts'
import type { Ports } from './ports.ts'
import type { Stores } from './store/stores.ts'
import { runAgentSession } from './sync/agent-session.ts'
import type { Hub } from './sync/hub.ts'
import type { Registry } from './sync/registry.ts'
import { type ApplierCertifier, ReportApplier } from './sync/report-applier.ts'
import type { SnapshotTrust } from './sync/snapshot-builder.ts'

/** The ways to all hosts: links, onboarding, images on their way. */
export interface FleetHosts {
  fleetId: string
  links: HostLinkControl
  onboarding: HostOnboarding
  pushes: Pick<ImagePush, 'state' | 'onChange'>
  secrets: Pick<HostSecrets, 'keptIn' | 'onChange'>
  forgetHost(hostId: string): Promise<void>
  localPossible(): Promise<{ possible: boolean; detail: string }>
  sshConfigHosts(): Promise<string[]>
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
}

/** Connects stores, sessions and links; nothing is dialled before `start`. */
export function createFleetHosts({ ports, stores, registry, hub, trust }: FleetHostsDeps): FleetHosts {
  const { clock, log, paths, version, controllerName, env, platform, arch } = ports
  const { hosts, vms, exposures, images, audit, hostKeys } = stores
  const fleetId = stores.settings.fleetId()
  const { keychain } = ports
  const secrets = new HostSecrets(keychain && sealedSecrets(join(paths.dataDir, 'secrets'), keychain))
  const computer = { platform, arch, env }
  const offered = new OfferedKeys()
  const ssh = { hostKeys, secrets, offered, clock, sshDir: paths.sshDir, env }
  const local = { clock, program: () => localProgram(paths.agentArtefacts, computer) }
  const connector = (hostId: string) => connectorOf({ hosts, ssh, local }, hostId)
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
    ...{ clock, log, paths, env, platform, arch },
    attachAs: { fleetId, controllerName, version },
  }
  return {
    fleetId,
    links: {
      tryNow: (hostId) => links.tryNow(hostId),
      takeOver: (hostId) => links.takeOver(hostId),
      signIn: (hostId, given, keep) => giveSecrets(secrets, hostId, given, keep),
      forgetSecrets: (hostId) => secrets.forget(hostId),
      acceptKey: (hostId, fingerprint) =>
        acceptOffered({ hosts, hostKeys, links, offered, transaction, clock }, hostId, fingerprint),
    },
    onboarding: {
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
      removeHost: (hostId, _options, task) => removeAgent({ hosts, links, pushes, ssh, local, secrets }, hostId, task),
    },
    pushes,
    secrets,
    async forgetHost(hostId) {
      const vmIds = vms.listByHost(hostId).map((vm) => vm.id)
      await pushes.stop(hostId)
      await links.remove(hostId)
      hosts.remove(hostId)
      registry.forget(hostId)
      offered.note(hostId, undefined)
      applier.forgetHost(hostId, vmIds)
    },
    localPossible: () => localPossible(computer),
    sshConfigHosts: async () => (await listConfigHosts(paths.sshDir)).hosts,
    start() {
      for (const host of hosts.listAll()) links.add(host.id)
    },
    async stop() {
      await pushes.stop()
      await links.stop()
    },
    wake: () => links.wake(),
  }
}

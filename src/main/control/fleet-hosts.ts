import { Fault } from '../../ipc/faults.ts'
import type { HostLinkControl, HostOnboarding } from './api/hosts-api.ts'
import { HostLinks } from './hosts/host-links.ts'
import { HostSecrets } from './hosts/secrets.ts'
import { listConfigHosts } from './hosts/ssh/config-hosts.ts'
import { sshConnector } from './hosts/ssh-connector.ts'
import type { Ports } from './ports.ts'
import type { Stores } from './store/stores.ts'
import { runAgentSession } from './sync/agent-session.ts'
import type { Hub } from './sync/hub.ts'
import type { Registry } from './sync/registry.ts'
import { ReportApplier } from './sync/report-applier.ts'

/** The ways to all hosts: links, onboarding, images on their way. */
export interface FleetHosts {
  fleetId: string
  links: HostLinkControl
  onboarding: HostOnboarding
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
}

/** Connects stores, sessions and links; nothing is dialled before `start`. */
export function createFleetHosts({ ports, stores, registry, hub }: FleetHostsDeps): FleetHosts {
  const { clock, log, paths, version, controllerName, env } = ports
  const { hosts, vms, images, hostKeys } = stores
  const fleetId = stores.settings.fleetId()
  const applier = new ReportApplier({ registry, hosts, vms, images, push: { want() {} }, clock, log })
  const session = { hosts, vms, registry, hub, applier, clock, log, fleetId, controllerName, version }
  const secrets = new HostSecrets()
  const links = new HostLinks({
    connectorOf: (hostId) => {
      const host = hosts.find(hostId)
      return host && sshConnector({ hostKeys, secrets, clock, sshDir: paths.sshDir, env }, host)
    },
    runSession: (input) => runAgentSession(session, input),
    setLink: (hostId, link) => registry.setLink(hostId, link),
    secrets,
    clock,
    log,
  })
  return {
    fleetId,
    links,
    onboarding: {
      addHost: () => Promise.reject(new Fault('app/part-missing', 'permanent', { part: 'Onboarding' })),
      removeHost: () => Promise.reject(new Fault('app/part-missing', 'permanent', { part: 'Onboarding' })),
    },
    async forgetHost(hostId) {
      const vmIds = vms.listByHost(hostId).map((vm) => vm.id)
      await links.remove(hostId)
      hosts.remove(hostId)
      registry.forget(hostId)
      applier.forgetHost(hostId, vmIds)
    },
    localPossible: async () => ({ possible: false, detail: 'not built yet' }),
    sshConfigHosts: async () => (await listConfigHosts(paths.sshDir)).hosts,
    start() {
      for (const host of hosts.list()) links.add(host.id)
    },
    stop: () => links.stop(),
    wake: () => links.wake(),
  }
}

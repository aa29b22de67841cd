import type { Log } from '../../../ipc/base/log.ts'
import { asFault } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'
import type { HostLive } from '../sync/registry.ts'
import { askAgent } from './ask-agent.ts'
import { makeJoinBlob } from './join-blobs.ts'
import type { OwnAgent } from './own-agent.ts'
import { type ReinstallDeps, reinstallAgent } from './reinstall.ts'
import { type UpgradeDeps, upgradeHost } from './upgrade-host.ts'

/** A host busy with its VMs may delay an answer by this much. */
const DROP_KEY_MS = 5_000

export interface HostLifeDeps extends ReinstallDeps, Omit<UpgradeDeps, 'reinstall' | 'restartOwn' | 'links'> {
  links: UpgradeDeps['links'] & { pause(hostId: string): Promise<void>; add(hostId: string): void }
  blobs: Parameters<typeof makeJoinBlob>[0]
  log: Log
}

/** What the API asks of hosts between being added and being removed. */
export function createHostLife(deps: HostLifeDeps) {
  const { registry, own, links, log, offers } = deps
  const upgradeDeps: UpgradeDeps = {
    ...deps,
    reinstall: (host, artefacts, task) => reinstallAgent(deps, host, artefacts, task),
    restartOwn: async (hostId) => {
      await links.pause(hostId)
      links.add(hostId)
    },
  }
  return {
    upgrade: (hostId: string, task: Parameters<typeof upgradeHost>[2]) => upgradeHost(upgradeDeps, hostId, task),
    upgradeAvailable: async (host: HostRow) => {
      await own.read()
      return available(own, host, registry.live(host.id))
    },
    joinBlob: (tenant: string, expiresS: number) => makeJoinBlob(deps.blobs, tenant, expiresS),
    /** Resolves when the host was asked, whatever it answered; at once where there is no key or no session. */
    async dropKey(host: HostRow): Promise<void> {
      if (host.credential === 'login' || !registry.active(host.id)) return
      const asked = askAgent(registry, host, ({ connection, sessionId }) =>
        connection.client.dropKey({ sessionId }, { timeoutMs: DROP_KEY_MS }),
      )
      // The key ends by its date on a host that does not answer.
      await asked.then(
        () => {},
        (error: unknown) => log.warn('host.key-not-dropped', { host: host.name, message: asFault(error).message }),
      )
    },
    /** What of an upgrade is shown beside a host. */
    shown: (host: HostRow) => ({
      upgradeAvailable: available(own, host, registry.live(host.id)),
      pendingUpgrade: offers.pending(host.id),
    }),
  }
}

const available = (own: OwnAgent, host: HostRow, { hello }: HostLive): string =>
  own.availableFor(hello ?? { agentVersion: host.agentVersion, agentDigest: '' })

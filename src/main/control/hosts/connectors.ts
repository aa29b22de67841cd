import { Fault } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'
import type { LinkConnector } from './agent-link.ts'
import { type LocalAgentDeps, localConnector } from './local-agent.ts'
import { OWN_KEY, type OwnKey } from './own-key.ts'
import { type SshConnectorDeps, sshConnector } from './ssh-connector.ts'

export interface ConnectorDeps {
  hosts: { find(id: string): HostRow | undefined }
  ssh: SshConnectorDeps
  local: LocalAgentDeps
  /** For hosts that joined. Absent = none did. */
  key?: Pick<OwnKey, 'open'>
}

/** The way to a host as its row says now; undefined when it is not in the fleet. */
export function connectorOf({ hosts, ssh, local, key }: ConnectorDeps, hostId: string): LinkConnector | undefined {
  const host = hosts.find(hostId)
  if (!host) return undefined
  if (host.credential === 'revoked') return revoked(host.name)
  if (host.credential === 'key' && key) return byOwnKey(ssh, key, host)
  return host.kind === 'local' ? localConnector(local, host.name, host.agent) : sshConnector(ssh, host)
}

/** Nothing is dialled until it joins, or is added, again. */
const revoked = (host: string): LinkConnector => ({
  connect: () => Promise.reject(new Fault('host/revoked', 'permanent', { host })),
})

function byOwnKey(deps: SshConnectorDeps, key: Pick<OwnKey, 'open'>, host: HostRow): LinkConnector {
  const connector = sshConnector(deps, host)
  return {
    connect: async (signal) => {
      deps.secrets.ring.put(OWN_KEY, await key.open())
      return connector.connect(signal)
    },
  }
}

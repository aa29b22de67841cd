import { Fault } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'
import type { LinkConnector } from './agent-link.ts'
import { type LocalAgentDeps, localConnector } from './local-agent.ts'
import { type SshConnectorDeps, sshConnector } from './ssh-connector.ts'

export interface ConnectorDeps {
  hosts: { find(id: string): HostRow | undefined }
  ssh: SshConnectorDeps
  local: LocalAgentDeps
}

/** The way to a host as its row says now; undefined when it is not in the fleet. */
export function connectorOf({ hosts, ssh, local }: ConnectorDeps, hostId: string): LinkConnector | undefined {
  const host = hosts.find(hostId)
  if (!host) return undefined
  if (host.credential === 'revoked') return revoked(host.name)
  return host.kind === 'local' ? localConnector(local, host.name, host.agent) : sshConnector(ssh, host)
}

/** Nothing is dialled until it joins, or is added, again. */
const revoked = (host: string): LinkConnector => ({
  connect: () => Promise.reject(new Fault('host/revoked', 'permanent', { host })),
})

import type { AgentFeature } from '../../../ipc/agent-features.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { HostLive } from '../sync/registry.ts'

const WHAT: Record<AgentFeature, string> = {
  upgrade: 'an upgrade that goes back by itself',
  clone: 'clones of VMs',
  'live-edit': 'changing a VM while it runs',
  'ssh-krl': 'revoked certificates',
  'autostart-order': 'starting VMs in an order',
}

/** Undefined = no agent of this host was heard since this process began. */
export const hasFeature = (hello: Pick<Hello, 'features'> | undefined, feature: AgentFeature): boolean | undefined =>
  hello?.features.includes(feature)

/** Raises agent/too-old where the agent heard last says it cannot, and host/no-answer where none was heard. */
export function requireFeature(live: Pick<HostLive, 'hello'>, host: string, feature: AgentFeature): void {
  const known = hasFeature(live.hello, feature)
  if (known) return
  if (known === undefined) throw new Fault('host/no-answer', 'transient', { host })
  const version = live.hello?.agentVersion ?? ''
  throw new Fault('agent/too-old', 'permanent', { host, version, what: WHAT[feature] })
}

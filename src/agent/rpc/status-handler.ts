import { create } from '@bufbuild/protobuf'
import { type GetStatusResponse, GetStatusResponseSchema } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import { FACTS_MS, within } from './deadlines.ts'
import type { AgentSessions } from './sessions.ts'
import type { AgentFacts, AgentSelf, SessionIdentity, SyncEngine } from './sync-engine.ts'

/** What the agent knows of itself, for a person on the host and for the onboarding. */
export async function agentStatus(
  parts: { engine: SyncEngine; identity: SessionIdentity; facts: AgentFacts; self: AgentSelf },
  sessions: AgentSessions,
): Promise<GetStatusResponse> {
  const { engine, identity, facts, self } = parts
  const { vms, quarantined, metrics, guestCidr, hostUplinkAddr } = engine.report()
  const found = await within(FACTS_MS, facts.host()).catch(() => undefined)
  return create(GetStatusResponseSchema, {
    agentVersion: self.version,
    agentDigest: self.digest,
    hostId: identity.hostId,
    fleetId: identity.fleetId,
    bootId: self.bootId,
    stateDir: self.stateDir,
    pid: process.pid,
    lastSeenEpoch: engine.lastSeenEpoch(),
    vms: vms.length + quarantined.length,
    vmsRunning: vms.filter((vm) => vm.power === 'running').length,
    attached: sessions.current !== undefined,
    program: self.program ?? '',
    controllerName: identity.controllerName,
    guestCidr,
    hostUplinkAddr,
    vmMetrics: Object.fromEntries(
      [...vms, ...quarantined].flatMap((vm) => (vm.metrics ? [[vm.vmId, vm.metrics] as const] : [])),
    ),
    ...(found ? { facts: found } : {}),
    ...(metrics ? { metrics } : {}),
  })
}

import { basename, dirname } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { printable } from '../../ipc/fault-text.ts'
import { AgentService } from '../../ipc/gen/eitri/agent/v1/agent_pb.js'
import type { GetStatusResponse, HostFacts, HostMetrics } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import { GiB, LIMITS, MiB } from '../../ipc/units.ts'
import { connectUnix } from '../os/unix-socket.ts'

import { metricsJson } from './metrics-json.ts'
import { describeSocketError, type SocketProblem, socketProblem } from './socket-problem.ts'

export type AgentStatus = { running: true; status: GetStatusResponse } | { running: false; reason: SocketProblem }

/** A host busy with its VMs may delay an answer by this much, ms. */
const ANSWER_MS = 10_000
const CONNECT_MS = 5_000

/** Asks whoever listens on the socket. Never raises: nobody there is an answer. */
export async function askStatus(socketPath: string, timeoutMs = ANSWER_MS): Promise<AgentStatus> {
  const socket = await connectUnix(dirname(socketPath), basename(socketPath), CONNECT_MS).catch((error: Error) => error)
  if (socket instanceof Error) return { running: false, reason: socketProblem(socket) }
  const baseUrl = 'http://agent.local'
  const sessionManager = new Http2SessionManager(baseUrl, {}, { createConnection: () => socket })
  const readMaxBytes = LIMITS.agentMessageBytes
  const transport = createConnectTransport({ baseUrl, httpVersion: '2', sessionManager, readMaxBytes })
  try {
    return { running: true, status: await createClient(AgentService, transport).getStatus({}, { timeoutMs }) }
  } catch {
    return { running: false, reason: 'silent' }
  } finally {
    sessionManager.abort()
    socket.destroy()
  }
}

/** `status --json`: snake_case, numbers as JSON numbers, one object. */
export function statusJson(socketPath: string, answer: AgentStatus): Record<string, unknown> {
  if (!answer.running)
    return {
      running: false,
      socket: socketPath,
      reason: answer.reason,
      detail: describeSocketError(socketPath, answer.reason),
    }
  const { status } = answer
  return {
    running: true,
    socket: socketPath,
    agent_version: status.agentVersion,
    agent_digest: status.agentDigest,
    host_id: status.hostId,
    fleet_id: status.fleetId,
    boot_id: status.bootId,
    state_dir: status.stateDir,
    pid: status.pid,
    last_seen_epoch: Number(status.lastSeenEpoch),
    vms: status.vms,
    vms_running: status.vmsRunning,
    attached: status.attached,
    guest_cidr: status.guestCidr,
    host_uplink_addr: status.hostUplinkAddr,
    ...(status.facts ? { facts: factsJson(status.facts) } : {}),
    ...(status.metrics ? { metrics: metricsJson(status.metrics) } : {}),
    vm_metrics: Object.fromEntries(Object.entries(status.vmMetrics).map(([id, vm]) => [id, metricsJson(vm)])),
  }
}

/** HostFacts as snake_case JSON. */
export const factsJson = (facts: HostFacts): Record<string, unknown> => ({
  hostname: facts.hostname,
  os: facts.os,
  platform: facts.platform,
  arch: facts.arch,
  kernel: facts.kernel,
  init: facts.init,
  cpu_model: facts.cpuModel,
  cpus: facts.cpus,
  mem_bytes: Number(facts.memBytes),
  disk_bytes: Number(facts.diskBytes),
  disk_free_bytes: Number(facts.diskFreeBytes),
  acceleration: facts.acceleration,
  acceleration_detail: facts.accelerationDetail,
  acceleration_pending: facts.accelerationPending,
  vmm_version: facts.vmmVersion,
  missing: facts.missing,
  runs_as: facts.runsAs,
  started_by: facts.startedBy,
})

/** `status`: a few lines for a person on the host. */
export function statusText(socketPath: string, answer: AgentStatus): string {
  if (!answer.running) return describeSocketError(socketPath, answer.reason)
  const { status } = answer
  const { facts } = status
  const rows: [string, string][] = [
    ['Agent', `${status.agentVersion}, pid ${status.pid}, on ${socketPath}`],
    ['State', status.stateDir],
    [
      'Fleet',
      status.fleetId === '' ? 'none yet' : `${status.fleetId}${status.attached ? ', attached' : ', not attached'}`,
    ],
    ['VMs', `${status.vms}, ${status.vmsRunning} running`],
    ['Epoch', String(status.lastSeenEpoch)],
  ]
  if (facts) rows.push(...factRows(facts))
  const use = wordsOfUse(status.metrics)
  if (use !== '') rows.push(['In use', use])
  return rows.map(([label, value]) => `${label.padEnd(9)} ${printable(value)}`).join('\n')
}

function factRows(facts: HostFacts): [string, string][] {
  const accel = facts.acceleration || (facts.accelerationPending ? 'still trying what VMs can run on' : 'no VM can run')
  const rows: [string, string][] = [
    ['Host', `${facts.hostname}, ${facts.os}, ${facts.arch}, ${facts.kernel}`],
    ['Machine', `${facts.cpus} CPUs, ${gib(facts.memBytes)} memory, ${gib(facts.diskFreeBytes)} free`],
    ['QEMU', facts.vmmVersion === '' ? 'not installed' : `${facts.vmmVersion}, ${accel}`],
    ['Started', `by ${facts.startedBy}, as ${facts.runsAs}`],
  ]
  if (facts.accelerationDetail !== '') rows.push(['', facts.accelerationDetail])
  if (facts.missing.length > 0) rows.push(['Missing', facts.missing.join(', ')])
  return rows
}

function wordsOfUse(metrics: HostMetrics | undefined): string {
  const { cpuBusyPermille, memTotalBytes, memAvailableBytes, load1 } = metrics ?? {}
  return [
    cpuBusyPermille === undefined ? '' : `${Math.round(cpuBusyPermille / 10)} % CPU`,
    memTotalBytes === undefined || memAvailableBytes === undefined
      ? ''
      : `${gib(memTotalBytes - memAvailableBytes)} memory`,
    load1 === undefined ? '' : `load ${load1.toFixed(2)}`,
  ]
    .filter(Boolean)
    .join(', ')
}

const gib = (bytes: bigint): string =>
  bytes >= BigInt(GiB) ? `${(Number(bytes) / GiB).toFixed(1)} GiB` : `${Math.round(Number(bytes) / MiB)} MiB`

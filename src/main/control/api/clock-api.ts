import type { ServiceImpl } from '@connectrpc/connect'
import { asFault, Fault } from '../../../ipc/faults.ts'
import type { GuestClock } from '../../../ipc/gen/eitri/agent/v1/clock_pb.js'
import type { ClockService } from '../../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import { check } from '../../../ipc/rules.ts'
import { guestClockView } from '../clock/clock-view.ts'
import { askAgent } from '../hosts/ask-agent.ts'
import type { AuditEvent } from '../store/audit-store.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { Registry } from '../sync/registry.ts'
import { principalOf } from './principal.ts'

/** The agent asks the guest, waits for chrony's burst and measures again, each with a deadline of its own. */
const SET_TIMEOUT_MS = 45_000

export interface ClockApiDeps {
  /** A VM of the tenant that is not deleted; raises vm/* faults. */
  getVm(tenant: string, ref: string): VmRow
  hosts: HostsStore
  registry: Registry
  audit: { add(event: AuditEvent): void }
  clock: { now(): number; monotonic(): number }
}

/** Setting guests' clocks. The one act that needs the host at once. */
export function clockApi(deps: ClockApiDeps): ServiceImpl<typeof ClockService> {
  return {
    setGuestClock: async (request, context) => {
      const vm = deps.getVm(principalOf(context).tenant, check('vmRef', request).vm)
      const clock = await setClock(deps, vm, context.signal)
      const at = { date: new Date(deps.clock.now()), monotonic: deps.clock.monotonic() }
      // Told just now: its newest moment is now.
      const builtAt = clock.lastAct?.at ?? clock.measuredAt
      const heard = { reportedAt: at.date, reportedMonotonic: at.monotonic, builtAt, monotonicNow: at.monotonic }
      return { clock: guestClockView(clock, heard) }
    },
  }
}

/** Raises host/no-answer, agent/version-skew, clock/not-running, clock/not-set, clock/left-alone. */
async function setClock(deps: ClockApiDeps, vm: VmRow, signal: AbortSignal): Promise<GuestClock> {
  const { hosts, registry, audit } = deps
  const { id, name: host } = hosts.resolve(vm.tenant, vm.hostId)
  const answer = await askAgent(registry, { id, name: host }, ({ connection, sessionId }) => {
    const power = registry.live(id).vms?.get(vm.id)?.power
    if (power !== undefined && power !== 'running') throw new Fault('clock/not-running', 'permanent', { vm: vm.name })
    return connection.client.setGuestClock({ sessionId, vmId: vm.id }, { signal, timeoutMs: SET_TIMEOUT_MS })
  }).catch((error: unknown) => {
    throw aboutVm(asFault(error), vm)
  })
  const act = answer.clock?.lastAct
  const done = act?.result === 'done'
  audit.add({
    action: 'vm.set_clock',
    tenant: vm.tenant,
    vmId: vm.id,
    hostId: vm.hostId,
    detail: { name: vm.name, result: done ? 'done' : 'failed' },
  })
  if (answer.clock && done) return answer.clock
  const detail = act?.detail || answer.clock?.detail || ''
  const params = { vm: vm.name, host, ...(detail ? { detail: detail.slice(0, 300).replace(/[.]$/, '') } : {}) }
  if (act?.means === 'none' && (vm.clockPolicy === 'none' || vm.clockPolicy === 'windows-domain'))
    throw new Fault('clock/left-alone', 'permanent', { vm: vm.name, host, policy: vm.clockPolicy })
  throw new Fault('clock/not-set', 'transient', params)
}

function aboutVm({ code, disposition, params }: Fault, { name: vm }: VmRow): Fault {
  if (code !== 'app/timeout') return new Fault(code, disposition, { ...params, vm })
  const detail = `no word within ${SET_TIMEOUT_MS / 1000} s`
  return new Fault('clock/not-set', 'transient', { vm, host: params['host'] ?? '', detail })
}

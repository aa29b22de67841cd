import { Fault } from '../../../ipc/faults.ts'
import { DEFAULT_LOGIN, isLogin } from '../../../ipc/names.ts'
import type { AuditStore } from '../store/audit-store.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { Registry } from '../sync/registry.ts'
import type { FleetTunnels } from '../tunnels/fleet-tunnels.ts'
import { openGuestShell } from './guest-shell.ts'
import { openHostShell } from './host-shell.ts'
import type { OpenShell } from './shell.ts'

interface FleetShellsDeps {
  hosts: HostsStore
  registry: Registry
  tunnels: Pick<FleetTunnels, 'login'>
  audit: Pick<AuditStore, 'add'>
  env: Readonly<Record<string, string | undefined>>
}

/** Shells of the fleet: another tenant's VM or host is none. Each one opened stands in the audit trail. */
export function fleetShells({ hosts, registry, tunnels, audit, env }: FleetShellsDeps): OpenShell {
  return async (tenant, { kind, ref, login }, size, signal) => {
    if (kind === 'host') {
      const host = hosts.findByName(tenant, ref) ?? hosts.findIn(tenant, ref)
      if (!host) throw new Fault('host/not-found', 'permanent', { host: ref.slice(0, 64) })
      const shell = await openHostShell({ session: registry.active(host.id), host: host.name, size, signal })
      audit.add({ action: 'host.shell', tenant, hostId: host.id })
      return shell
    }
    const whom = login === '' ? DEFAULT_LOGIN : login
    if (!isLogin(whom)) {
      const problem = 'not a login name'
      throw new Fault('input/invalid', 'permanent', { field: 'login', value: whom.slice(0, 64), problem })
    }
    const { vm, way } = await tunnels.login(tenant, ref, whom, signal)
    const shell = await openGuestShell({ login: way, vm: vm.name, size, env, signal })
    audit.add({ action: 'vm.shell', tenant, vmId: vm.id, hostId: vm.hostId, detail: { login: whom } })
    return shell
  }
}

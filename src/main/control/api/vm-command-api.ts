import type { ServiceImpl } from '@connectrpc/connect'
import type { VmService } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { check } from '../../../ipc/rules.ts'
import { askAgent } from '../hosts/ask-agent.ts'
import type { HostsStore } from '../store/hosts-store.ts'
import type { Registry } from '../sync/registry.ts'
import { getVm } from '../vms/vm-directory.ts'
import { type OwnedVmDeps, ownedBy } from './owned-vm.ts'
import { principalOf } from './principal.ts'

/** The agent may have to look what guests run on first. */
const ASK_TIMEOUT_MS = 25_000

export interface VmCommandDeps extends OwnedVmDeps {
  hosts: HostsStore
  registry: Pick<Registry, 'active'>
}

/** The command line of a VM's hypervisor, of one in quarantine too. Raises what its host answers, host/no-answer, agent/version-skew. */
export function vmCommand(deps: VmCommandDeps): Pick<ServiceImpl<typeof VmService>, 'getVmCommand'> {
  return {
    getVmCommand: async (request, context) => {
      const vm = ownedBy(deps, principalOf(context).tenant, check('vmRef', request).vm, getVm)
      const host = deps.hosts.resolve(vm.tenant, vm.hostId)
      const { backend, cwd, pid, runsKnown, parts, nextUnknown } = await askAgent(
        deps.registry,
        host,
        ({ connection, sessionId }) =>
          connection.client.showCommand(
            { sessionId, vmId: vm.id },
            { signal: context.signal, timeoutMs: ASK_TIMEOUT_MS },
          ),
      )
      return {
        ...{ backend, cwd, runsKnown, nextUnknown },
        ...(pid === undefined ? {} : { pid }),
        parts: parts.map(({ args, why, where }) => ({ args, why, where })),
      }
    },
  }
}

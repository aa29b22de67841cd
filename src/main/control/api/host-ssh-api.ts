import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { HostService } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { ShownSsh } from '../hosts/shown-ssh.ts'
import type { HostRow } from '../store/host-row.ts'
import { type SshInput, sshInputOf } from './ssh-input.ts'

/** Reads how hosts are dialled; connects to none. */
export interface HostSshReader {
  /** Undefined = it is this computer. */
  ofHost(row: HostRow): ShownSsh | undefined
  /** Undefined = the SSH configuration would run commands of its own, and it was not said that it may. */
  ofWay(way: SshInput, how: { mayRun: boolean; signal: AbortSignal }): Promise<ShownSsh | undefined>
}

/** Shows the way to a host, in the fleet or not yet. */
export function hostSshApi(
  { shown }: { shown: HostSshReader },
  resolve: (request: { host: string }, context: HandlerContext) => HostRow,
): Pick<ServiceImpl<typeof HostService>, 'showSsh'> {
  return {
    async showSsh(request, context) {
      if (request.host !== '') return answer(shown.ofHost(resolve(request, context)))
      if (!request.ssh)
        throw new Fault('input/invalid', 'permanent', { field: 'host', problem: 'say a host or a way', value: '' })
      const how = { mayRun: request.runMatchExec, signal: context.signal }
      const way = await shown.ofWay(sshInputOf(request.ssh), how)
      return way ? answer(way) : { matchExec: true }
    },
  }
}

function answer(shown: ShownSsh | undefined) {
  if (!shown) return {}
  const { hostKeys, ...way } = shown
  return {
    ...way,
    hostKeys: hostKeys.map(({ type, fingerprint, how, firstSeen }) => ({
      ...{ keyType: type, fingerprint, how },
      firstSeen: timestampFromDate(firstSeen),
    })),
  }
}

import type { Command } from 'commander'
import { Fault, faultFromData } from '../../ipc/faults.ts'
import type { Host, NewerData } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Runner } from './context.ts'
import { answerHost, hostNamed } from './host-answer.ts'
import { reference } from './options.ts'
import { agreed } from './prompts.ts'
import { watchFleet } from './watch-fleet.ts'

interface Options {
  fromOlder?: boolean
  yes?: boolean
}

/** `host takeover`: asks, says it, and waits until the host is connected and follows. */
export function takeOverCommand(host: Command, run: Runner): void {
  const command = host
    .command('takeover <name>')
    .description('move a host of the fleet that another control plane holds back here; VMs there keep running')
    .option('--from-older', "use this app's data although the host has seen newer")
    .option('--yes', 'do not ask')
  run(command, async (context, name: string, options: Options) => {
    context.deadline()
    const ref = reference('host', name)
    const fleet = await context.fleet()
    const { signal } = context
    const found = await hostNamed(fleet, ref, signal)
    const { id, linkFault } = found
    const useOlderData = options.fromOlder ?? false
    const question = useOlderData ? olderQuestion(found) : ownerQuestion(found)
    if (question !== undefined) await agreed(context, question, options.yes ?? false)
    await fleet.hosts.takeOverHost({ host: id, useOlderData }, { signal })
    for await (const { hosts } of watchFleet(fleet, signal)) {
      const now = hosts.get(id)
      if (!now) throw new Fault('host/not-found', 'permanent', { host: ref })
      if (now.link === 'connected' && !(useOlderData && now.newerData)) break
      if (now.linkFault && now.link !== 'connecting' && now.linkFault.id !== linkFault?.id)
        throw faultFromData({ ...now.linkFault, params: { host: now.name, ...now.linkFault.params } })
    }
    await answerHost(context, id)
  })
}

/** Undefined = nobody holds it as far as is known: the control plane says so. */
function ownerQuestion({ name, linkFault }: Host): string | undefined {
  if (linkFault?.code !== 'agent/foreign-controller') return undefined
  const owner = linkFault.params['controller'] || 'another control plane'
  return `Take ${name} over from ${owner}? Its VMs keep running; those this app does not know become unowned.`
}

function olderQuestion({ name, newerData }: Host): string | undefined {
  return newerData && `Use this app's data on ${name}? ${consequences(newerData)}`
}

const consequences = ({ unknownVms, missingVms, deletedVms }: NewerData): string =>
  [
    `${unknownVms} VMs there that it does not know keep running, unowned;`,
    `${missingVms} that are not there are made anew, empty;`,
    `${deletedVms} that it has deleted go to quarantine.`,
  ].join(' ')

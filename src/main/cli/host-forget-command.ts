import type { Command } from 'commander'
import { type Host, RemoveHostResponseSchema } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { CommandContext, Runner } from './context.ts'
import { hostNamed } from './host-answer.ts'
import { reference } from './options.ts'
import { agreed } from './prompts.ts'

/** A question is to be read: more are counted. */
const NAMED_VMS = 20

/** `host forget`: only by a yes to what is left behind and lost. */
export function forgetCommand(host: Command, run: Runner): void {
  run(
    host
      .command('forget <name>')
      .description('take a host that does not answer out of the fleet, with all that is known of it; its VMs run on')
      .option('--yes', 'do not ask'),
    forget,
  )
}

async function forget(context: CommandContext, name: string, { yes = false }: { yes?: boolean }): Promise<void> {
  context.deadline()
  const ref = reference('host', name)
  const fleet = await context.fleet()
  const { signal } = context
  const host = await hostNamed(fleet, ref, signal)
  const { vms } = await fleet.vms.listVms({}, { signal })
  const left = vms.filter((vm) => vm.hostId === host.id && !vm.unowned)
  await agreed(context, question(host, left), yes)
  const answer = await fleet.hosts.removeHost({ host: host.id, force: true }, { signal })
  const rest = answer.leftBehind.join(', ')
  await context.answer(RemoveHostResponseSchema, answer, () =>
    rest
      ? `Host ${host.name} forgotten. Left behind there: ${rest}. Added again, it shows them to be adopted.\n`
      : `Host ${host.name} forgotten.\n`,
  )
}

function question({ name, link }: Host, left: readonly Vm[]): string {
  const more = left.length > NAMED_VMS ? ` and ${left.length - NAMED_VMS} more` : ''
  const named = left.slice(0, NAMED_VMS).map(described).join(', ')
  return [
    `Forget ${name}?`,
    ...(left.length > 0
      ? [`Left behind there: ${named}${more}.`, 'Their protection and labels are lost with it.']
      : []),
    ...(link === 'connected'
      ? [`It is connected: the orderly way is "eitri host drain ${name}", then "eitri host remove ${name}".`]
      : []),
  ].join(' ')
}

function described(vm: Vm): string {
  const words = [
    ...(vm.power === 'running' ? ['running'] : []),
    ...(vm.protected ? ['protected'] : []),
    ...(vm.deletedAt ? ['in quarantine'] : []),
  ]
  return words.length > 0 ? `${vm.name} (${words.join(', ')})` : vm.name
}
